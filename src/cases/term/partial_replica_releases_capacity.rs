//! 5 nodes x 8 GPUs; a clique of one pod, and a scaling group of 2 replicas of 2 cliques of one pod (minimum
//! 1), each pod x 8 GPUs. A pod of the replica in the base PodGang is lost together with its node. Only this
//! replica is terminated and created again, one pod short. While its termination delay of 6 s expires four
//! times, the replica must release its node at least once. Then the node is uncordoned.

use conformance_driver::limits::RETRIES;
use conformance_expect::scopes::Scope;

use super::{is_bound, releases_capacity, replica};
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    WHOLE = "the replica bound again";
}

const SET: &str = "partial-replica";
const POOL: &str = "partial-replica-0-pool";
const CLIQUES: [&str; 2] = ["partial-replica-0-pool-0-first", "partial-replica-0-pool-0-second"];
/// Seconds, as in the manifest.
const DELAY: u32 = 6;

pub(crate) const CASE: Case = case!("A partially bound replica in a base PodGang releases its capacity")
    .clauses(&[TERM_17])
    .nodes(&[nodes(5).gpus(8)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let clock = test.start_clock(&format!("{DELAY}s")).await?;
    test.submit(SET).await?;
    test.until_started(SET).await?;
    let old: Vec<_> = CLIQUES.iter().flat_map(|clique| test.pods_of(clique)).collect();
    let node = test.delete_pod_and_cordon_node(&old.first().cloned().unwrap_or_default()).await?;
    test.until_recreated("the replica in the base PodGang", TERM_04, &CLIQUES, &old, false).await?;
    test.run_clock(&clock, 4, WAITED).await?;
    test.cordon(&node, false).await?;
    let whole = Awaited::demanded_by(TERM_17, "both pods of the replica bound");
    test.until(whole, RETRIES, |live| CLIQUES.iter().all(|clique| is_bound(live, clique))).await?;
    test.mark(WHOLE, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_17, || {
        let waited = history.waited_for(WAITED)?;
        let set_replica = replica(history, SET, 0)?;
        let pool = |index| Scope::GroupReplica { group: POOL.into(), index };
        // The first termination follows the loss of the pod.
        releases_capacity(history, &pool(0), waited, 2, DELAY)?;
        termination::times(history, &set_replica, &pool(1), 0)?;
        termination::nothing_else_deleted(history, &set_replica)?;
        history.reached(WHOLE)?;
        all(CLIQUES.map(|clique| binding::exactly(&history.end(), clique, 1)))
    })]
}
