//! 2 nodes x 4 GPUs; a gang of 4 pods x 2 GPUs: both nodes are full, with two pods each that must share nothing. Who has
//! which GPU is the kubelets' to say, and what they said to a container is in its environment.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, devices, finding, kubelets};

/// KLT-02.
pub(super) const CASE: Case = Case {
    id: "klt/gpus-allocated-once",
    title: "Each GPU goes to one container at most, and each container gets as many as it asked for",
    clauses: &["KLT-02"],
    nodes: &[nodes(2).gpus(4)],
    manifest: include_str!("gpus_allocated_once.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "counted";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let gangs = trial.submit(SET).await?;
    trial.until_running(&gangs).await?;
    trial.read_allocations().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KLT-02", || {
        let (read, _) = history.reached(devices::ALLOCATED)?;
        let live = history.before(read);
        binding::on_own_nodes(history)?;
        kubelets::all_run(&live, &history.gangs(SET)?)?;
        devices::at_most_once(history)?;
        devices::as_requested(history)
    })]
}
