//! 2 nodes x 8 GPUs; 2 pods x 8 GPUs that bring a scheduling group (KUBE-15) whose PodGroup is not there yet.

use serde_json::json;

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Finding, binding, finding};
use crate::suite::target::KUBE;
use crate::suite::trial::{Stop, Trial};

/// KUBE-14.
pub const CASE: Case = Case {
    id: "kube/podgroup-later",
    title: "Pods that the scheduler sees before their PodGroup are bound when it appears",
    clauses: &["KUBE-14"],
    nodes: &[nodes(2).gpus(8)],
    manifest: include_str!("podgroup_later.yaml"),
    lane: Lane::Shared,
    only: KUBE,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit("early").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    let late = json!({
        "metadata": {"name": "late"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    });
    trial.create("PodGroup", &late).await?;
    trial.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KUBE-14", || {
        let (barrier, _) = history.reached("scheduler passed")?;
        let units = history.units("early")?;
        binding::never(history, &units, Some(barrier))?;
        binding::whole(&history.end(), &units)
    })]
}
