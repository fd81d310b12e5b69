//! 4 nodes x 8 GPUs; 2 replicas of a clique of 2 pods x 8 GPUs, all required. The nodes of the first replica
//! are cordoned, and the template changes: the first update step deletes a pod whose replacement does not
//! fit. Then a pod of the second replica crashes. The nodes are uncordoned, and once the update has ended, a
//! pod of the first replica crashes.

use conformance_check::lifecycle::metrics;
use conformance_facts::generations;

use super::{DELAY, replica};
use crate::prelude::*;

marks! {
    RECYCLED = "both replicas recycled";
    UPDATED = "the update ended after all";
    /// A replica was breached after the update, and was terminated and created again.
    AGAIN = "recycled after the update";
}

const SET: &str = "stuck-update";
const CLIQUES: [&str; 2] = ["stuck-update-0-worker", "stuck-update-1-worker"];

pub(crate) const CASE: Case =
    case!("A stuck update does not prevent gang termination, and metrics count each termination")
        .clauses(&[TERM_13, TERM_28, TERM_32, STAT_11])
        .nodes(&[nodes(4).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_started(SET).await?;
    let first = test.pods_of(CLIQUES[0]);
    let its = |pod: &Pod<'_>| pod.pod_clique() == Some(CLIQUES[0]);
    let closed: Vec<_> =
        test.look(|live| live.pods().filter(its).filter_map(|pod| pod.node().map(str::to_owned)).collect());
    for node in &closed {
        test.cordon(node, true).await?;
    }
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    let is_taken =
        |live: &Live, name: &str| live.get("Pod", name).is_none_or(|pod| Pod(pod).is_terminating());
    let turn = Awaited::demanded_by(UPD_02, "the first update step started");
    test.until(turn, SCHEDULING, |live| first.iter().any(|name| is_taken(live, name))).await?;
    let taken = test.look(|live| first.iter().find(|name| is_taken(live, name)).cloned()).unwrap_or_default();
    // The update deleted this pod, not gang termination.
    test.mark(SharedMark::PodLost, json!({"name": taken, "by": "an update step"}));
    test.until_recycled("the replica in its update step", TERM_13, &CLIQUES[..1], &first, false).await?;
    let second = test.pods_of(CLIQUES[1]);
    if let Some(pod) = second.first() {
        test.pod_becomes(pod, Containers::Crashing).await?;
    }
    test.until_recycled("the other replica", TERM_28, &CLIQUES[1..], &second, false).await?;
    test.mark(RECYCLED, Value::Null);
    for node in &closed {
        test.cordon(node, false).await?;
    }
    test.until_updated(SET, TERM_13).await?;
    test.mark(UPDATED, Value::Null);
    let updated = test.pods_of(CLIQUES[0]);
    test.first_pod_becomes(CLIQUES[0], Containers::Crashing).await?;
    test.until_recycled("the replica after the update", TERM_32, &CLIQUES[..1], &updated, true).await?;
    test.mark(AGAIN, Value::Null);
    test.comes_to_rest().await?;
    test.read_metrics().await
}

fn recycled_in_its_turn(history: &History) -> Ruling {
    let first = replica(history, SET, 0)?;
    termination::after_the_delay(history, &first, &first.scope(), DELAY)?;
    termination::times(history, &first, &first.scope(), 1)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_13, || {
            updates::are_admitted(history)?;
            history.reached(SharedMark::PodLost)?;
            let meanwhile = history.upto(history.waited_for(RECYCLED)?);
            recycled_in_its_turn(&meanwhile)?;
            history.reached(RECYCLED)?;
            let first = replica(history, SET, 0)?.scope();
            let again = generations::only(&meanwhile, &first, 1);
            all([updates::all_of_revision(&again, &first, "2"), history.waited_for(UPDATED).map(drop)])?;
            updates::through(&history.before(history.waited_for(UPDATED)?), SET)?;
            history.reached(UPDATED).map_err(|_| Broken::NotReached("the update did not end".into()))?;
            Ok(())
        }),
        finding(TERM_28, || {
            updates::are_admitted(history)?;
            history.reached(SharedMark::PodLost)?;
            let second = replica(history, SET, 1)?;
            let meanwhile = history.upto(history.waited_for(RECYCLED)?);
            premise(TERM_13, recycled_in_its_turn(&meanwhile))?;
            termination::after_the_delay(history, &second, &second.scope(), DELAY)?;
            termination::times(&meanwhile, &second, &second.scope(), 1)
        }),
        finding(TERM_32, || {
            updates::are_admitted(history)?;
            history.reached(UPDATED)?;
            premise(TERM_13, recycled_in_its_turn(&history.upto(history.waited_for(RECYCLED)?)))?;
            let first = replica(history, SET, 0)?;
            termination::after_the_delay(history, &first, &first.scope(), DELAY)?;
            history.reached(AGAIN)?;
            termination::times(history, &first, &first.scope(), 2)
        }),
        finding(STAT_11, || {
            updates::are_admitted(history)?;
            metrics::agree(history, 1)
        }),
    ]
}
