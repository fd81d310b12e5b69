//! 4 nodes x 8 GPUs; one clique of 5 pods x 8 GPUs: one pod short.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};

/// AON-02, AON-03.
pub(super) const CASE: Case = Case {
    id: "aon/one-pod-short",
    title: "A gang one pod short is not bound at all and says why; with one more node it is bound whole",
    clauses: &["AON-02", "AON-03"],
    nodes: &[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)],
    manifest: include_str!("one_pod_short.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit("short").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.nodes_join(1).await?;
    trial.until_bound(5).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AON-02", || {
            let (barrier, _) = history.reached("scheduler passed")?;
            binding::never(history, &history.units("short")?, Some(barrier))?;
            binding::says_why(history, "short-0")
        }),
        finding("AON-03", || {
            history.reached("scheduler passed")?;
            binding::whole(&history.end(), &history.units("short")?)
        }),
    ]
}
