//! A smoke test of Kubernetes 1.37 under `cargo test`: a PodGang as a tree of CompositePodGroups on a real
//! kube-scheduler. `run --kubernetes 1.37` runs every case.

mod lane;
#[path = "lane/local.rs"]
mod local;

use std::sync::{Arc, OnceLock};

use conformance_cases as cases;
use conformance_cluster::local::ClusterSpec;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use lane::{Shared, execute};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Runtime;

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
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(16);
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let shared: Arc<Shared> = Arc::default();
    let mut trials = Vec::new();
    let held = HELD.iter().map(|id| cases::case(id).expect("the case is registered"));
    for case in held {
        let name = format!("{}::{}", Target::KUBE_TREE.slug(), case.id.replace('/', "::"));
        let (shared, runtime) = (shared.clone(), runtime.clone());
        trials.push(Trial::test(name, move || {
            let make = || {
                local::environment(ClusterSpec::of(Kubernetes::V1_37), local::run_id('c'), "tree", &runtime)
                    .map_err(|error| error.to_string())
            };
            execute(case, Target::KUBE_TREE, &shared, make, &runtime)
        }));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(Ok(environment)) = Arc::into_inner(shared).and_then(OnceLock::into_inner) {
        let _ = runtime.block_on(environment.close());
    }
    conclusion.exit_code()
}
