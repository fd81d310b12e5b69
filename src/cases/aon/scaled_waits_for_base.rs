//! 1 node without GPUs; a base gang of a leader x 8 GPUs, which fits nowhere, and 2 workers without GPUs, and a scaled
//! gang of 2 workers, which would fit. With a node x 8 GPUs the base fits, and then the scaled gang may go.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};

/// AON-06.
pub(super) const CASE: Case = Case {
    id: "aon/scaled-waits-for-base",
    title: "A scaled gang that fits is not bound while its base gang is not",
    clauses: &["AON-06"],
    nodes: &[nodes(1), nodes(1).gpus(8).joining(1)],
    manifest: include_str!("scaled_waits_for_base.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let gangs = trial.submit("grown").await?;
    for base in gangs.iter().filter(|gang| gang.base.is_none()) {
        trial.scheduler_passes_over(base).await?;
    }
    trial.nodes_join(1).await?;
    trial.until_bound(5).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-06", || {
        let (barrier, _) = history.reached("scheduler passed")?;
        let gangs = history.gangs("grown")?;
        let scaled = gangs.iter().filter(|gang| gang.base.is_some());
        let units: Vec<_> = scaled.flat_map(|gang| gang.units(history.header.target)).collect();
        binding::never(history, &units, Some(barrier))?;
        binding::base_first(history, &gangs)?;
        binding::all(&history.end(), &gangs)
    })]
}
