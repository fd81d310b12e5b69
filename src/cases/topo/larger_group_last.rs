//! Rack a of 2 nodes x 16 GPUs, rack b of one; a gang of two groups that must each be in one rack: the first of 2 pods x
//! 8 GPUs, which either rack can take, the second of 2 pods x 16 GPUs, which needs all of rack a. The gang fits only if
//! the first group leaves rack a alone.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding, placement};

/// TOPO-05.
pub(super) const CASE: Case = Case {
    id: "topo/larger-group-last",
    title: "A group leaves the only rack alone that a larger one of the same gang needs",
    clauses: &["TOPO-05", "KUBE-11"],
    nodes: &[nodes(1).gpus(16).rack("a"), nodes(1).gpus(16).rack("b"), nodes(1).gpus(16).rack("a")],
    manifest: include_str!("larger_group_last.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("uneven-groups").await?;
    // kube-scheduler 1.37 tosses a coin at each attempt: either rack is as good to the first group, which is placed
    // before the second is looked at, and no choice is taken back within an attempt.
    trial.until("4 pods bound", limits::RETRIES, |live| live.bound() >= 4).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-05", || {
        let gangs = history.gangs("uneven-groups")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
