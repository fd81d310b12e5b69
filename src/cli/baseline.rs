//! `run --baseline REPORT`: compares the run with an earlier one.

use std::path::Path;

use conformance_contract::clauses::VERSION;
use conformance_contract::target::Target;
use conformance_report::{ChangeKind, Exit, Report, compare};

use super::report::opened;
use super::request::Request;
use super::{Failure, output};

/// Rejects a baseline that differs from this run in contract version, seed, provider or declaration.
pub(crate) fn check(request: &Request, targets: &[Target]) -> Result<(), Failure> {
    let Some(file) = &request.output.baseline else { return Ok(()) };
    let (seed, provider) = (request.execution.seed(), request.cluster.provider.word());
    let (baseline, _) = opened(file)?;
    let old_seed = baseline.settings.seed.map_or_else(|| "unknown".to_owned(), |seed| seed.to_string());
    let contract = baseline.suite.contract.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut facts = vec![
        ("contract version".to_owned(), contract, VERSION.to_owned()),
        ("seed".to_owned(), old_seed, seed.to_string()),
        ("provider".to_owned(), baseline.provider.name.clone(), provider.to_owned()),
    ];
    for target in targets {
        let known = baseline.targets.iter().find(|known| known.title() == target.to_string());
        if let Some(known) = known {
            let features = (names(&known.features.supported), names(target.features()));
            facts.push((format!("features declared on {target}"), features.0, features.1));
        }
    }
    let differing = facts.into_iter().filter(|(_, old, new)| old != new);
    let differences: Vec<_> = differing
        .map(|(what, old, new)| format!("{what}: {old} in the baseline, {new} in this run"))
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--baseline {}: cannot be compared with this run: {}",
        file.display(),
        differences.join("; ")
    )))
}

fn names(features: &[conformance_contract::clauses::Feature]) -> String {
    let mut names: Vec<_> = features.iter().map(|feature| feature.name()).collect();
    names.sort_unstable();
    names.join(", ")
}

/// Compares the run with the baseline and prints each changed clause. A clause also got worse if only the
/// baseline decided it, or if only this run decided it and it fails.
pub(crate) fn compare_with(file: &Path, report: &Report) -> Result<Exit, Failure> {
    let (baseline, _) = opened(file)?;
    let comparison = compare(&baseline, report);
    let mut worse = 0;
    for changed in &comparison.clauses {
        let word = match changed.kind {
            ChangeKind::Regression
            | ChangeKind::NewlyBroken
            | ChangeKind::Undecided
            | ChangeKind::LeftOut
            | ChangeKind::Withdrawn => {
                worse += 1;
                "worse"
            }
            ChangeKind::Fixed | ChangeKind::DeviationEnded | ChangeKind::New => "improved",
            ChangeKind::DeviationStarted | ChangeKind::BrokenDifferently => continue,
        };
        let verdict = |clause: Option<&conformance_report::ClauseResult>| {
            clause.map_or("missing", |clause| clause.outcome.verdict.as_str())
        };
        let (id, old, new) = (changed.id, verdict(changed.old), verdict(changed.new));
        output::data(&format!("{word}: {id} on {}: {old}, now {new}", changed.target));
    }
    output::data(&format!("clauses that are worse than in {}: {worse}", file.display()));
    Ok(match (report.incomplete, worse) {
        (true, _) => Exit::Inconclusive,
        (false, 0) => Exit::Conformant,
        (false, _) => Exit::NotConformant,
    })
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::{CLAUSES, Feature};
    use conformance_report::{CaseResult, Features, Judgement, Outcome, TargetReport, testing};

    use super::*;

    fn found(outcome: Outcome) -> Report {
        let judgement = Judgement { clause: "AON-02".into(), outcome, violations: Vec::new() };
        let case = CaseResult::new("aon/one-pod-short", "", vec![judgement]);
        let features = Features { supported: vec![Feature::GangScheduling], ..Features::default() };
        let target = TargetReport::new("volcano", None, "v1.15.1", features);
        testing::report(vec![target.conclude(CLAUSES.iter(), vec![case])])
    }

    #[rstest::rstest]
    #[case::passes_as_before(Outcome::pass(), Outcome::pass(), 0)]
    #[case::fails_as_before(Outcome::fail("bound"), Outcome::fail("bound"), 0)]
    #[case::passes_again(Outcome::fail("bound"), Outcome::pass(), 0)]
    #[case::fails_now(Outcome::pass(), Outcome::fail("bound"), 1)]
    #[case::fails_and_was_not_run(Outcome::not_run_announced("left out"), Outcome::fail("bound"), 1)]
    #[case::no_longer_run(Outcome::pass(), Outcome::not_run_announced("left out"), 1)]
    #[case::undecided(Outcome::fail("bound"), Outcome::error("gap"), 1)]
    fn the_exit_code_is_1_if_a_clause_got_worse(
        #[case] old: Outcome,
        #[case] new: Outcome,
        #[case] code: u8,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        std::fs::write(&file, serde_json::to_string(&found(old)).unwrap()).unwrap();
        assert_eq!(compare_with(&file, &found(new)).unwrap().code(), code);
    }
}
