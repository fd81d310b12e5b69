//! Rack `old` has one node x 16 GPUs and one x 8. A gang of 3 pods x 8 GPUs requires one rack and fills
//! `old`. Then rack `new` of 3 nodes x 8 GPUs joins, and the small node of `old` is cordoned. Rack `old` now
//! has room for only 2 pods of the recreated gang.

use super::{replica, requires_termination};
use crate::prelude::*;

marks! { BOUND = "bound in another domain"; }

const SET: &str = "leaves-rack";

pub(crate) const CASE: Case = Case::new(
    "A recreated gang moves to another rack if the old rack has no room",
    |test| Box::pin(drive(test, SET)),
    |history| check(history, SET, RACK),
)
.clauses(&[TERM_18])
.nodes(&[
    nodes(1).gpus(16).rack("old"),
    nodes(1).gpus(8).rack("old"),
    nodes(3).gpus(8).rack("new").joining(1),
]);

pub(super) async fn drive(test: &mut TestContext, set: &str) -> Result<(), Stop> {
    let clique = format!("{set}-0-worker");
    test.submit_and_start(set).await?;
    test.add_nodes(1).await?;
    let old = test.pods_of(&clique);
    let single = test.look(|live| {
        let pods: Vec<_> = live.pods().filter(|pod| pod.pod_clique() == Some(&clique)).collect();
        let on_its_node = |pod: &Pod<'_>| pods.iter().filter(|other| other.node() == pod.node()).count();
        pods.iter().find(|pod| on_its_node(pod) == 1).map(|pod| pod.name().to_owned()).unwrap_or_default()
    });
    test.delete_pod_and_cordon_node(&single).await?;
    test.until_recreated("the gang in its old domain", TERM_02, &[&clique], &old, false).await?;
    let bound = Awaited::demanded_by(TERM_18, "the recreated gang bound");
    test.until(bound, SCHEDULING, |live| {
        let pods: Vec<_> = pods_of(live, &clique).collect();
        pods.len() == old.len() && pods.iter().all(|pod| pod.node().is_some())
    })
    .await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

pub(super) fn check(history: &History, set: &str, level: &str) -> Vec<Finding> {
    vec![finding(TERM_18, || {
        let recreated = replica(history, set, 0)?;
        history.at(BOUND, |bound| {
            requires_termination(history, &recreated)?;
            let recreation = generations::only_generation(history, &recreated.scope(), 1);
            let placed = placement::gang_in_one_domain(&recreation, &history.base(set)?.name, level);
            all([placed, binding::whole(&history.before(bound), &history.units(set)?)])
        })
    })]
}
