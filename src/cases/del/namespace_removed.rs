//! A running PodCliqueSet with a scaled PodGang and surplus; its namespace is deleted. Its pods have a second to go, for
//! the namespace controller comes back only after half the longest grace it has seen.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_history::History;
use conformance_judge::{cleanup, finding};

/// DEL-07.
pub(super) const CASE: Case = Case {
    id: "del/namespace-removed",
    title: "A namespace with a running PodCliqueSet is deleted, and nothing is stuck",
    clauses: &["DEL-07"],
    nodes: &[nodes(1)],
    manifest: include_str!("namespace_removed.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "evicted";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    trial.delete("Namespace", &trial.namespace).await?;
    trial.until_namespace_gone().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-07", || {
        history.reached("converged")?;
        history.reached("waited for the namespace to go")?;
        cleanup::namespace_gone(history)
    })]
}
