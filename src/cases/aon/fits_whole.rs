//! 4 nodes x 8 GPUs; two cliques of 2 pods x 8 GPUs: room for exactly 4.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};

/// AON-01.
pub(super) const CASE: Case = Case {
    id: "aon/fits-whole",
    title: "A gang that exactly fills its nodes is bound whole",
    clauses: &["AON-01"],
    nodes: &[nodes(4).gpus(8)],
    manifest: include_str!("fits_whole.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("fits").await?;
    trial.until_bound(4).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-01", || {
        binding::on_own_nodes(history)?;
        binding::whole(&history.end(), &history.units("fits")?)
    })]
}
