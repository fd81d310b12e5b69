//! Kubernetes 1.37 under `cargo test`: every case of `run --kubernetes 1.37`, where a PodGang is a tree of
//! CompositePodGroups on a real kube-scheduler.

#[path = "lane/held.rs"]
mod held;
#[path = "lane/judged.rs"]
mod judged;
mod lane;
#[path = "lane/local.rs"]
mod local;

use conformance_cases as cases;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::Need;
use conformance_install::cluster_spec::ClusterSpec;
use held::Held;

fn main() -> std::process::ExitCode {
    let judged = cases::all().filter(|case| {
        judged::is_judged_locally(case, Target::KUBE_TREE) && !case.needs.contains(&Need::SeveralSchedulers)
    });
    held::run(vec![Held {
        letter: 'c',
        folder: "tree",
        spec: || Ok(ClusterSpec::of(Kubernetes::V1_37)),
        cases: judged.map(|case| (Target::KUBE_TREE, case.id)).collect(),
    }])
}
