//! `fuzz`: generated workloads. A workload that fails is shrunk to the smallest one with the same failure.

use conformance_contract::clauses::CLAUSES;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::Case;
use conformance_fuzz::GeneratedWorkload;
use conformance_report::{CaseResult, Report};
use conformance_run::environment::Environment;
use conformance_run::report_document;
use conformance_run::run_plan::RunPlan;
use conformance_run::shrink;

use super::output;

pub(crate) fn plan(mut targets: Vec<Target>, chosen: Vec<&'static Case>) -> RunPlan {
    targets.retain(|target| chosen.iter().any(|case| case.is_for(*target)));
    let is_decided = |id: &str| chosen.iter().any(|case| case.clauses.contains(&id));
    let clauses = CLAUSES.iter().filter(|clause| is_decided(clause.id)).copied().collect();
    RunPlan { targets, chosen, left_out: Vec::new(), skipped: Vec::new(), shard: None, clauses }
}

pub(crate) async fn shrink_failed(environment: &Environment, plan: &RunPlan, report: &Report) {
    for target in &plan.targets {
        let found = report.targets.iter().find(|found| found.title() == report_document::title(*target));
        let failed = found.iter().flat_map(|found| &found.cases);
        for result in failed.filter(|result| result.outcome.verdict == Verdict::Fail) {
            let case = plan.chosen.iter().find(|case| case.id == result.id);
            if let Some(workload) = case.and_then(|case| GeneratedWorkload::read(case.manifest).ok()) {
                shrink_one(environment, *target, workload, result).await;
            }
        }
    }
}

async fn shrink_one(
    environment: &Environment,
    target: Target,
    workload: GeneratedWorkload,
    result: &CaseResult,
) {
    let name = result.id.rsplit('/').next().unwrap_or_default();
    output::say(&format!("shrinking {} on {target}", result.id));
    let found = shrink::shrink(environment, target, name, workload, result).await;
    let file = environment.settings.out.join(format!("generated-{}-{name}.yaml", target.slug()));
    let text = found.workload.text();
    output::data(&format!("# {} on {target}, shrunk, tries: {}:\n{text}", result.id, found.tries));
    match std::fs::write(&file, text) {
        Ok(()) => output::say(&format!(
            "wrote {file}; run it again: grove-conformance fuzz '{file}' {}",
            target.options(),
            file = file.display()
        )),
        Err(error) => output::say(&format!("{} cannot be written: {error}", file.display())),
    }
}
