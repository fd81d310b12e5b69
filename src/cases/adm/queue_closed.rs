//! `queued`, 2 pods in a queue of the case's own, which is closed while they run.

use conformance_contract::names::VOLCANO_QUEUE;
use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits::REACTION;
use conformance_history::History;
use conformance_judge::admission::{Attempt, admitted, answers, refused};
use conformance_judge::finding;

use super::never_blocked::{edit_and_delete, never_blocked};

/// ADM-08, where a queue may go.
pub(super) const CASE: Case = Case {
    id: "adm/queue-closed",
    title: "Metadata edits and deletion are admitted after the workload's queue is closed",
    clauses: &["ADM-08"],
    nodes: &[nodes(1)],
    manifest: include_str!("queue_closed.yaml"),
    lane: Lane::Shared,
    only: &[Target::Volcano],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

/// Shows that admission has seen the queue open.
const OPEN: &[Attempt] = &[admitted("a new one in the queue that is open", |_| {})];

/// Shows that admission has seen the queue close.
const NEW: &[Attempt] = &[refused("a new one in the queue that is closed", &["queue", "Open"], |_| {})];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let queue = trial.domain("queue");
    trial.open_queue(&queue).await?;
    let mut queued = trial.manifest("queued")?;
    queued["metadata"]["annotations"][VOLCANO_QUEUE] = queue.clone().into();
    trial.creates_until(&queued, OPEN, REACTION).await?;
    trial.submit_value(queued.clone()).await?;
    trial.until_bound(2).await?;
    trial.close_queue(&queue).await?;
    trial.creates_until(&queued, NEW, REACTION).await?;
    edit_and_delete(trial, "queued").await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-08", || {
        answers(history, NEW)?;
        never_blocked(history, "queued")
    })]
}
