//! `run --generate N` and `run --generated FILE`: randomly generated workloads, and the smallest that fails
//! in the same way.

use std::path::Path;

use conformance_contract::clauses::CLAUSES;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::Case;
use conformance_fuzz as generated;
use conformance_report::{CaseResult, Report};
use conformance_run::environment::Environment;
use conformance_run::runner::{self, Plan};
use conformance_run::shrink;

use super::Failure;
use super::args::RunArgs;
use super::output;

/// Maximum length of a file's name in a case id, which becomes part of object names.
const LONGEST_NAME: usize = 24;

/// The requested cases; `None` without either option.
pub(crate) fn cases(args: &RunArgs) -> Result<Option<Vec<&'static Case>>, Failure> {
    if let Some(file) = &args.generated {
        let usage = |reason: String| Failure::Usage(format!("--generated {}: {reason}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
        let plan = generated::Plan::read(&text).map_err(|error| usage(error.to_string()))?;
        return Ok(Some(vec![plan.case(&name(file))]));
    }
    let Some(count) = args.generate else { return Ok(None) };
    let seeds = (0..count).map(|number| args.seed().wrapping_add(number));
    Ok(Some(seeds.filter_map(|seed| generated::case(&format!("{}/{seed}", generated::GROUP))).collect()))
}

fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let kept = stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    let name: String = kept.take(LONGEST_NAME).collect();
    name.trim_matches('-').to_owned()
}

pub(crate) fn plan(mut targets: Vec<Target>, chosen: Vec<&'static Case>) -> Plan {
    targets.retain(|target| chosen.iter().any(|case| case.is_for(*target)));
    let is_shown = |id: &str| chosen.iter().any(|case| case.clauses.contains(&id));
    let clauses = CLAUSES.iter().filter(|clause| is_shown(clause.id)).copied().collect();
    Plan { targets, chosen, left_out: Vec::new(), share: None, clauses }
}

/// Shrinks every generated workload that failed, and writes the smallest into the report's folder.
pub(crate) async fn shrunk(environment: &Environment, plan: &Plan, report: &Report) {
    for target in &plan.targets {
        let found = report.targets.iter().find(|found| found.title() == runner::title(*target));
        let failed = found.iter().flat_map(|found| &found.cases);
        for result in failed.filter(|result| result.outcome.verdict == Verdict::Fail) {
            let case = plan.chosen.iter().find(|case| case.id == result.id);
            if let Some(workload) = case.and_then(|case| generated::Plan::read(case.manifest).ok()) {
                one(environment, *target, workload, result).await;
            }
        }
    }
}

async fn one(environment: &Environment, target: Target, workload: generated::Plan, result: &CaseResult) {
    let name = result.id.rsplit('/').next().unwrap_or_default();
    output::say(&format!("shrinking {} on {target}", result.id));
    let found = shrink::shrink(environment, target, name, workload, result).await;
    let file = environment.settings.out.join(format!("generated-{}-{name}.yaml", target.slug()));
    let text = found.plan.text();
    output::data(&format!("# {} on {target}, shrunk in {} tries:\n{text}", result.id, found.tries));
    match std::fs::write(&file, text) {
        Ok(()) => output::say(&format!(
            "wrote {file}; run it again: grove-conformance run --generated '{file}' {}",
            target.words(),
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
    fn a_file_names_its_case(#[case] file: &str, #[case] wanted: &str) {
        assert_eq!(name(Path::new(file)), wanted);
    }
}
