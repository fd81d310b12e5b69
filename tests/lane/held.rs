//! Test programs that run a selection of cases.

use std::cmp::Reverse;
use std::process::ExitCode;
use std::sync::Arc;

use conformance_cases as cases;
use conformance_cluster::ClusterError;
use conformance_contract::target::Target;
use conformance_install::cluster_spec::ClusterSpec;
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Runtime;

use crate::lane::{Shared, execute};
use crate::local;

pub(crate) struct Held {
    /// First letter of the run's id.
    pub letter: char,
    pub folder: &'static str,
    pub spec: fn() -> Result<ClusterSpec, ClusterError>,
    pub cases: Vec<(Target, &'static str)>,
}

pub(crate) fn run(all: Vec<Held>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    // As in tests/conformance.rs: the environment limits the tests per cluster.
    arguments.test_threads.get_or_insert(64);
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let mut environments = Vec::new();
    let mut trials = Vec::new();
    for held in all {
        let shared: Arc<Shared> = Arc::default();
        environments.push(shared.clone());
        for (target, id) in held.cases {
            let case = cases::case(id).expect("the case is registered");
            let name = format!("{}::{}", target.slug(), id.replace('/', "::"));
            let (shared, runtime) = (shared.clone(), runtime.clone());
            let trial = Trial::test(name, move || {
                let make = || {
                    (held.spec)()
                        .and_then(|spec| {
                            local::environment(spec, local::run_id(held.letter), held.folder, &runtime)
                        })
                        .map_err(|error| error.to_string())
                };
                execute(case, target, &shared, make, &runtime)
            });
            trials.push((cases::usual_length(id), trial));
        }
    }
    // As in a run, the longest start first.
    trials.sort_by_key(|(length, _)| Reverse(*length));
    let trials = trials.into_iter().map(|(_, trial)| trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    for shared in environments {
        shared.close(&runtime);
    }
    conclusion.exit_code()
}
