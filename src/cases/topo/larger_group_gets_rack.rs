//! Rack a of 2 nodes x 16 GPUs, rack b of one. A gang fits only if its first group, 2 pods x 8 GPUs in one
//! rack, leaves rack a to its second, 2 pods x 16 GPUs in one rack.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A small group does not take the only rack that fits a larger one")
    .clauses(&[TOPO_05, KUBE_11])
    .nodes(&[nodes(1).gpus(16).rack("a"), nodes(1).gpus(16).rack("b"), nodes(1).gpus(16).rack("a")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("uneven-groups").await?;
    // kube-scheduler 1.37 breaks the tie at random on each attempt. Both racks score the same for the first
    // group, which is placed before the second is considered, and an attempt does not backtrack.
    test.until("4 pods bound", limits::RETRIES, |live| live.bound() >= 4).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_05, || {
        let gangs = history.gangs("uneven-groups")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
