//! What test programs that run cases share: progress of builds, and a case as a test.

use std::sync::OnceLock;

use conformance_cluster::components::Progress;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::Case;
use conformance_generated::Plan;
use conformance_report::CaseResult;
use conformance_run::environment::Environment;
use conformance_run::shrink;
use conformance_run::verdict::judged_clauses;
use libtest_mimic::Failed;
use tokio::runtime::Runtime;

/// Builds are slow enough to be worth a line each.
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

/// The environment of all cases, created by the first.
pub(crate) type Shared = OnceLock<Result<Environment, String>>;

/// Runs a case as a test.
///
/// # Errors
/// What was not kept, or not judged without having been announced.
pub(crate) fn execute(
    case: &'static Case,
    target: Target,
    shared: &Shared,
    make: impl FnOnce() -> Result<Environment, String>,
    runtime: &Runtime,
) -> Result<(), Failed> {
    if judged_clauses(case, target).is_empty() {
        return Err(format!("{} judges nothing on {target}", case.id).into());
    }
    let environment = shared.get_or_init(make);
    let environment = environment.as_ref().map_err(Failed::from)?;
    let result = runtime.block_on(environment.execute(case, target));
    // What was announced as not judged is another test's matter, where there is a KAI.
    let judged: Vec<_> = result.clauses.iter().filter(|judgement| !judgement.outcome.announced).collect();
    let kept = |verdict| matches!(verdict, Verdict::Pass | Verdict::KnownDeviation | Verdict::Unsupported);
    match result.outcome.verdict {
        _ if !judged.is_empty() && judged.iter().all(|judgement| kept(judgement.outcome.verdict)) => Ok(()),
        verdict => {
            let reason = result.outcome.reason().unwrap_or_default();
            let artifacts = result.artifacts.as_ref().map(|path| environment.settings.out.join(path));
            let artifacts = artifacts.unwrap_or_default();
            let shrunk = runtime.block_on(shrunk(environment, case, target, &result));
            Err(format!("{verdict}: {reason}\nartifacts: {}{shrunk}", artifacts.display()).into())
        }
    }
}

/// The smallest workload that fails as a generated one did, if that is what has failed.
async fn shrunk(environment: &Environment, case: &Case, target: Target, result: &CaseResult) -> String {
    match Plan::read(case.manifest) {
        Ok(plan) if result.outcome.verdict == Verdict::Fail => {
            let name = case.id.rsplit('/').next().unwrap_or(case.id);
            let shrunk = shrink::shrink(environment, target, name, plan, result).await;
            format!("\nshrunk in {} tries, for `run --generated FILE`:\n{}", shrunk.tries, shrunk.plan.text())
        }
        _ => String::new(),
    }
}
