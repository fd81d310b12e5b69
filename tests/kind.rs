//! A smoke test on a kind cluster with real kubelets: at least one case per clause group that is checked on
//! kind, and one per mechanism that only kind has (leases, device plugin, images, the operator's Deployment,
//! real containers). `run --provider kind` runs the whole suite on kind.
//!
//! On a machine that cannot run a kind cluster, the tests are ignored, and the reason is printed. With
//! `GROVE_CONFORMANCE_KIND=required`, which CI sets if `ci/docker` succeeds, they fail there.

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_cluster::kind::prepare::{Wanted, prepare};
use conformance_cluster::kind::{config, host};
use conformance_cluster::local::Programs;
use conformance_contract::names;
use conformance_contract::ruling::Finding;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::schedulers::volcano;
use conformance_programs::components::Overrides;
use conformance_programs::own_program::OwnProgram;
use conformance_run::environment::{Environment, Origin, Settings};
use conformance_run::suites;
use harness::{CaseTest, Lines, Shared, execute};
use libtest_mimic::{Arguments, Trial};
use serde_json::json;
use tokio::runtime::Runtime;

/// If this variable is set, the tests fail on a machine that cannot run kind clusters.
const REQUIRED: &str = "GROVE_CONFORMANCE_KIND";

const CASES: [(Target, &[&str]); 2] = [
    (
        Target::KUBE_POD_GROUP,
        &[
            "gang/shape",
            "aon/one-pod-short",
            "aon/scaled-waits-for-base",
            "topo/one-rack",
            "adm/structure",
            "del/all-objects-deleted",
            "del/capacity-freed",
            "kube/mapping",
            "klt/containers-run",
            "klt/gpus-allocated-once",
            "klt/gpus-unhealthy",
            "klt/kubelet-restarted",
            "klt/image-missing",
            "klt/node-lost",
            "klt/controller-rolled",
            "start/containers-wait",
            "stat/pods-refused",
            "term/breached-replica-recreated",
            "upd/controller-rolled",
            "auto/template-replicas",
        ],
    ),
    (Target::VOLCANO, &["aon/exact-fit-bound", "aon/one-pod-short", "klt/containers-run"]),
];

/// Changes every field of its nodes that a case can change, and does not restore them.
static CHANGES_ITS_NODES: Case = Case::new(
    "A case that leaves its nodes cordoned, tainted, labelled and with other resources",
    |test| Box::pin(change_nodes(test)),
    |_| vec![Finding { clause: "KLT-01", ruling: Ok(()) }],
)
.registered("klt/changes-its-nodes", "")
.clauses(&["KLT-01"])
.nodes(&[nodes(NODES).gpus(8)]);

const NODES: u32 = 8;

async fn change_nodes(test: &mut TestContext) -> Result<(), Stop> {
    for node in &test.nodes {
        let left = json!({
            "metadata": {
                "labels": {"left": "behind", "topology.kubernetes.io/rack": "left"},
                "annotations": {"left": "behind", names::UNHEALTHY_GPUS: "0"},
            },
            "spec": {"unschedulable": true, "taints": [{"key": "left", "effect": "NoExecute"}]},
        });
        test.patch("Node", &node.name, left).await?;
        let resource = json!({"example.com/left": "1"});
        let status = json!({"status": {"capacity": resource, "allocatable": resource}});
        test.patch_sub("Node", &node.name, "status", status).await?;
    }
    Ok(())
}

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
        given: &BTreeMap::new(),
        controller_program: &controller,
        operator: None,
    };
    let (kind, toolbox) = runtime.block_on(prepare(wanted, &Lines))?;
    let run = format!("k{:x}", std::process::id());
    let programs = Programs::within(toolbox, program);
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/kind").into();
    Ok(Environment::new(Settings {
        origin: Origin::Kind(Box::new(kind)),
        // Real containers have to start, on two cores.
        scale: 2.0,
        concurrency: 4,
        retries: harness::retries(),
        reproduce: "grove-conformance run {case} --provider kind {target}".into(),
        ..Settings::local(run, programs, spec, out)
    }))
}

#[allow(clippy::print_stderr)]
fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let missing = runtime.block_on(host::check()).err();
    if let Some(missing) = &missing {
        eprintln!("kind: not run, {missing}");
        if std::env::var_os(REQUIRED).is_some() {
            eprintln!("{REQUIRED} is set: an ignored test on kind is a failure");
            return std::process::ExitCode::FAILURE;
        }
    }
    let shared = Shared::new(&runtime, {
        let runtime = runtime.clone();
        move || environment(&runtime)
    });
    let case = |id: &str| suites::case(id).expect("the case is registered");
    let mut tests = Vec::new();
    for (target, ids) in CASES {
        for &id in ids {
            let name = format!("kind::{}::{}", target.slug(), id.replace('/', "::"));
            tests.push(CaseTest::new(name, case(id), target, &shared, missing.is_some()));
        }
    }
    // The next case gets the same nodes, and ends in an error if one was not restored.
    let (next, shared_by_leases) = (case("klt/containers-run"), shared.clone());
    let trial =
        Trial::test("kind::a_case_that_leaves_its_nodes_changed_does_not_affect_the_next", move || {
            for case in [&CHANGES_ITS_NODES, next, &CHANGES_ITS_NODES] {
                execute(case, Target::KUBE_POD_GROUP, &shared_by_leases)?;
            }
            Ok(())
        });
    let trial = trial.with_ignored_flag(missing.is_some());
    let conclusion = harness::run(arguments, tests, vec![trial]);
    shared.close();
    conclusion.exit_code()
}
