//! A smoke of Kubernetes 1.37 as `cargo test` sees it: a PodGang as a tree of CompositePodGroups on a real kube-scheduler.
//! `run --kubernetes 1.37` holds every case.

mod lane;

use std::sync::{Arc, OnceLock};

use grove_conformance::cluster::ClusterError;
use grove_conformance::cluster::components::{Overrides, Toolbox, components_for};
use grove_conformance::cluster::kubernetes::Kubernetes;
use grove_conformance::cluster::local::{ClusterSpec, Programs};
use grove_conformance::cluster::process::Launcher;
use grove_conformance::suite::arena::{Arena, Origin, Settings};
use grove_conformance::suite::cases;
use grove_conformance::suite::target::Target;
use lane::{Lines, Shared, hold};
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

fn arena(runtime: &Runtime) -> Result<Arena, ClusterError> {
    let spec = ClusterSpec::of(Kubernetes::V1_37);
    let components = components_for(spec.kubernetes, &spec.schedulers);
    let toolbox = runtime.block_on(Toolbox::prepare_only(components, &Overrides::new(), &Lines))?;
    Ok(Arena::new(Settings {
        run: format!("c{:x}", std::process::id()),
        spec,
        origin: Origin::Local,
        implementation: None,
        programs: Programs {
            toolbox,
            launcher: Launcher::new(env!("CARGO_BIN_EXE_grove-conformance")),
            controller: env!("CARGO_BIN_EXE_grove-backend-controller").into(),
        },
        scale: 1.0,
        concurrency: 10,
        retries: 0,
        out: concat!(env!("CARGO_TARGET_TMPDIR"), "/tree").into(),
        keep: false,
        reproduce: "grove-conformance run --case {case} {target}".into(),
    }))
}

fn main() -> std::process::ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(16);
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let shared: Arc<Shared> = Arc::default();
    let mut trials = Vec::new();
    for id in HELD {
        let case = cases::case(id).expect("the case is registered");
        let name = format!("{}::{}", Target::KubeTree.slug(), id.replace('/', "::"));
        let (shared, runtime) = (shared.clone(), runtime.clone());
        trials.push(Trial::test(name, move || {
            let make = || arena(&runtime).map_err(|error| error.to_string());
            hold(case, Target::KubeTree, &shared, make, &runtime)
        }));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(Ok(arena)) = Arc::into_inner(shared).and_then(OnceLock::into_inner) {
        let _ = runtime.block_on(arena.close());
    }
    conclusion.exit_code()
}
