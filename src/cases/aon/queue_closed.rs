//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs in a queue of the case's own, admitted while the queue is open, and
//! pending. The queue is closed, which keeps others out; then a second node appears.

use conformance_contract::names::VOLCANO_QUEUE;
use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits::REACTION;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::admission::{Attempt, admitted};
use conformance_judge::{binding, finding};

/// AON-03.
pub(super) const CASE: Case = Case {
    id: "aon/queue-closed",
    title: "A gang that was admitted to its queue is bound when its capacity appears, though the queue is closed by then",
    clauses: &["AON-03"],
    nodes: &[nodes(1).gpus(8), nodes(1).gpus(8).joining(1)],
    manifest: include_str!("queue_closed.yaml"),
    lane: Lane::Shared,
    only: &[Target::Volcano],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

/// Shows that admission has seen the queue open.
const OPEN: &[Attempt] = &[admitted("one in the queue that is open", |_| {})];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let queue = trial.domain("queue");
    trial.open_queue(&queue).await?;
    let mut gang = trial.manifest("locked-in")?;
    gang["metadata"]["annotations"][VOLCANO_QUEUE] = queue.clone().into();
    trial.creates_until(&gang, OPEN, REACTION).await?;
    for gang in trial.submit_value(gang).await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.close_queue(&queue).await?;
    trial.nodes_join(1).await?;
    trial.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-03", || {
        let units = history.units("locked-in")?;
        let (closed, _) = history.reached("queue closed")?;
        binding::never(history, &units, Some(closed))?;
        binding::whole(&history.end(), &units)
    })]
}
