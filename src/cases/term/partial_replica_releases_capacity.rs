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
    test.submit_and_start(SET).await?;
    let old: Vec<_> = CLIQUES.iter().flat_map(|clique| test.pods_of(clique)).collect();
    let node = test.delete_pod_and_cordon_node(&old.first().cloned().unwrap_or_default()).await?;
    test.until_recreated("the replica in the base PodGang", TERM_04, &CLIQUES, &old, false).await?;
    test.run_clock(&clock, 4, WAITED).await?;
    test.cordon(&node, false).await?;
    let whole = Awaited::demanded_by(AON_03, "both pods of the replica bound");
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
        termination::recreated(history, &set_replica, &pool(0))?;
        precondition(TERM_04, termination::times(history, &set_replica, &pool(1), 0))?;
        precondition(TERM_22, termination::nothing_else_deleted(history, &set_replica))?;
        history.reached(WHOLE).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object};

    use super::super::tests::pod_of;
    use super::*;

    fn pod(index: usize, clique: &str, generation: usize, node: Option<&str>) -> Value {
        let clique = format!("{POOL}-{index}-{clique}");
        let mut pod = pod_of(SET, &clique, &format!("{clique}-{generation}"), node);
        pod["metadata"]["labels"][names::SCALING_GROUP] = json!(POOL);
        pod["metadata"]["labels"][names::SCALING_GROUP_REPLICA_INDEX] = json!(index.to_string());
        pod
    }

    fn terminated(story: Story, index: usize, generation: usize) -> Story {
        let of = |generation, node| ["first", "second"].map(|clique| pod(index, clique, generation, node));
        let deleted = of(generation, None).into_iter().fold(story, Story::deleted);
        deleted.all_added(of(generation + 1, None))
    }

    /// Replica 0 is terminated, and bound in part. Then `later` happens.
    fn ruling(later: impl Fn(Story) -> Story) -> Ruling {
        let pcs = grove_yaml::documents(crate::manifest("term/partial-replica-releases-capacity"));
        let leader = pod_of(SET, "partial-replica-0-leader", "leader", Some("k"));
        let pods = [(0, "first"), (0, "second"), (1, "first"), (1, "second")];
        let mut group = object("PodCliqueScalingGroup", POOL);
        group["spec"]["replicas"] = json!(2);
        let running = Story::flat().submitted(pcs.unwrap().remove(0)).all_added([group, leader]);
        let running = running.all_added(pods.map(|(index, clique)| pod(index, clique, 0, Some("n"))));
        let recreated = terminated(running.later(6), 0, 0).modified(pod(0, "first", 1, Some("n")));
        let history = later(recreated.later(6)).mark(WAITED, Value::Null).mark(WHOLE, Value::Null).end();
        check(&history).remove(0).ruling
    }

    #[test]
    fn a_replica_that_is_bound_in_part_is_terminated() {
        assert_eq!(ruling(|story| terminated(story, 0, 1)), Ok(()));
        assert_eq!(codes(ruling(|story| story)), ["capacity-not-released"]);
    }

    #[test]
    fn other_deletions_are_violations_of_other_clauses() {
        let scaled = ruling(|story| terminated(terminated(story, 0, 1), 1, 0));
        assert!(matches!(scaled, Err(Broken::Precondition { clause: TERM_04, .. })), "{scaled:?}");
        let one = ruling(|story| terminated(story, 0, 1).deleted(pod(1, "first", 0, Some("n"))));
        assert!(matches!(one, Err(Broken::Precondition { clause: TERM_22, .. })), "{one:?}");
    }
}
