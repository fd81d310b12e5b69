//! 5 nodes x 8 GPUs; a clique of one pod, and a scaling group of 2 replicas of 2 pods (minimum 1), each pod x
//! 8 GPUs. One of the replicas is in the base PodGang, and a pod of this replica is lost together with its
//! node. Only this replica is terminated and created again, one pod short. Then the node is uncordoned.

use conformance_expect::Unit;
use conformance_expect::scopes::Scope;
use conformance_facts::generations;

use super::replica;
use crate::prelude::*;

marks! {
    SHORT = "one pod short of the replica";
    WHOLE = "the replica bound again";
}

const SET: &str = "base-replica";
const POOL: &str = "base-replica-0-pool";
const WORKER: &str = "base-replica-0-pool-0-worker";

pub(crate) const CASE: Case = case!("A recreated scaling group replica in its base PodGang is bound whole")
    .clauses(&[TERM_16])
    .nodes(&[nodes(5).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_started(SET).await?;
    let old = test.pods_of(WORKER);
    let node = test.delete_pod_and_cordon_node(&old.first().cloned().unwrap_or_default()).await?;
    test.until_recreated("the replica in the base PodGang", TERM_04, &[WORKER], &old, false).await?;
    for base in gangs.iter().filter(|gang| gang.is_base) {
        test.scheduler_passes_over(base).await?;
    }
    test.mark(SHORT, Value::Null);
    test.cordon(&node, false).await?;
    test.until_bound(5).await?;
    test.mark(WHOLE, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_16, || {
        let set_replica = replica(history, SET, 0)?;
        let pool = Scope::GroupReplica { group: POOL.into(), index: 0 };
        let unit = [Unit { gang: "the recreated replica".into(), minimums: vec![(WORKER.into(), 2)] }];
        history.at(SHORT, |short| {
            // A replica that is bound in part may be terminated once more.
            binding::never(&generations::only_generation(&history.upto(short), &pool, 1), &unit, None)?;
            precondition(TERM_02, termination::times(history, &set_replica, &pool, 1))
        })?;
        history.at(WHOLE, |whole| binding::whole(&history.before(whole), &unit))
    })]
}
