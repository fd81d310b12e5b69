//! 4 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs, another of 3 waits with 1 node free. The first is deleted.

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Broken, Finding, binding, finding};
use crate::suite::limits;
use crate::suite::trial::{Stop, Trial};

/// DEL-05.
pub const CASE: Case = Case {
    id: "del/capacity-freed",
    title: "What a deleted gang held goes to a waiting one, whole",
    clauses: &["DEL-05"],
    nodes: &[nodes(4).gpus(8)],
    manifest: include_str!("capacity_freed.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("holder").await?;
    trial.until_bound(3).await?;
    for gang in trial.submit("waiter").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.delete("PodCliqueSet", "holder").await?;
    trial
        .until("the waiting gang bound", limits::SCHEDULING, |live| {
            live.pods().filter(|pod| pod.pod_gang() == Some("waiter-0") && pod.node().is_some()).count() == 3
        })
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-05", || {
        let (deleted, _) = history.reached("deleted")?;
        let waiter = history.units("waiter")?;
        binding::never(history, &waiter, Some(deleted))
            .map_err(|_| Broken::NotReached("the other gang did not wait".into()))?;
        binding::whole(&history.end(), &waiter)
    })]
}
