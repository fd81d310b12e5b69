use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use conformance_cluster::ClusterError;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::{Case, Isolation};
use conformance_fuzz::GeneratedWorkload;
use conformance_programs::components::Progress;
use conformance_report::CaseResult;
use conformance_run::environment::Environment;
use conformance_run::run_plan::start_order;
use conformance_run::shrink;
use conformance_run::verdict::checked_clauses;
use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Prints one line per build, because builds are slow.
pub(crate) struct Lines;

#[allow(clippy::print_stderr)]
impl Progress for Lines {
    fn building(&self, name: &str, version: &str) {
        eprintln!("building {name} {version} (once; cached afterwards)");
    }
    fn compiled(&self, _: &str, _: &str, _: usize) {}
    fn built(&self, name: &str, _: &str, seconds: f64) {
        eprintln!("built {name} in {seconds:.0} s");
    }
    fn waiting(&self, name: &str) {
        eprintln!("waiting for another process that builds {name}");
    }
}

/// The file for a list of flaky tests. If it is set, a failed case is retried once. A test that then passes
/// is listed. Only CI sets it, so that rare failures do not block a change.
const FLAKY: &str = "GROVE_CONFORMANCE_FLAKY";

pub(crate) fn retries() -> u32 {
    u32::from(std::env::var_os(FLAKY).is_some())
}

/// An environment that tests share. It is created once, and its clusters start with the first cases.
pub(crate) struct Shared {
    runtime: Arc<Runtime>,
    make: Box<dyn Fn() -> Result<Environment, ClusterError> + Send + Sync>,
    started: OnceLock<Result<Started, String>>,
}

struct Started {
    environment: Arc<Environment>,
    growing: JoinSet<()>,
}

impl Shared {
    pub(crate) fn new(
        runtime: &Arc<Runtime>,
        make: impl Fn() -> Result<Environment, ClusterError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { runtime: runtime.clone(), make: Box::new(make), started: OnceLock::new() })
    }

    fn environment(&self) -> Result<&Environment, String> {
        let begin = || {
            let environment = Arc::new((self.make)().map_err(|error| error.to_string())?);
            let _within = self.runtime.enter();
            Ok(Started { growing: environment.grow_in_background(), environment })
        };
        let started = self.started.get_or_init(begin).as_ref();
        started.map(|started| &*started.environment).map_err(String::clone)
    }

    /// Closes the environment. Call this after every test has ended.
    pub(crate) fn close(self: Arc<Self>) {
        let Some(Self { runtime, started, .. }) = Arc::into_inner(self) else { return };
        let Some(Ok(Started { environment, mut growing })) = started.into_inner() else { return };
        runtime.block_on(async {
            growing.shutdown().await;
            if let Some(environment) = Arc::into_inner(environment) {
                let _ = environment.close().await;
            }
        });
    }
}

pub(crate) struct CaseTest {
    case: &'static Case,
    target: Target,
    shared: Arc<Shared>,
    trial: Trial,
}

impl CaseTest {
    pub(crate) fn new(
        name: String,
        case: &'static Case,
        target: Target,
        shared: &Arc<Shared>,
        is_ignored: bool,
    ) -> Self {
        let of_trial = shared.clone();
        let trial = Trial::test(name, move || execute(case, target, &of_trial));
        Self { case, target, shared: shared.clone(), trial: trial.with_ignored_flag(is_ignored) }
    }
}

/// The threads of tests on shared clusters. The environment limits the concurrent ones.
const THREADS: usize = 64;

pub(crate) fn run(mut arguments: Arguments, mut tests: Vec<CaseTest>, others: Vec<Trial>) -> Conclusion {
    tests.sort_by_cached_key(|test| start_order(test.case, test.target));
    let is_run =
        |test: &&CaseTest| !arguments.is_filtered_out(&test.trial) && !arguments.is_ignored(&test.trial);
    let (mut dedicated, mut environments) = (0, Vec::<Arc<Shared>>::new());
    for test in tests.iter().filter(is_run) {
        dedicated += usize::from(test.case.isolation == Isolation::Dedicated);
        if !environments.iter().any(|shared| Arc::ptr_eq(shared, &test.shared)) {
            environments.push(test.shared.clone());
        }
    }
    // Tests that wait for an environment would continue in any order. Each test reports an error itself.
    if !arguments.list {
        for shared in environments {
            let _ = shared.environment();
        }
    }
    // A test that waits for its own control plane blocks a thread.
    arguments.test_threads.get_or_insert(THREADS + dedicated);
    let trials = tests.into_iter().map(|test| test.trial).chain(others).collect();
    libtest_mimic::run(&arguments, trials)
}

/// Fails if a clause does not pass, unless the clause was announced as not checked.
pub(crate) fn execute(case: &'static Case, target: Target, shared: &Shared) -> Result<(), Failed> {
    if checked_clauses(case, target).is_empty() {
        return Err(format!("{} checks nothing on {target}", case.id).into());
    }
    let environment = shared.environment()?;
    let result = shared.runtime.block_on(environment.execute(case, target));
    // Announced clauses are checked on machines that have KAI.
    let checked: Vec<_> = result.clauses.iter().filter(|judgement| !judgement.outcome.announced).collect();
    let is_accepted =
        |verdict| matches!(verdict, Verdict::Pass | Verdict::KnownDeviation | Verdict::Unsupported);
    match result.outcome.verdict {
        _ if !checked.is_empty()
            && checked.iter().all(|judgement| is_accepted(judgement.outcome.verdict)) =>
        {
            Ok(())
        }
        Verdict::Flaky => {
            let reason = result.outcome.reason().unwrap_or_default();
            note_flaky(&format!("{} on {target}: {reason}", case.id))
                .map_err(|error| Failed::from(format!("flaky: {reason}\n{FLAKY} cannot be written: {error}")))
        }
        verdict => {
            let reason = result.outcome.reason().unwrap_or_default();
            let artifacts = result.artifacts.as_ref().map(|path| environment.settings.out.join(path));
            let artifacts = artifacts.unwrap_or_default();
            let shrunk = shared.runtime.block_on(shrunk(environment, case, target, &result));
            Err(format!("{verdict}: {reason}\nartifacts: {}{shrunk}", artifacts.display()).into())
        }
    }
}

fn note_flaky(line: &str) -> std::io::Result<()> {
    let path = std::env::var_os(FLAKY).unwrap_or_default();
    writeln!(OpenOptions::new().create(true).append(true).open(path)?, "{line}")
}

/// Only the first failure is shrunk, because the search takes minutes.
async fn shrunk(environment: &Environment, case: &Case, target: Target, result: &CaseResult) -> String {
    static IS_SHRINKING: AtomicBool = AtomicBool::new(false);
    match GeneratedWorkload::read(case.manifest) {
        Ok(workload) if result.outcome.verdict == Verdict::Fail => {
            if IS_SHRINKING.swap(true, Ordering::Relaxed) {
                return "\nnot shrunk, because another workload failed first: run this test alone".into();
            }
            let name = case.id.rsplit('/').next().unwrap_or(case.id);
            let shrunk = shrink::shrink(environment, target, name, workload, result).await;
            let text = shrunk.workload.text();
            format!("\nshrunk in {} tries, for `fuzz FILE`:\n{text}", shrunk.tries)
        }
        _ => String::new(),
    }
}
