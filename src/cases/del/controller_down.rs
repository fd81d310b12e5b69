//! A running PodCliqueSet is deleted while the controller is down; the controller comes back.

use conformance_cluster::local::Part;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::control_plane;
use conformance_history::History;
use conformance_judge::{cleanup, finding};
use futures::future::BoxFuture;

/// DEL-06.
pub(super) const CASE: Case = Case {
    id: "del/controller-down",
    title: "A PodCliqueSet deleted while the controller is down is gone after it returns",
    clauses: &["DEL-06"],
    nodes: &[nodes(1)],
    manifest: include_str!("controller_down.yaml"),
    lane: Lane::Alone,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "orphaned";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    control_plane::restored(trial, without_controller).await?;
    trial.until_nothing_left().await
}

fn without_controller(trial: &mut Trial) -> BoxFuture<'_, Result<(), Stop>> {
    Box::pin(async {
        trial.take_away(Part::Controller).await?;
        trial.delete("PodCliqueSet", SET).await
    })
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-06", || {
        history.reached("part taken away")?;
        history.reached("deleted")?;
        cleanup::nothing_left(history)
    })]
}
