//! 3 replicas, each with a base and a scaled PodGang; scaled in to 2.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::scaling;
use conformance_history::History;
use conformance_judge::idle_writes::{self, Concern};
use conformance_judge::{cleanup, finding};

/// DEL-02.
pub(super) const CASE: Case = Case {
    id: "del/replica-removed",
    title: "Scaling a PodCliqueSet in removes all of its highest replica, its Service included, and touches no other",
    clauses: &["DEL-02"],
    nodes: &[nodes(1)],
    manifest: include_str!("replica_removed.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "shrunk";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    trial.scale("PodCliqueSet", SET, 2).await?;
    let gangs = scaling::lost(&trial.history(), SET);
    trial.until_converged(SET).await?;
    trial.until_gone(&gangs).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-02", || {
        let (scaled, _) = history.reached("scaled")?;
        cleanup::removed(history, &scaling::lost(history, SET))?;
        let pcs = history.submitted(SET)?;
        let (before, after) =
            (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
        let concern = Concern::of(history.header.target, SET, &before, &after);
        idle_writes::others_untouched(history, scaled, history.entries.len(), &concern)
    })]
}
