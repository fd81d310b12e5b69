//! A scaling group of 3 replicas, minimum 1: two scaled PodGangs of 2 pods; scaled in to 1.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::scaling;
use conformance_history::History;
use conformance_judge::{cleanup, finding};

/// DEL-03.
pub(super) const CASE: Case = Case {
    id: "del/scaled-gang-removed",
    title: "Scaling a scaling group in removes its scaled PodGangs with their pods and gang resources",
    clauses: &["DEL-03"],
    nodes: &[nodes(1)],
    manifest: include_str!("scaled_gang_removed.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "narrowed";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    trial.scale("PodCliqueScalingGroup", "narrowed-0-model", 1).await?;
    let gangs = scaling::lost(&trial.history(), SET);
    trial.until_converged(SET).await?;
    trial.until_gone(&gangs).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-03", || {
        history.reached("scaled")?;
        cleanup::removed(history, &scaling::lost(history, SET))
    })]
}
