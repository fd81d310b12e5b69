//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs, which fits. Of its 4 bindings the harness lets 2 pass and holds 2; then
//! the scheduler is killed. The next one finds half a gang, and room for the other half.

use conformance_contract::ruling::{Broken, Finding};
use conformance_driver::binding_webhook::BindingHold;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::control_plane::restored;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};
use serde_json::Value;

/// Bindings that pass before the scheduler is killed.
const PASSING: usize = 2;

/// AON-12, with a gang half bound.
pub(super) const CASE: Case = Case {
    id: "aon/scheduler-killed-half-way",
    title: "The scheduler is killed between two bindings of a gang, and the one that follows binds the rest",
    clauses: &["AON-12"],
    nodes: &[nodes(4).gpus(8)],
    manifest: include_str!("scheduler_killed_half_way.yaml"),
    lane: Lane::Alone,
    only: &[],
    drive: |trial| Box::pin(restored(trial, |trial| Box::pin(drive(trial)))),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let hold = BindingHold::begin(trial, PASSING).await?;
    let killed = kill_half_way(trial, &hold).await;
    hold.refuse_held(trial).await?;
    killed?;
    trial.start_scheduler().await?;
    trial.until_bound(4).await
}

async fn kill_half_way(trial: &mut Trial, hold: &BindingHold) -> Result<(), Stop> {
    trial.submit("half").await?;
    hold.until_held(trial, 4 - PASSING).await?;
    trial.until_bound(PASSING).await?;
    trial.kill_scheduler().await?;
    trial.mark("scheduler killed", Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-12", || {
        let (killed, _) = history.reached("scheduler killed")?;
        binding::exactly(&history.before(killed), "half-0-worker", PASSING)
            .map_err(|_| Broken::NotReached(format!("the gang was not caught with {PASSING} pods bound")))?;
        binding::others_untouched(history, killed, &[])?;
        binding::whole(&history.end(), &history.units("half")?)
    })]
}
