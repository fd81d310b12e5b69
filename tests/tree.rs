//! The cases of `run --kubernetes 1.37` under `cargo test`, where a PodGang is a tree of CompositePodGroups
//! on a real kube-scheduler. Cases that are the same without trees are ignored.

mod harness;
#[path = "harness/local.rs"]
mod local;
#[path = "harness/selection.rs"]
mod selection;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::Need;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_mutants::cargo_test;
use conformance_run::run_plan::runs_locally;
use conformance_run::suites;
use selection::Selection;

fn main() -> std::process::ExitCode {
    let all = suites::cases().filter(|case| {
        runs_locally(case, Target::KUBE_TREE) && !case.needs.contains(&Need::SeveralSchedulers)
    });
    selection::run(vec![Selection {
        letter: 'c',
        folder: "tree",
        spec: || Ok(ClusterSpec::of(Kubernetes::V1_37)),
        cases: all.map(|case| (Target::KUBE_TREE, case.id)).collect(),
        is_left_out: |case, target| {
            cargo_test::reason(case, target).expect("the tables of mutants are valid").is_none()
        },
    }])
}
