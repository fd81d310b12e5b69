//! Rack `home` has 2 nodes x 8 GPUs; rack `away` has one node x 8. A gang of 2 pods x 8 GPUs, both required,
//! requires one rack. While `home` is cordoned, the first replacement fits only in `away`.

use crate::prelude::*;

marks! {
    TRIED = "the replacement was tried";
    UPDATED = "every pod is new";
}

const SET: &str = "in-rack";
/// Number of nodes in rack `home`; the others are in `away`.
const HOME: usize = 2;

pub(crate) const CASE: Case = Case::new(
    "A pod replaced by an update waits for room in its gang's rack",
    |test| Box::pin(drive(test, SET)),
    |history| check(history, SET, RACK),
)
.clauses(&[UPD_19])
.nodes(&[nodes(2).gpus(8).rack("home"), nodes(1).gpus(8).rack("away")]);

pub(super) async fn drive(test: &mut TestContext, set: &str) -> Result<(), Stop> {
    only_home_is_open(test, true).await?;
    test.submit_and_converge(set).await?;
    only_home_is_open(test, false).await?;
    if !test.revise(set, "2").await? {
        return Ok(());
    }
    let clique = format!("{set}-0-worker");
    let has_replacement = |live: &Live, is_wanted: fn(Pod<'_>) -> bool| {
        pods_of(live, &clique).any(|pod| is_of_revision(pod, "2") && is_wanted(pod))
    };
    let released = Awaited::demanded_by(GANG_07, "the first replacement released to the scheduler");
    test.until(released, SCHEDULING, |live| has_replacement(live, |pod| pod.gates().is_empty())).await?;
    test.canaries().await?;
    test.mark(TRIED, Value::Null);
    only_home_is_open(test, true).await?;
    let bound = Awaited::demanded_by(UPD_19, "the first replacement bound once its domain has room");
    test.until(bound, SCHEDULING, |live| has_replacement(live, |pod| pod.node().is_some())).await?;
    test.until_updated(set, UPD_02).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn only_home_is_open(test: &TestContext, is_open: bool) -> Result<(), Stop> {
    for (index, node) in test.nodes.iter().enumerate() {
        test.cordon(&node.name, (index < HOME) != is_open).await?;
    }
    Ok(())
}

pub(super) fn check(history: &History, set: &str, level: &str) -> Vec<Finding> {
    vec![update_finding(history, UPD_19, || {
        let (converged, _) = history.reached(SharedMark::Converged)?;
        let gang = history.base(set)?.name;
        precondition(TOPO_01, placement::gang_in_one_domain(&history.upto(converged), &gang, level))?;
        placement::gang_in_one_domain(history, &gang, level)?;
        history.reached(TRIED)?;
        history.reached(UPDATED).map(drop)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::node;

    use super::*;

    /// The nodes of two pods, and of the replacement of the second.
    fn ruling(nodes: [&str; 3]) -> Ruling {
        let labelled = |name: &str, rack: &str| {
            let mut node = node(name, 8);
            node["metadata"]["labels"] = json!({RACK: rack});
            node
        };
        let replacement = {
            let mut pod = worker(SET, 1, Some(nodes[2]));
            pod["metadata"]["name"] = json!("replacement");
            pod
        };
        let story = Story::flat().submitted(one_clique(SET, 2)).added(one_clique_gang(SET, 2));
        let story = story.added(labelled("home", "home")).added(labelled("away", "away"));
        let story = story.all_added([worker(SET, 0, Some(nodes[0])), worker(SET, 1, Some(nodes[1]))]);
        let story = story.mark(SharedMark::Converged, Value::Null).deleted(worker(SET, 1, Some(nodes[1])));
        let story = story.added(replacement).mark(TRIED, Value::Null).mark(UPDATED, Value::Null);
        check(&story.end(), SET, RACK).remove(0).ruling
    }

    #[test]
    fn only_the_domain_of_the_replacement_is_judged() {
        assert_eq!(ruling(["home", "home", "home"]), Ok(()));
        assert_eq!(codes(ruling(["home", "home", "away"])), ["several-domains"]);
        let apart = ruling(["home", "away", "home"]);
        assert!(matches!(apart, Err(Broken::Precondition { clause: TOPO_01, .. })), "{apart:?}");
    }
}
