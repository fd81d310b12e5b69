//! A rack of 2 nodes x 8 GPUs and 4 nodes x 8 GPUs without a rack. edgy, a gang of 2 with 2 surplus pods x 8 GPUs,
//! fills the rack with its minimum; homeless, a gang of 3 pods x 8 GPUs, never fits it; anywhere, 2 pods, shows
//! that the nodes without a rack do take pods.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding, placement};

/// TOPO-11.
pub(super) const CASE: Case = Case {
    id: "topo/unlabelled-nodes",
    title: "Nodes without the level's label take no pod of a constrained gang, however much room they have",
    clauses: &["TOPO-11", "KUBE-11"],
    nodes: &[nodes(2).gpus(8).rack("a"), nodes(4).gpus(8)],
    manifest: include_str!("unlabelled_nodes.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("edgy").await?;
    trial.until_bound(2).await?;
    trial
        .until("surplus released", limits::REACTION, |live| live.pods().all(|pod| pod.gates().is_empty()))
        .await?;
    for gang in trial.submit("homeless").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.submit("anywhere").await?;
    trial.until_bound(4).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-11", || {
        history.reached("scheduler passed")?;
        placement::never_unlabelled(history, "edgy-0", RACK)?;
        placement::never_unlabelled(history, "homeless-0", RACK)?;
        let end = history.end();
        binding::exactly(&end, "edgy-0-worker", 2)?;
        binding::whole(&end, &history.units("anywhere")?)
    })]
}
