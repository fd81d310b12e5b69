use crate::prelude::*;

marks! {
    TOO_SMALL = "too small even for the minimum";
    ROOM_FOR_MINIMUM = "room for the minimum";
}

/// The first nodes that join make room for `minimum` pods, the next ones for all `pods`.
pub(super) async fn drive(
    test: &mut TestContext,
    set: &str,
    minimum: usize,
    pods: usize,
) -> Result<(), Stop> {
    for gang in test.submit(set).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(TOO_SMALL, Value::Null);
    test.add_nodes(1).await?;
    test.until_bound(minimum).await?;
    test.until("surplus pods released to the scheduler", limits::REACTION, |live| {
        live.pods().all(|pod| pod.gates().is_empty())
    })
    .await?;
    test.canaries().await?;
    test.mark(ROOM_FOR_MINIMUM, Value::Null);
    test.add_nodes(2).await?;
    test.until_bound(pods).await
}

/// Checks counts, not the order of bindings: pods that are released together may be bound in any order.
pub(super) fn check(history: &History, set: &str, is_minimum: impl FnOnce(&Live) -> Ruling) -> Ruling {
    let units = history.units(set)?;
    binding::never_until(history, &units, TOO_SMALL)?;
    binding::all_or_nothing(history, &units)?;
    history.at(ROOM_FOR_MINIMUM, |place| is_minimum(&history.before(place)))?;
    binding::all(&history.end(), &history.gangs(set)?)
}
