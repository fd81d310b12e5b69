//! 4 nodes x 8 GPUs; a gang of 5 pods x 8 GPUs waits, then a gang of 2 pods x 8 GPUs comes, which fits.

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Broken, Finding, binding, finding};
use crate::suite::trial::{Stop, Trial};

/// AON-10.
pub const CASE: Case = Case {
    id: "aon/pending-blocks-nobody",
    title: "A gang that waits for room does not keep a later, smaller one from being bound",
    clauses: &["AON-10"],
    nodes: &[nodes(4).gpus(8)],
    manifest: include_str!("pending_blocks_nobody.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit("large").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.submit("small").await?;
    trial.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-10", || {
        history.reached("scheduler passed")?;
        // A gang that is bound in part does not wait: that is AON-02's to say.
        binding::never(history, &history.units("large")?, None)
            .map_err(|_| Broken::NotReached("the large gang did not wait".into()))?;
        binding::whole(&history.end(), &history.units("small")?)
    })]
}
