//! Test programs that run a selection of cases.

use std::cmp::Reverse;
use std::process::ExitCode;
use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_run::suites;
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Runtime;

use crate::harness::{Shared, execute};
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
    let mut arguments = Arguments::from_args();
    // As in tests/conformance.rs: the environment limits the tests per cluster.
    arguments.test_threads.get_or_insert(64);
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let mut environments = Vec::new();
    let mut trials = Vec::new();
    for selection in selections {
        let shared: Arc<Shared> = Arc::default();
        environments.push(shared.clone());
        for (target, id) in selection.cases {
            let case = suites::case(id).expect("the case is registered");
            let name = format!("{}::{}", target.slug(), id.replace('/', "::"));
            let (shared, runtime) = (shared.clone(), runtime.clone());
            let trial = Trial::test(name, move || {
                let make = || {
                    (selection.spec)()
                        .and_then(|spec| {
                            local::environment(
                                spec,
                                local::run_id(selection.letter),
                                selection.folder,
                                &runtime,
                            )
                        })
                        .map_err(|error| error.to_string())
                };
                execute(case, target, &shared, make, &runtime)
            });
            let is_ignored = arguments.filter.is_none() && (selection.is_left_out)(case, target);
            trials.push((suites::usual_length(id), trial.with_ignored_flag(is_ignored)));
        }
    }
    // As in a run, the longest tests start first.
    trials.sort_by_key(|(length, _)| Reverse(*length));
    let trials = trials.into_iter().map(|(_, trial)| trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    for shared in environments {
        shared.close(&runtime);
    }
    conclusion.exit_code()
}
