//! 2 nodes x 8 GPUs; a scaling group of 3 replicas of one pod x 8 GPUs (minimum 2): the third replica does
//! not fit until a node joins. Where gangs may stay partially bound, the delay first expires three times.

use conformance_expect::scopes::Scope;

use super::replica;
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    ALL_BOUND = "all bound at last";
}

const SET: &str = "one-unbound";
const GROUP: &str = "one-unbound-0-pool";
const WORKERS: [&str; 3] =
    ["one-unbound-0-pool-0-worker", "one-unbound-0-pool-1-worker", "one-unbound-0-pool-2-worker"];

pub(crate) const CASE: Case =
    case!("A breached replica is terminated alone, although another replica was never bound")
        .clauses(&[TERM_23])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_bound(2).await?;
    for gang in &gangs {
        test.until_released(gang).await?;
    }
    let clock = test.start_clock("2s").await?;
    let old = test.pods_of(WORKERS[1]);
    test.set_first_pod_status(WORKERS[1], Containers::Crashing).await?;
    test.until_recreated("the second replica of the scaling group", TERM_23, &WORKERS[1..2], &old, false)
        .await?;
    // On targets with HalfGangRelease, a partially bound gang must release its nodes (TERM-17).
    let times = if test.target.declares(Feature::HalfGangRelease) { 0 } else { 3 };
    test.run_clock(&clock, times, WAITED).await?;
    test.add_nodes(1).await?;
    test.until_bound(3).await?;
    test.mark(ALL_BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_23, || {
        let set_replica = replica(history, SET, 0)?;
        let pool = |index| Scope::GroupReplica { group: GROUP.into(), index };
        history.waited_for(WAITED)?;
        all([(0, 0), (1, 1), (2, 0)]
            .map(|(index, times)| termination::times(history, &set_replica, &pool(index), times)))?;
        precondition(TERM_22, termination::nothing_else_deleted(history, &set_replica))?;
        history.reached(ALL_BOUND).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object};

    use super::super::tests::pod_of;
    use super::*;

    fn pod(index: usize, name: &str, node: Option<&str>) -> Value {
        let mut pod = pod_of(SET, WORKERS[index], name, node);
        pod["metadata"]["labels"][names::SCALING_GROUP] = json!(GROUP);
        pod["metadata"]["labels"][names::SCALING_GROUP_REPLICA_INDEX] = json!(index.to_string());
        pod
    }

    /// The pods of these replicas are deleted and created again.
    fn ruling(terminated: &[usize]) -> Ruling {
        let node = |index: usize| (index < 2).then_some("n");
        let mut group = object("PodCliqueScalingGroup", GROUP);
        group["spec"]["replicas"] = json!(3);
        let pcs =
            grove_yaml::documents(crate::manifest("term/another-replica-never-bound")).unwrap().remove(0);
        let running = Story::flat().submitted(pcs).added(group);
        let running = running.all_added((0..3).map(|index| pod(index, &format!("old-{index}"), node(index))));
        let story = terminated.iter().enumerate().fold(running, |story, (round, &index)| {
            let last = terminated[..round].iter().rposition(|earlier| *earlier == index);
            let old = last.map_or_else(|| format!("old-{index}"), |round| format!("new-{round}"));
            let deleted = story.later(2).deleted(pod(index, &old, node(index)));
            deleted.added(pod(index, &format!("new-{round}"), None))
        });
        let history = story.mark(WAITED, Value::Null).mark(ALL_BOUND, Value::Null).end();
        check(&history).remove(0).ruling
    }

    #[rstest::rstest]
    #[case::alone_and_once(&[1], &[])]
    #[case::not_at_all(&[], &["wrong-number-of-gang-terminations"])]
    #[case::twice(&[1, 1], &["wrong-number-of-gang-terminations"])]
    #[case::with_the_one_that_was_never_bound(&[1, 2], &["wrong-number-of-gang-terminations"])]
    fn only_the_breached_replica_is_recreated(#[case] terminated: &[usize], #[case] wanted: &[&str]) {
        assert_eq!(codes(ruling(terminated)), wanted);
    }
}
