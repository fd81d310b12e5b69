//! 4 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs and another waits. The scheduler is killed and comes back: still
//! room for one only. With 2 more nodes the waiting gang is bound whole.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::control_plane::restored;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};
use serde_json::Value;

/// AON-12, with a gang pending.
pub(super) const CASE: Case = Case {
    id: "aon/scheduler-killed",
    title: "The scheduler is killed with a gang pending, and the one that follows knows what may be bound",
    clauses: &["AON-12"],
    nodes: &[nodes(4).gpus(8), nodes(2).gpus(8).joining(1)],
    manifest: include_str!("scheduler_killed.yaml"),
    lane: Lane::Alone,
    only: &[],
    drive: |trial| Box::pin(restored(trial, |trial| Box::pin(drive(trial)))),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("running").await?;
    trial.until_bound(3).await?;
    for gang in trial.submit("waiting").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.kill_scheduler().await?;
    trial.mark("scheduler killed", Value::Null);
    trial.start_scheduler().await?;
    // The first canary may be in the new scheduler's first list beside the pending gang, behind which it has to be
    // for the barrier to hold: the next two surely are.
    trial.canaries().await?;
    trial.canaries().await?;
    trial.mark("the next scheduler has passed", Value::Null);
    trial.nodes_join(1).await?;
    trial.until_bound(6).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-12", || {
        let (killed, _) = history.reached("scheduler killed")?;
        let (passed, _) = history.reached("the next scheduler has passed")?;
        let (running, waiting) = (history.units("running")?, history.units("waiting")?);
        binding::whole(&history.before(killed), &running)?;
        binding::never(history, &waiting, Some(passed))?;
        binding::others_untouched(history, killed, &[])?;
        binding::whole(&history.end(), &waiting)
    })]
}
