//! 4 nodes x 8 GPUs; 2 replicas of a clique of 2 pods x 8 GPUs, all required. The first replica's nodes are
//! cordoned, so its update is stuck. The second replica is breached, and the first one after its update.

use conformance_check::lifecycle::metrics;

use super::{DELAY, replica, requires_recreation};
use crate::prelude::*;

marks! {
    RECYCLED = "both replicas recreated";
    UPDATED = "the update ended after all";
    AGAIN = "recreated after the update";
}

const SET: &str = "stuck-update";
const CLIQUES: [&str; 2] = ["stuck-update-0-worker", "stuck-update-1-worker"];

pub(crate) const CASE: Case =
    case!("A stuck update does not prevent gang termination, and metrics count each termination")
        .clauses(&[TERM_13, TERM_28, TERM_32, STAT_11])
        .nodes(&[nodes(4).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_start(SET).await?;
    let first = test.pods_of(CLIQUES[0]);
    let of_first = |pod: &Pod<'_>| pod.pod_clique() == Some(CLIQUES[0]);
    let cordoned: Vec<_> = test
        .look(|live| live.pods().filter(of_first).filter_map(|pod| pod.node().map(str::to_owned)).collect());
    for node in &cordoned {
        test.cordon(node, true).await?;
    }
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    let is_deleted =
        |live: &Live, name: &str| live.get("Pod", name).is_none_or(|pod| Pod(pod).is_terminating());
    let step = Awaited::demanded_by(UPD_02, "the first update step started");
    test.until(step, SCHEDULING, |live| first.iter().any(|name| is_deleted(live, name))).await?;
    let deleted =
        test.look(|live| first.iter().find(|name| is_deleted(live, name)).cloned()).unwrap_or_default();
    // An update step deleted this pod, not gang termination.
    test.mark(SharedMark::PodLost, json!({"name": deleted, "by": "an update step"}));
    test.until_recreated("the replica in its update step", TERM_13, &CLIQUES[..1], &first, false).await?;
    let second = test.pods_of(CLIQUES[1]);
    if let Some(pod) = second.first() {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    test.until_recreated("the other replica", TERM_28, &CLIQUES[1..], &second, false).await?;
    test.mark(RECYCLED, Value::Null);
    for node in &cordoned {
        test.cordon(node, false).await?;
    }
    test.until_updated(SET, TERM_13).await?;
    test.mark(UPDATED, Value::Null);
    let updated = test.pods_of(CLIQUES[0]);
    test.set_first_pod_status(CLIQUES[0], Containers::Crashing).await?;
    test.until_recreated("the replica after the update", TERM_32, &CLIQUES[..1], &updated, true).await?;
    test.mark(AGAIN, Value::Null);
    test.wait_until_idle().await?;
    test.read_metrics().await
}

fn recycled_during_step(history: &History) -> Ruling {
    let first = replica(history, SET, 0)?;
    requires_recreation(history, &first)?;
    termination::after_the_delay(history, &first, &first.scope(), DELAY)?;
    termination::times(history, &first, &first.scope(), 1)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, TERM_13, || {
            history.reached(SharedMark::PodLost)?;
            let meanwhile = history.upto(history.waited_for(RECYCLED)?);
            recycled_during_step(&meanwhile)?;
            history.reached(RECYCLED)?;
            let first = replica(history, SET, 0)?.scope();
            let recreated = generations::only_generation(&meanwhile, &first, 1);
            all([updates::all_of_revision(&recreated, &first, "2"), history.waited_for(UPDATED).map(drop)])?;
            updates::is_complete(history, history.waited_for(UPDATED)?, SET)?;
            history.reached(UPDATED).map_err(|_| Broken::NotReached("the update did not end".into()))?;
            Ok(())
        }),
        update_finding(history, TERM_28, || {
            history.reached(SharedMark::PodLost)?;
            let second = replica(history, SET, 1)?;
            let meanwhile = history.upto(history.waited_for(RECYCLED)?);
            precondition(TERM_13, recycled_during_step(&meanwhile))?;
            requires_recreation(&meanwhile, &second)?;
            termination::after_the_delay(history, &second, &second.scope(), DELAY)?;
            termination::times(&meanwhile, &second, &second.scope(), 1)
        }),
        update_finding(history, TERM_32, || {
            history.reached(UPDATED)?;
            precondition(TERM_13, recycled_during_step(&history.upto(history.waited_for(RECYCLED)?)))?;
            let first = replica(history, SET, 0)?;
            requires_recreation(history, &first)?;
            termination::after_the_delay(history, &first, &first.scope(), DELAY)?;
            history.reached(AGAIN)?;
            termination::times(history, &first, &first.scope(), 2)
        }),
        update_finding(history, STAT_11, || metrics::match_history(history, 1)),
    ]
}
