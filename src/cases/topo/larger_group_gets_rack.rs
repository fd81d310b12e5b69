//! Rack a has 2 nodes x 16 GPUs, rack b has one. A gang has a group of 2 pods x 8 GPUs and one of 2 pods x 16
//! GPUs. Each group requires one rack. The gang fits only if the first group leaves rack a to the second.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A small group does not take the only rack that fits a larger one")
    .clauses(&[TOPO_05, KUBE_11])
    .nodes(&[nodes(1).gpus(16).rack("a"), nodes(1).gpus(16).rack("b"), nodes(1).gpus(16).rack("a")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("uneven-groups").await?;
    // kube-scheduler 1.37 places the first group before it considers the second, and an attempt does not
    // backtrack. Both racks score the same for the first group, so each attempt chooses one at random.
    test.until("4 pods bound", limits::RETRIES, |live| live.bound() >= 4).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_05, || {
        let gangs = history.gangs("uneven-groups")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
