//! 3 nodes x 8 GPUs; a gang of 5 pods x 8 GPUs: two pods short, and one pod short after a node joins. A lost
//! pod, lost gang resources and another gang without GPUs also make the scheduler retry the gang.

use std::time::Duration;

use conformance_driver::pending::Retry;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang one pod short is not bound at any retry")
    .clauses(&[AON_02, AON_15])
    .nodes(&[nodes(3).gpus(8), nodes(1).gpus(8).joining(1)]);

const ATTEMPTS: &[Retry] =
    &[Retry::NodesJoin(1), Retry::PodReplaced, Retry::GangResourcesRestored, Retry::AnotherGang];

/// How long the scheduler's passes continue after its gang timeout.
const BEYOND: Duration = Duration::from_secs(10);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("short-for-good").await? {
        test.scheduler_passes_over(&gang).await?;
        test.retry_pending_gang(&gang, ATTEMPTS).await?;
        let timeout =
            schedulers::of(test.target).gang_timeout().filter(|_| test.test_cluster.thorough.gang_timeouts);
        if let Some(timeout) = timeout {
            test.retry_pending_gang(&gang, &[Retry::Passes(timeout + BEYOND)]).await?;
        }
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let never = || binding::never(history, &history.units("short-for-good")?, None);
    vec![
        finding(AON_02, || all([never(), scheduler_passed(history), history.retried(ATTEMPTS.len())])),
        finding(AON_15, || {
            all([precondition(AON_02, never()), scheduler_passed(history)])?;
            binding::reports_why_pending(history, &history.gangs("short-for-good")?[0])
        }),
    ]
}
