//! 4 nodes x 8 GPUs; a gang of 5 with 1 surplus pod, each x 8 GPUs, waits with room for 4. It is deleted, pod by pod,
//! while that room is there; 2 more nodes come when it is gone.

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Broken, Finding, binding, cleanup, finding};
use crate::suite::trial::{Stop, Trial};

/// DEL-04.
pub const CASE: Case = Case {
    id: "del/pending-deleted",
    title: "A gang is deleted while it waits: nothing of it is bound on the way out, and nothing is left",
    clauses: &["DEL-04"],
    nodes: &[nodes(4).gpus(8), nodes(2).gpus(8).joining(1)],
    manifest: include_str!("pending_deleted.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit("doomed").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.delete("PodCliqueSet", "doomed").await?;
    trial.until_nothing_left().await?;
    trial.nodes_join(1).await?;
    trial.canaries().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-04", || {
        let (deleted, _) = history.reached("deleted")?;
        let units = history.units("doomed")?;
        binding::never(history, &units, Some(deleted))
            .map_err(|_| Broken::NotReached("the gang was not pending when it was deleted".into()))?;
        binding::never(history, &units, None)?;
        cleanup::nothing_left(history)
    })]
}
