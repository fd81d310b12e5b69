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
        binding::whole(&history.end(), &history.units("unbounded")?)
    })]
}
