//! Rack `wide` has 2 nodes x 8 GPUs and 4 nodes x 7 GPUs, and all 44 GPUs are free. Rack `deep` has 2 nodes x
//! 24 GPUs, of which a filler pod takes 16, so 32 are free. A gang of 4 pods x 8 GPUs requires one rack:
//! `wide` has room for 2 of its pods, `deep` for all 4.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang is bound in the only rack with room, not the emptiest rack")
    .clauses(&[TOPO_03, KUBE_11])
    .nodes(&[nodes(2).gpus(8).rack("wide"), nodes(4).gpus(7).rack("wide"), nodes(2).gpus(24).rack("deep")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("filler").await?;
    test.until_bound(1).await?;
    test.submit("deepest").await?;
    test.until_bound(5).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_03, || {
        let deep = placement::domain_named(history, "deep");
        let placed = placement::gang_in(history, &history.base("deepest")?.name, RACK, &deep);
        all([placed, binding::whole(&history.end(), &history.units("deepest")?)])
    })]
}
