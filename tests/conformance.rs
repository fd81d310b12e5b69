//! The conformance cases under `cargo test`: one test per case and target, on shared clusters. A few seeds of
//! generated workloads are tests as well (`cargo test --test conformance generated`).
//!
//! `GROVE_CONFORMANCE_KAI_DIR` names a folder with KAI's programs. Without it, KAI's scheduling clauses are
//! not tested. Every case runs in one of kube-scheduler's gang scopes. On the other targets, cases that are
//! the same on every backend are ignored. `GROVE_CONFORMANCE_PASSED` names the report of an earlier run, and
//! cases that passed there are ignored too. `--include-ignored`, or a filter, runs all of them.
//!
//! `cargo test --test conformance -- aon` filters by name. Without Go (and without built components), every
//! test fails with the reason; nothing is skipped silently.

mod harness;
#[path = "harness/kai.rs"]
mod kai;
#[path = "harness/local.rs"]
mod local;

use std::path::Path;
use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::{TARGETS, Target};
use conformance_driver::case::Case;
use conformance_fuzz as generated;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::schedulers;
use conformance_mutants::cargo_test;
use conformance_report::Report;
use conformance_run::report_document::has_passed;
use conformance_run::run_plan::runs_locally;
use conformance_run::suites;
use conformance_run::verdict::{checked_clauses, is_contract};
use harness::{CaseTest, Shared};
use libtest_mimic::Arguments;
use tokio::runtime::Runtime;

/// Without KAI's programs, the tests cover only what the API server shows of KAI's backend.
fn spec() -> Result<ClusterSpec, ClusterError> {
    kai::with(ClusterSpec::with(schedulers::of_pod_clique_sets()))
}

/// Whether one of the case's clauses applies, and the target's scheduler exists in clusters of `spec`. The
/// report lists other cases with the reason. Without a valid `spec`, every case fails with the reason.
fn is_tested(case: &Case, target: Target, spec: Option<&ClusterSpec>) -> bool {
    let scheduler = schedulers::installation(target.scheduler());
    let is_observable = spec.is_none_or(|spec| scheduler.missing(spec).is_none()) || {
        // Generated workloads need a scheduler.
        let mut clauses = checked_clauses(case, target).into_iter();
        case.group() != generated::GROUP && clauses.any(is_contract)
    };
    is_observable && runs_locally(case, target)
}

/// Whether only `ci/full` runs the case on the target. `ci/full` generates thousands of workloads.
fn is_left_out(case: &Case, target: Target) -> bool {
    if case.group() != generated::GROUP {
        return cargo_test::reason(case, target).expect("the tables of mutants are valid").is_none();
    }
    let seed = case.id.rsplit('/').next().and_then(|seed| seed.parse::<u64>().ok());
    let runs =
        |seed| cargo_test::runs_generated(case, seed, target).expect("the tables of mutants are valid");
    !seed.is_some_and(runs)
}

/// The file `report.json` of a run of the same sources. CI sets it to the report of README's first command.
const PASSED: &str = "GROVE_CONFORMANCE_PASSED";

fn earlier_run() -> Option<Report> {
    let path = std::env::var_os(PASSED)?;
    Some(conformance_report::read(Path::new(&path)).expect("the report of the earlier run is readable"))
}

#[allow(clippy::print_stderr)]
fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let shared = Shared::new(&runtime, {
        let (run, runtime) = (local::run_id('t'), runtime.clone());
        move || spec().and_then(|spec| local::environment(spec, run.clone(), "conformance", &runtime))
    });
    let mut tests = Vec::new();
    let targets: Vec<_> = TARGETS.into_iter().filter(|target| target.is_on(Kubernetes::V1_36)).collect();
    let available = spec().ok();
    let earlier_run = earlier_run();
    let (mut left_out, mut passed) = (0, 0);
    for target in targets {
        let generated =
            cargo_test::SEEDS.filter_map(|seed| generated::case(&format!("{}/{seed}", generated::GROUP)));
        for case in
            suites::cases().chain(generated).filter(|case| is_tested(case, target, available.as_ref()))
        {
            let name = format!("{}::{}", target.slug(), case.id.replace('/', "::"));
            let is_left_out = arguments.filter.is_none() && is_left_out(case, target);
            let is_passed = arguments.filter.is_none()
                && !is_left_out
                && earlier_run.as_ref().is_some_and(|run| has_passed(run, case, target));
            left_out += usize::from(is_left_out);
            passed += usize::from(is_passed);
            tests.push(CaseTest::new(name, case, target, &shared, is_left_out || is_passed));
        }
    }
    if !arguments.ignored && !arguments.include_ignored {
        if left_out > 0 {
            eprintln!("conformance: {left_out} tests are left to ci/full (docs/extending/ci-tiers.md)");
        }
        if passed > 0 {
            eprintln!("conformance: {passed} tests are ignored, because their cases have passed ({PASSED})");
        }
    }
    let conclusion = harness::run(arguments, tests, Vec::new());
    shared.close();
    conclusion.exit_code()
}
