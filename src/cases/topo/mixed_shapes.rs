//! A gang of 4 pods x 2 GPUs and 2 pods x 8 GPUs requires one rack. Rack `decoy`, 6 nodes x 2 GPUs, has room
//! for 6 pods if sizes are ignored. Rack `real`, 2 nodes x 24 GPUs, fits all of them in any order.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang with two pod sizes is bound in the rack that fits both")
    .clauses(&[TOPO_01, KUBE_11])
    .nodes(&[nodes(6).gpus(2).rack("decoy"), nodes(2).gpus(24).rack("real")])
    // Without AtomicPodGang, admission may refuse a constraint on a PodGang of two podgroups.
    .with_feature(Feature::AtomicPodGang);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("mixed-shapes").await?;
    test.until_bound(6).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_01, || {
        let placed = placement::gang_in_one_domain(history, &history.base("mixed-shapes")?.name, RACK);
        all([placed, binding::all(&history.end(), &history.gangs("mixed-shapes")?)])
    })]
}
