//! A kind cluster with real kubelets, under `cargo test`: the most telling cases, on kube-scheduler and Volcano.
//! The whole suite on kind is `run --provider kind`.
//!
//! On a machine that cannot run a kind cluster the tests are *ignored*, and the reason is printed; none of them is
//! reported as passed.

mod lane;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use conformance_cases as cases;
use conformance_cluster::ClusterError;
use conformance_cluster::components::Overrides;
use conformance_cluster::kind::prepare::{Wanted, prepare};
use conformance_cluster::kind::{config, host};
use conformance_cluster::local::{ClusterSpec, Programs};
use conformance_cluster::own_program::OwnProgram;
use conformance_cluster::schedulers::volcano;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::Thorough;
use conformance_run::environment::{Environment, Origin, Settings};
use lane::{Lines, Shared, execute};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Runtime;

/// What is held, by target.
const HELD: [(Target, &[&str]); 2] = [
    (
        Target::KUBE_POD_GROUP,
        &[
            "aon/fits-whole",
            "aon/one-pod-short",
            "aon/scaled-waits-for-base",
            "aon/minimum-per-clique",
            "topo/one-rack",
            "topo/no-rack-has-room",
            "del/everything-gone",
            "del/capacity-freed",
            "klt/containers-run",
            "klt/gpus-allocated-once",
            "klt/gpus-unhealthy",
            "klt/kubelet-restarted",
            "klt/image-missing",
            "klt/node-lost",
            "klt/controller-rolled",
            "start/containers-wait",
            "upd/controller-rolled",
        ],
    ),
    (Target::VOLCANO, &["aon/fits-whole", "aon/one-pod-short", "aon/across-cliques", "klt/containers-run"]),
];

fn environment(runtime: &Runtime) -> Result<Environment, ClusterError> {
    let spec = ClusterSpec::with([Scheduler::KUBE, volcano::SCHEDULER]);
    let program = Path::new(env!("CARGO_BIN_EXE_grove-conformance"));
    let controller = OwnProgram::controller_within(program);
    let schedulers: BTreeSet<_> = spec.schedulers.clone();
    let wanted = Wanted {
        kubernetes: spec.kubernetes,
        schedulers: &schedulers,
        releases: &[],
        controller: &spec.controller,
        plugin_faults: &spec.gpu_plugin_faults,
        config: &config::of(spec.kubernetes),
        node_image: None,
        overrides: &Overrides::new(),
        controller_program: &controller,
        operator: None,
    };
    let (kind, toolbox) = runtime.block_on(prepare(wanted, &Lines))?;
    Ok(Environment::new(Settings {
        run: format!("k{:x}", std::process::id()),
        spec,
        origin: Origin::Kind(Box::new(kind)),
        implementation: None,
        programs: Programs::within(toolbox, program),
        // Containers really start, on two cores.
        scale: 2.0,
        concurrency: 4,
        grows: false,
        dedicated: BTreeMap::new(),
        retries: lane::retries(),
        probe_undeclared: false,
        short_limits_count: false,
        later_life_on: None,
        thorough: Thorough::default(),
        out: concat!(env!("CARGO_TARGET_TMPDIR"), "/kind").into(),
        keep: false,
        reproduce: "grove-conformance run --provider kind --case {case} {target}".into(),
    }))
}

#[allow(clippy::print_stderr)]
fn main() -> std::process::ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(8);
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let missing = runtime.block_on(host::check()).err();
    if let Some(missing) = &missing {
        eprintln!("kind: not run: {missing}");
    }
    let shared: Arc<Shared> = Arc::default();
    let mut trials = Vec::new();
    for (target, ids) in HELD {
        for id in ids {
            let case = cases::all().find(|case| case.id == *id).expect("the case is registered");
            let name = format!("kind::{}::{}", target.slug(), id.replace('/', "::"));
            let (shared, runtime) = (shared.clone(), runtime.clone());
            let trial = Trial::test(name, move || {
                let make = || environment(&runtime).map_err(|error| error.to_string());
                execute(case, target, &shared, make, &runtime)
            });
            trials.push(trial.with_ignored_flag(missing.is_some()));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    shared.close(&runtime);
    conclusion.exit_code()
}
