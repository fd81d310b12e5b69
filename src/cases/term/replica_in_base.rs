//! 5 nodes x 8 GPUs; a clique of one pod, and a scaling group of 2 replicas of 2 cliques of one pod (minimum
//! 1), each pod x 8 GPUs. A pod of the replica in the base PodGang is lost together with its node. Only this
//! replica is terminated and created again, one pod short until the node is uncordoned.

use conformance_expect::Unit;
use conformance_expect::scopes::Scope;

use super::replica;
use crate::prelude::*;

marks! {
    SHORT = "one pod short of the replica";
    WHOLE = "the replica bound again";
}

const SET: &str = "base-replica";
const POOL: &str = "base-replica-0-pool";
const CLIQUES: [&str; 2] = ["base-replica-0-pool-0-first", "base-replica-0-pool-0-second"];

pub(crate) const CASE: Case = case!("A recreated scaling group replica in its base PodGang is bound whole")
    .clauses(&[TERM_16])
    .nodes(&[nodes(5).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_started(SET).await?;
    let old: Vec<_> = CLIQUES.iter().flat_map(|clique| test.pods_of(clique)).collect();
    let node = test.delete_pod_and_cordon_node(&old.first().cloned().unwrap_or_default()).await?;
    test.until_recreated("the replica in the base PodGang", TERM_04, &CLIQUES, &old, false).await?;
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
        let minimums = CLIQUES.map(|clique| (clique.to_owned(), 1)).to_vec();
        let unit = [Unit { gang: "the recreated replica".into(), minimums }];
        history.at(SHORT, |short| {
            // A replica that is bound in part may be terminated once more.
            binding::never(&generations::only_generation(&history.upto(short), &pool, 1), &unit, None)?;
            precondition(TERM_04, termination::times(history, &set_replica, &pool, 1))
        })?;
        history.at(WHOLE, |whole| {
            // AON-01 demands that the replica is bound at all.
            binding::all_or_nothing(&generations::only_generation(&history.upto(whole), &pool, 1), &unit)
        })
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::Story;

    use super::super::tests::pod_of;
    use super::*;

    /// Pods `a` and `c` are of the first clique, `b` and `d` of the second one.
    fn pod(name: &str, node: Option<&str>) -> Value {
        let clique = CLIQUES[usize::from(["b", "d"].contains(&name))];
        let mut pod = pod_of(SET, clique, name, node);
        pod["metadata"]["labels"][names::SCALING_GROUP] = json!(POOL);
        pod["metadata"]["labels"][names::SCALING_GROUP_REPLICA_INDEX] = json!("0");
        pod
    }

    fn bound(story: Story, names: &[&str]) -> Story {
        names.iter().fold(story, |story, name| story.modified(pod(name, Some("n"))))
    }

    fn ruling(short: &[&str], whole: &[&str]) -> Ruling {
        let pcs = grove_yaml::documents(crate::manifest("term/replica-in-base")).unwrap().remove(0);
        let leader = pod_of(SET, "base-replica-0-leader", "leader", Some("k"));
        let (lost, kept) = (pod("a", Some("m")), pod("b", Some("n")));
        let running = Story::whole().submitted(pcs).all_added([leader, lost.clone(), kept.clone()]);
        let breached = running.mark(SharedMark::PodLost, json!({"name": "a"})).deleted(lost);
        let waiting = breached.later(2).deleted(kept).all_added(["c", "d"].map(|name| pod(name, None)));
        let short = bound(waiting, short).mark(SHORT, Value::Null);
        check(&bound(short, whole).mark(WHOLE, Value::Null).end()).remove(0).ruling
    }

    #[rstest::rstest]
    #[case::whole(&[], &["c", "d"], &[])]
    #[case::not_at_all(&[], &[], &[])]
    #[case::one_pod_while_short(&["c"], &["d"], &["bound-in-part"])]
    #[case::one_pod_in_the_end(&[], &["c"], &["not-bound-whole"])]
    fn a_recreated_replica_is_bound_whole_or_not_at_all(
        #[case] short: &[&str],
        #[case] whole: &[&str],
        #[case] wanted: &[&str],
    ) {
        assert_eq!(codes(ruling(short, whole)), wanted);
    }
}
