//! A rack of 2 nodes x 8 GPUs and 4 nodes x 8 GPUs without a rack. `fills-rack`, a gang of 2 required and 2
//! surplus pods x 8 GPUs, fills the rack. `fits-no-rack`, 3 pods x 8 GPUs, never fits. `anywhere`, 2 pods,
//! shows that the nodes without a rack accept pods. An operator may add node affinity on the label's key.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A constrained gang is never bound to nodes without the level's label")
    .clauses(&[TOPO_11, KUBE_11])
    .nodes(&[nodes(2).gpus(8).rack("a"), nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("fills-rack").await?;
    test.until_bound(2).await?;
    test.until(
        Awaited::demanded_by(GANG_07, "surplus pods released to the scheduler"),
        limits::REACTION,
        |live| live.pods().all(|pod| pod.gates().is_empty()),
    )
    .await?;
    for gang in test.submit("fits-no-rack").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.submit("anywhere").await?;
    test.until_bound(4).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_11, || {
        let labelled = ["fills-rack", "fits-no-rack"]
            .map(|set| placement::never_unlabelled(history, &history.base(set)?.name, RACK));
        all([all(labelled), scheduler_passed(history)])?;
        let units = [history.units("fills-rack")?, history.units("anywhere")?].concat();
        precondition(AON_01, binding::whole(&history.end(), &units))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, node, one_clique, one_clique_gang, worker};

    use super::*;

    fn ruling(constrained: &str, control: usize) -> Ruling {
        let mut labelled = node("a", 8);
        labelled["metadata"]["labels"] = json!({(RACK): "ns-a"});
        let sets = [("fills-rack", 2), ("fits-no-rack", 3), ("anywhere", 2)];
        let story = sets.iter().fold(Story::flat(), |story, (set, pods)| {
            story.submitted(one_clique(set, *pods)).added(one_clique_gang(set, *pods))
        });
        let story = story.all_added([labelled, node("n", 8)]);
        let bound = [0, 1].map(|index| worker("fills-rack", index, Some(constrained)));
        let passed = story.all_added(bound).mark(SharedMark::SchedulerPassed, Value::Null);
        check(&passed.workers("anywhere", 2, control).end()).remove(0).ruling
    }

    #[test]
    fn a_constrained_pod_on_a_node_without_the_label_is_a_violation() {
        assert_eq!(ruling("a", 2), Ok(()));
        assert_eq!(codes(ruling("n", 2)), ["unlabelled-node"; 2]);
    }

    #[test]
    fn an_unbound_control_breaks_another_clause() {
        let unbound = ruling("a", 0);
        assert!(matches!(unbound, Err(Broken::Precondition { clause: AON_01, .. })), "{unbound:?}");
    }
}
