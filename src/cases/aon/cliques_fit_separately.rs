//! 4 nodes x 8 GPUs; a gang of two cliques of 3 pods x 8 GPUs: room for either clique, but not for both.

use conformance_driver::pending::Retry;

use super::competing_two_clique_gangs::is_atomic;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang is not bound if each clique fits but both together do not")
    .clauses(&[AON_08, KUBE_11])
    .nodes(&[nodes(4).gpus(8)])
    .with_feature(Feature::AtomicPodGang);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if is_atomic(test.target).is_err() {
        return Ok(());
    }
    for gang in test.submit("alone-each").await? {
        test.scheduler_passes_over(&gang).await?;
        test.retry_pending_gang(&gang, &[Retry::PodReplaced, Retry::AnotherGang]).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_08, || {
        is_atomic(history.header.target)?;
        let hard_gangs: Vec<_> = history.gangs("alone-each")?.iter().map(binding::hard_gang).collect();
        all([binding::never(history, &hard_gangs, None), scheduler_passed(history)])
    })]
}
