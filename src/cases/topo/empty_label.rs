//! A rack of 2 nodes x 8 GPUs, and 3 nodes x 8 GPUs whose rack label is empty. No rack has room for a gang of
//! 3 pods x 8 GPUs. A gang of 2 pods without a constraint shows that the nodes accept pods.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Nodes with an empty topology label form no domain, so a constrained gang waits")
        .clauses(&[TOPO_18])
        .nodes(&[nodes(2).gpus(8).rack("a"), nodes(3).gpus(8).rack("")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("nowhere").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.submit("unbounded").await?;
    test.until_bound(2).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_18, || {
        let nowhere = history.base("nowhere")?.name;
        all([placement::never_with_an_empty_label(history, &nowhere, RACK), scheduler_passed(history)])?;
        precondition(AON_01, binding::whole(&history.end(), &history.units("unbounded")?))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, node, one_clique, one_clique_gang};

    use super::*;

    #[test]
    fn an_unbound_control_breaks_another_clause() {
        let ruling = |bound| {
            let mut empty = node("n", 8);
            empty["metadata"]["labels"] = json!({(RACK): ""});
            let sets = [("nowhere", 3), ("unbounded", 2)];
            let story = sets.iter().fold(Story::flat().added(empty), |story, (set, pods)| {
                story.submitted(one_clique(set, *pods)).added(one_clique_gang(set, *pods))
            });
            let passed = story.mark(SharedMark::SchedulerPassed, Value::Null);
            check(&passed.workers("unbounded", 2, bound).end()).remove(0).ruling
        };
        assert_eq!(ruling(2), Ok(()));
        let unbound = ruling(1);
        assert!(matches!(unbound, Err(Broken::Precondition { clause: AON_01, .. })), "{unbound:?}");
    }
}
