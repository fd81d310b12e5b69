//! 2 replicas with base and scaled PodGangs, surplus and a scaling group, all bound and ready: then 10 s of nothing.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits::QUIET;
use conformance_driver::quiescence::WATCHED;
use conformance_history::History;
use conformance_judge::{finding, idle_writes};

/// GANG-11.
pub(super) const CASE: Case = Case {
    id: "gang/at-rest",
    title: "A converged, bound workload changes in no object for 10 s",
    clauses: &["GANG-11"],
    nodes: &[nodes(1)],
    manifest: include_str!("at_rest.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "resting";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    trial.watch_rest(QUIET).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-11", || {
        let (converged, _) = history.reached("converged")?;
        let (watched, _) = history.reached(WATCHED)?;
        idle_writes::quiet(history, converged, watched)
    })]
}
