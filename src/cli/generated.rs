//! `run --generate N` and `run --generated FILE`: generated workloads. A workload that fails is shrunk to the
//! smallest one with the same failure.

use std::path::Path;

use conformance_contract::clauses::CLAUSES;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::Case;
use conformance_fuzz::{self as fuzz, GeneratedWorkload};
use conformance_report::{CaseResult, Report};
use conformance_run::environment::Environment;
use conformance_run::report_document;
use conformance_run::run_plan::RunPlan;
use conformance_run::shrink;

use super::Failure;
use super::args::WorkloadArgs;
use super::output;

/// Maximum length of a file's name in a case id, because object names contain the id.
const MAX_NAME: usize = 24;

/// The cases of `--generated` or `--generate`; `None` without either option.
pub(crate) fn cases(args: &WorkloadArgs) -> Result<Option<Vec<&'static Case>>, Failure> {
    if let Some(file) = &args.generated {
        let usage = |reason: String| Failure::Usage(format!("--generated {}: {reason}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
        let workload = GeneratedWorkload::read(&text).map_err(|error| usage(error.to_string()))?;
        return Ok(Some(vec![workload.case(&name(file))]));
    }
    let Some(count) = args.generate else { return Ok(None) };
    let seeds = (0..count).map(|number| args.seed().wrapping_add(number));
    Ok(Some(seeds.filter_map(|seed| fuzz::case(&format!("{}/{seed}", fuzz::GROUP))).collect()))
}

fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let kept = stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    let name: String = kept.take(MAX_NAME).collect();
    name.trim_matches('-').to_owned()
}

/// A plan of these cases only, with the clauses that they decide.
pub(crate) fn plan(mut targets: Vec<Target>, chosen: Vec<&'static Case>) -> RunPlan {
    targets.retain(|target| chosen.iter().any(|case| case.is_for(*target)));
    let is_decided = |id: &str| chosen.iter().any(|case| case.clauses.contains(&id));
    let clauses = CLAUSES.iter().filter(|clause| is_decided(clause.id)).copied().collect();
    RunPlan { targets, chosen, left_out: Vec::new(), skipped: Vec::new(), shard: None, clauses }
}

/// Shrinks every generated workload that failed, and writes the smallest into the report's folder.
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
    output::data(&format!("# {} on {target}, shrunk in {} tries:\n{text}", result.id, found.tries));
    match std::fs::write(&file, text) {
        Ok(()) => output::say(&format!(
            "wrote {file}; run it again: grove-conformance run --generated '{file}' {}",
            target.options(),
            file = file.display()
        )),
        Err(error) => output::say(&format!("{} cannot be written: {error}", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("reports/generated-volcano-17.yaml", "generated-volcano-17")]
    #[case("A very long name, with words in it.yaml", "a-very-long-name--with-w")]
    fn a_case_is_named_after_its_file(#[case] file: &str, #[case] wanted: &str) {
        assert_eq!(name(Path::new(file)), wanted);
    }
}
