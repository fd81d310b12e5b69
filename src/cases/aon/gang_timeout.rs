//! 4 nodes x 8 GPUs; a gang of 5 pods x 8 GPUs: one pod short. After a gang timeout of 2 s, the scheduler
//! releases the capacity that it reserved. The case lets the scheduler make passes for 6 s.

use std::time::Duration;

use conformance_driver::limits::RECOVERY;
use conformance_driver::pending::Retry;

use crate::prelude::*;

/// This attempt succeeds once the restarted operator serves its webhooks.
const SERVED: &[Attempt] = &[admitted("a PodCliqueSet for a restarted controller", |_| {})];

pub(crate) const CASE: Case =
    case!("A gang one pod short stays unbound after the scheduler's gang timeout", restored)
        .clauses(&[AON_02])
        .nodes(&[nodes(4).gpus(8)])
        .needs(&[Need::ReferenceController])
        .isolation(Isolation::Dedicated)
        // kube-scheduler's timeout is a constant of 5 minutes; the other schedulers have none.
        .on(Scheduler::KOORDINATOR);

const SET: &str = "timed-out";
const SECONDS: u64 = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let config = json!({"gangMode": "NonStrict", "scheduleTimeoutSeconds": SECONDS});
    let controller = test.local()?.spec().controller;
    test.restart_controller(controller.with_profile_config(test.target.backend(), config)).await?;
    let gang = test.manifest(SET)?;
    test.retry_creates_until(&gang, SERVED, RECOVERY).await?;
    for gang in test.submit_value(gang).await? {
        test.scheduler_passes_over(&gang).await?;
        test.retry_pending_gang(&gang, &[Retry::Passes(Duration::from_secs(3 * SECONDS))]).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_02, || {
        let never = binding::never(history, &history.units(SET)?, None);
        all([never, scheduler_passed(history), history.retried(1)])
    })]
}
