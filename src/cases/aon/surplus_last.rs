use crate::prelude::*;

marks! {
    TOO_SMALL = "too small even for the minimum";
    ROOM_FOR_MINIMUM = "room for the minimum";
    ALL_BOUND = "all pods are bound";
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
    test.until_bound(minimum).await.map_err(|stop| stop.owed_by(AON_05))?;
    let released = Awaited::demanded_by(GANG_07, "surplus pods released to the scheduler");
    test.until(released, limits::REACTION, |live| live.pods().all(|pod| pod.gates().is_empty())).await?;
    test.canaries().await?;
    test.mark(ROOM_FOR_MINIMUM, Value::Null);
    test.add_nodes(2).await?;
    test.until_bound(pods).await.map_err(|stop| stop.owed_by(AON_22))?;
    test.mark(ALL_BOUND, Value::Null);
    Ok(())
}

/// Checks counts, not the order of bindings: pods that are released together may be bound in any order.
pub(super) fn check(history: &History, set: &str, is_minimum: impl FnOnce(&Live) -> Ruling) -> Vec<Finding> {
    vec![
        finding(AON_05, || {
            precondition(AON_02, binding::never_until(history, &history.units(set)?, TOO_SMALL))?;
            history.at(ROOM_FOR_MINIMUM, |place| is_minimum(&history.before(place)))
        }),
        finding(AON_22, || {
            history.reached(ROOM_FOR_MINIMUM)?;
            history.at(ALL_BOUND, |place| binding::all(&history.before(place), &history.gangs(set)?))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of three pods is required. The counts are those of bound pods at each mark.
    fn rulings(too_small: usize, minimum: usize, all: usize) -> [Ruling; 2] {
        let mut pcs = one_clique("w", 3);
        pcs["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = json!(1);
        let waits = Story::flat().submitted(pcs).workers("w", 3, too_small).mark(TOO_SMALL, Value::Null);
        let bound = waits.workers("w", 0, minimum).mark(ROOM_FOR_MINIMUM, Value::Null);
        let history = bound.workers("w", 0, all).mark(ALL_BOUND, Value::Null).end();
        let found = check(&history, "w", |live| binding::exactly(live, "w-0-worker", 1));
        found.into_iter().map(|finding| finding.ruling).collect::<Vec<_>>().try_into().expect("two findings")
    }

    #[test]
    fn surplus_is_bound_after_the_minimum() {
        assert_eq!(rulings(0, 1, 3), [Ok(()), Ok(())]);
        let [early, all] = rulings(0, 2, 3);
        assert_eq!((codes(early), all), (vec!["wrong-number-of-bound-pods".to_owned()], Ok(())));
        let [minimum, never] = rulings(0, 1, 2);
        assert_eq!((minimum, codes(never)), (Ok(()), vec!["pods-unbound".to_owned()]));
        let [in_part, _] = rulings(1, 1, 3);
        assert!(matches!(in_part, Err(Broken::Precondition { clause: AON_02, .. })), "{in_part:?}");
    }
}
