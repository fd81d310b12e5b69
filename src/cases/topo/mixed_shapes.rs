//! A gang of 4 pods x 2 GPUs and 2 pods x 8 GPUs that must be in one rack. Rack decoy, 6 nodes x 2 GPUs, has room for 6
//! small pods and for no large one; rack real, 2 nodes x 24 GPUs, for all, in whatever order. A scheduler that counts
//! pods as if all were alike finds room in decoy.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding, placement};

/// TOPO-01.
pub(super) const CASE: Case = Case {
    id: "topo/mixed-shapes",
    title: "A gang of pods of two sizes finds the rack that has room for both",
    clauses: &["TOPO-01", "KUBE-11"],
    nodes: &[nodes(6).gpus(2).rack("decoy"), nodes(2).gpus(24).rack("real")],
    manifest: include_str!("mixed_shapes.yaml"),
    lane: Lane::Shared,
    // In PodGroup scope a PodGang of two podgroups may have no constraint.
    only: &[Target::KubePodGang, Target::KubeTree, Target::Volcano, Target::Koordinator, Target::Kai],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("mixed-shapes").await?;
    trial.until_bound(6).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-01", || {
        binding::all(&history.end(), &history.gangs("mixed-shapes")?)?;
        placement::gang_in_one_domain(history, "mixed-shapes-0", RACK)
    })]
}
