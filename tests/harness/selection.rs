use std::process::ExitCode;
use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_run::suites;
use libtest_mimic::Arguments;
use tokio::runtime::Runtime;

use crate::harness::{self, CaseTest, Shared};
use crate::local;

pub(crate) struct Selection {
    /// The first letter of the run's id.
    pub letter: char,
    pub folder: &'static str,
    pub spec: fn() -> Result<ClusterSpec, ClusterError>,
    pub cases: Vec<(Target, &'static str)>,
    /// Whether only `ci/full` runs a case on a target.
    pub is_left_out: fn(&Case, Target) -> bool,
}

pub(crate) fn run(selections: Vec<Selection>) -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let mut environments = Vec::new();
    let mut tests = Vec::new();
    for Selection { letter, folder, spec, cases, is_left_out } in selections {
        let shared = Shared::new(&runtime, {
            let runtime = runtime.clone();
            move || spec().and_then(|spec| local::environment(spec, local::run_id(letter), folder, &runtime))
        });
        for (target, id) in cases {
            let case = suites::case(id).expect("the case is registered");
            let name = format!("{}::{}", target.slug(), id.replace('/', "::"));
            let is_ignored = arguments.filter.is_none() && is_left_out(case, target);
            tests.push(CaseTest::new(name, case, target, &shared, is_ignored));
        }
        environments.push(shared);
    }
    let conclusion = harness::run(arguments, tests, Vec::new());
    environments.into_iter().for_each(Shared::close);
    conclusion.exit_code()
}
