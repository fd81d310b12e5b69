//! 4 nodes x 8 GPUs; a gang of clique `fits`, 2 pods x 8 GPUs, and clique `overflows`, 5 pods x 8 GPUs.

use conformance_driver::pending::Retry;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang is not bound if one of its two cliques does not fit")
    .clauses(&[AON_08, KUBE_11])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("across").await? {
        test.scheduler_passes_over(&gang).await?;
        test.retry_pending_gang(&gang, &[Retry::PodReplaced, Retry::AnotherGang]).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_08, || {
        // On every target, the check requires that all required pods are bound together. If a target promises
        // less, the failure is a known deviation.
        let hard_gangs: Vec<_> = history.gangs("across")?.iter().map(binding::hard_gang).collect();
        all([binding::never(history, &hard_gangs, None), scheduler_passed(history)])
    })]
}
