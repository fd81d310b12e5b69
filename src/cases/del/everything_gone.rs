//! 2 replicas with surplus, a scaling group and scaled PodGangs, running; then the PodCliqueSet is deleted. Every kind
//! that the API server lists in the namespace is looked through, not only those that a history holds.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_history::History;
use conformance_judge::{cleanup, finding};

/// DEL-01.
pub(super) const CASE: Case = Case {
    id: "del/everything-gone",
    title: "A running PodCliqueSet is deleted, and every object that it caused is gone",
    clauses: &["DEL-01"],
    nodes: &[nodes(1)],
    manifest: include_str!("everything_gone.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "gone";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    trial.delete("PodCliqueSet", SET).await?;
    trial.until_nothing_left().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-01", || {
        history.reached("deleted")?;
        cleanup::nothing_left(history)
    })]
}
