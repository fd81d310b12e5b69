//! A smoke test of Kubernetes 1.37 under `cargo test`: a PodGang as a tree of CompositePodGroups on a real
//! kube-scheduler. `run --kubernetes 1.37` runs every case.

#[path = "lane/held.rs"]
mod held;
mod lane;
#[path = "lane/local.rs"]
mod local;

use conformance_cluster::local::ClusterSpec;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use held::Held;

/// What a tree is for, and what it may not break.
const HELD: &[&str] = &[
    "kube/mapping",
    "kube/tree",
    "kube/tree-fails-closed",
    "kube/names-and-limits",
    "kube/never-reshaped",
    "kube/composite-later",
    "gang/shape",
    "gang/scaling",
    "aon/fits-whole",
    "aon/one-pod-short",
    "aon/across-cliques",
    "aon/scaled-waits-for-base",
    "topo/one-rack",
    "topo/no-rack-has-room",
    "topo/per-group",
    "topo/nested",
    "topo/scaled-groups",
    "del/everything-gone",
    "del/scaled-gang-removed",
];

fn main() -> std::process::ExitCode {
    held::run(vec![Held {
        letter: 'c',
        folder: "tree",
        spec: || Ok(ClusterSpec::of(Kubernetes::V1_37)),
        cases: HELD.iter().map(|id| (Target::KUBE_TREE, *id)).collect(),
    }])
}
