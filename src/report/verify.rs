//! Checks whether a document follows from its cases: a report is evidence only if no verdict was changed by
//! hand. Everything that follows from the cases is derived again and compared, and texts of clauses with a
//! contract of the same version. Only `replay` checks the judgements of cases, from the recorded history.

use std::collections::BTreeSet;

use conformance_contract::clauses::{VERSION, clause};
use conformance_contract::verdict::Verdict;

use super::{CaseResult, ClauseResult, Report, TargetReport, summarize};

/// The document does not follow from its own cases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the report contradicts itself:{}", indented(.0))]
pub struct HandEdited(pub Vec<Discrepancy>);

fn indented(discrepancies: &[Discrepancy]) -> String {
    discrepancies.iter().map(|discrepancy| format!("\n  {discrepancy}")).collect()
}

/// An inconsistency in a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{target}: {what}")]
pub struct Discrepancy {
    /// The target's title.
    pub target: String,
    /// The value in the report, and the value computed from the cases.
    pub what: String,
}

/// Recomputes clauses and summaries from the cases. The error lists every difference.
pub fn verify(report: &Report) -> Result<(), HandEdited> {
    let same_contract = report.suite.contract.as_deref() == Some(VERSION);
    let mut discrepancies: Vec<Discrepancy> = report
        .targets
        .iter()
        .flat_map(|target| {
            let what = discrepancies_of(target, same_contract).into_iter();
            what.map(|what| Discrepancy { target: target.title(), what })
        })
        .collect();
    if let Some((target, _)) = report.interrupted().first().filter(|_| !report.incomplete) {
        let what = "cases were interrupted, but the report is not marked as incomplete".to_owned();
        discrepancies.push(Discrepancy { target: target.title(), what });
    }
    if discrepancies.is_empty() { Ok(()) } else { Err(HandEdited(discrepancies)) }
}

fn discrepancies_of(target: &TargetReport, same_contract: bool) -> Vec<String> {
    let mut found = duplicates("clause", target.clauses.iter().map(|clause| clause.id.clone()));
    found.extend(duplicates("case", target.cases.iter().map(CaseResult::label)));
    found.extend(target.cases.iter().flat_map(|case| case_discrepancies(target, case)));
    for clause in &target.clauses {
        found.extend(clause_discrepancy(target, clause));
        found.extend(foreign_codes(clause));
        if same_contract {
            found.extend(contract_discrepancy(target, clause));
        }
    }
    // The contract defines which clauses show a feature.
    if same_contract && target.features.evidence != target.evidence() {
        found.push("features: the evidence does not follow from the cases".to_owned());
    }
    if target.summary != summarize(&target.clauses) {
        found.push("the summary does not match the verdicts of the clauses".to_owned());
    }
    found
}

fn duplicates(what: &str, ids: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| !seen.insert(id.clone())).map(|id| format!("{what} {id} is listed twice")).collect()
}

fn foreign_codes(clause: &ClauseResult) -> Vec<String> {
    let foreign = clause.violations.iter().filter(|of| of.code != of.code.of_clause(&clause.id));
    foreign.map(|of| format!("clause {} has a violation with the code {}", clause.id, of.code)).collect()
}

fn case_discrepancies(target: &TargetReport, case: &CaseResult) -> Vec<String> {
    let mut found = Vec::new();
    let follows = CaseResult::outcome_of(&case.clauses);
    if case.outcome != follows {
        let (written, follows) = (case.outcome.word(), follows.word());
        found.push(format!(
            "case {} has the verdict {written}, but its clauses result in {follows}",
            case.label()
        ));
    }
    for judgement in &case.clauses {
        if !target.clauses.iter().any(|clause| clause.id == judgement.clause) {
            found.push(format!("case {} judges {}, which is not listed", case.label(), judgement.clause));
        }
        if judgement.outcome.verdict != Verdict::Pass && judgement.outcome.reasons.is_empty() {
            let (label, verdict) = (case.label(), judgement.outcome.verdict);
            found.push(format!(
                "case {label} has the verdict {verdict} for {} without a reason",
                judgement.clause
            ));
        }
    }
    found
}

fn clause_discrepancy(target: &TargetReport, clause: &ClauseResult) -> Option<String> {
    let follows = clause.decided_by(&target.features, &target.cases);
    let missing = clause.feature.and_then(|feature| target.features.missing(feature));
    if clause.outcome != follows.outcome {
        let (written, follows) = (clause.outcome.word(), follows.outcome.word());
        Some(format!("clause {} has the verdict {written}, but its cases result in {follows}", clause.id))
    } else if *clause != follows {
        Some(format!(
            "cases, duration, reproduce or artifacts of clause {} do not follow from its cases",
            clause.id
        ))
    } else if let (Verdict::Pass, Some(reason)) = (clause.outcome.verdict, missing) {
        Some(format!("clause {} passes without its feature: {reason}", clause.id))
    } else {
        None
    }
}

impl ClauseResult {
    fn has_same_text(&self, other: &Self) -> bool {
        let Self { title, requirement, level, feature, judged_on, class, sources, .. } = self;
        (title, requirement, sources) == (&other.title, &other.requirement, &other.sources)
            && (level, feature, judged_on, class)
                == (&other.level, &other.feature, &other.judged_on, &other.class)
    }
}

fn contract_discrepancy(target: &TargetReport, written: &ClauseResult) -> Option<String> {
    match clause(&written.id) {
        Some(clause) if !written.has_same_text(&ClauseResult::unchecked(clause)) => {
            Some(format!("clause {} differs from the contract", written.id))
        }
        Some(clause) if !clause.applies_to_backend(&target.backend) => {
            Some(format!("clause {} is about another backend", written.id))
        }
        Some(_) => None,
        None => Some(format!("clause {} is not in the contract", written.id)),
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::{Class, Level};
    use conformance_contract::verdict::Outcome;

    use super::*;
    use crate::fixture;

    fn clause_mut<'a>(report: &'a mut Report, id: &str) -> &'a mut ClauseResult {
        report.targets[0].clauses.iter_mut().find(|clause| clause.id == id).unwrap()
    }

    fn case_mut<'a>(report: &'a mut Report, id: &str) -> &'a mut CaseResult {
        report.targets[0].cases.iter_mut().find(|case| case.id == id).unwrap()
    }

    #[test]
    fn an_unedited_report_verifies() {
        assert_eq!(verify(&fixture::report()), Ok(()));
    }

    #[rstest::rstest]
    #[case::summary(
        |report: &mut Report| report.targets[0].summary.core.fail = 0,
        "the summary does not match"
    )]
    #[case::clause(
        |report: &mut Report| clause_mut(report, "AON-02").outcome = Outcome::pass(),
        "clause AON-02 has the verdict pass, but its cases result in fail"
    )]
    #[case::case_verdict(
        |report: &mut Report| case_mut(report, "aon/one-pod-short").outcome = Outcome::pass(),
        "case aon/one-pod-short has the verdict pass, but its clauses result in fail"
    )]
    #[case::announced(
        |report: &mut Report| clause_mut(report, "DEL-07").outcome.announced = true,
        "clause DEL-07 has the verdict not-run (announced), but its cases result in not-run"
    )]
    #[case::case_removed(
        |report: &mut Report| report.targets[0].cases.retain(|case| case.id != "aon/one-pod-short"),
        "clause AON-02 has the verdict fail, but its cases result in not-run"
    )]
    #[case::clause_removed(
        |report: &mut Report| report.targets[0].clauses.retain(|clause| clause.id != "AON-02"),
        "case aon/one-pod-short judges AON-02, which is not listed"
    )]
    #[case::case_twice(
        |report: &mut Report| {
            let case = case_mut(report, "aon/fits").clone();
            report.targets[0].cases.push(case);
        },
        "case aon/fits is listed twice"
    )]
    #[case::lower_level(
        |report: &mut Report| clause_mut(report, "AON-02").level = Level::Recommended,
        "clause AON-02 differs from the contract"
    )]
    #[case::other_text(
        |report: &mut Report| clause_mut(report, "AON-02").requirement = "Mostly".to_owned(),
        "clause AON-02 differs from the contract"
    )]
    #[case::other_class(
        |report: &mut Report| clause_mut(report, "AON-02").class = Class::BackendSpecific,
        "clause AON-02 differs from the contract"
    )]
    #[case::code_of_another_clause(
        |report: &mut Report| {
            let violation = &mut clause_mut(report, "AON-02").violations[0];
            violation.code = violation.code.of_clause("AON-03");
        },
        "clause AON-02 has a violation with the code AON-03/bound-in-part"
    )]
    #[case::other_backend(
        |report: &mut Report| report.targets[0].backend = "volcano".to_owned(),
        "clause KUBE-01 is about another backend"
    )]
    #[case::unknown_clause(
        |report: &mut Report| clause_mut(report, "AON-02").id = "AON-99".to_owned(),
        "clause AON-99 is not in the contract"
    )]
    #[case::no_reason(
        |report: &mut Report| case_mut(report, "aon/one-pod-short").clauses[0].outcome.reasons = Vec::new(),
        "case aon/one-pod-short has the verdict fail for AON-02 without a reason"
    )]
    #[case::no_feature(
        |report: &mut Report| report.targets[0].features.supported.clear(),
        "clause TOPO-01 passes without its feature: TopologyRequired is not declared"
    )]
    #[case::other_folder(
        |report: &mut Report| clause_mut(report, "AON-02").artifacts = None,
        "cases, duration, reproduce or artifacts of clause AON-02 do not follow from its cases"
    )]
    fn every_edit_by_hand_is_found(#[case] edit: fn(&mut Report), #[case] message: &str) {
        let mut report = fixture::report();
        edit(&mut report);
        let found = verify(&report).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn an_interrupted_report_must_be_marked_incomplete() {
        let mut report = fixture::interrupted();
        assert_eq!(verify(&report), Ok(()));
        report.incomplete = false;
        let found = verify(&report).unwrap_err().to_string();
        assert!(found.contains("is not marked as incomplete"), "{found}");
    }

    #[test]
    fn a_report_of_another_contract_version_is_not_compared_with_the_contract() {
        let mut report = fixture::report();
        clause_mut(&mut report, "AON-02").requirement = "as it read then".to_owned();
        report.suite.contract = Some("0.0.1".to_owned());
        assert_eq!(verify(&report), Ok(()));
    }
}
