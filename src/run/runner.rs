use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use conformance_contract::target::Target;
use conformance_contract::verdict::Outcome;
use conformance_programs::memory_in_use;
use conformance_report::{CaseResult, StoreError};
use futures::future::{self, FutureExt};
use futures::poll;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::environment::Environment;
use crate::report_document::OWN_NAME;
use crate::results_writer::ResultsWriter;
use crate::run_plan::RunPlan;

pub trait Observer: Send + Sync {
    /// Not called for cases cancelled before they started.
    fn ended(&self, target: Target, result: &CaseResult);
    /// Called once, for the first result that cannot be written for `report recover`. The run continues.
    fn unwritten(&self, error: &StoreError);
}

/// Runs all cases of the plan and returns the results by target, in the order of the plan. The writer writes
/// each result at once. After an interruption, cases that do not end in time count as interrupted.
pub async fn run_all(
    environment: &Arc<Environment>,
    plan: &RunPlan,
    observer: &Arc<dyn Observer>,
    mut writer: ResultsWriter<'_>,
) -> BTreeMap<Target, Vec<CaseResult>> {
    let mut background = environment.grow_in_background();
    background.spawn(memory_in_use::watch(OWN_NAME));
    let mut cases = JoinSet::new();
    for (case, target) in plan.in_order() {
        let (environment, observer) = (environment.clone(), observer.clone());
        // The span has the default log level, so that each log line of concurrent cases names its case.
        let span = tracing::warn_span!("case", case = case.id, %target);
        let running = async move {
            let result = environment.execute(case, target).await;
            if !never_started(&result) {
                observer.ended(target, &result);
            }
            environment.end_unwanted_control_planes(case.isolation, target).await;
            (target, result)
        };
        let mut running = AssertUnwindSafe(running.instrument(span)).catch_unwind().boxed();
        // Poll once before spawning so that cases queue in plan order.
        if let Poll::Ready(ended) = poll!(&mut running) {
            running = future::ready(ended).boxed();
        }
        cases.spawn(running);
    }
    let mut results: BTreeMap<Target, Vec<CaseResult>> =
        plan.targets.iter().map(|target| (*target, Vec::new())).collect();
    let mut abandons = pin!(environment.abandons_cases());
    let is_abandoned = loop {
        let ended = tokio::select! {
            ended = cases.join_next() => ended,
            () = &mut abandons => break true,
        };
        let Some(ended) = ended else { break false };
        // A case that panicked has no result yet: [`RunPlan::fill`] adds one below.
        match ended {
            Ok(Ok((target, result))) => {
                if !never_started(&result) {
                    writer.case(target, &result).await;
                }
                results.entry(target).or_default().push(result);
            }
            Ok(Err(_)) => tracing::error!("a case panicked; the report lists the case as aborted"),
            Err(error) => tracing::error!(%error, "a case was aborted"),
        }
    };
    // A case that blocks its thread, for example in its check, cannot be cancelled.
    cases.detach_all();
    // The background task refers to the environment, which the caller closes next.
    background.shutdown().await;
    let lacking = match is_abandoned {
        true => conformance_report::interrupted(),
        false => Outcome::error("the case was aborted; see the log"),
    };
    plan.fill(&mut results, &lacking);
    results
}

fn never_started(result: &CaseResult) -> bool {
    result.attempts == 0 && (result.is_interrupted() || result.is_after_first_failure())
}
