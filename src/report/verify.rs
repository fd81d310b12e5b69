//! Whether a document is consistent with its cases.
//!
//! A report is evidence only if nobody changed a verdict by hand. Everything that follows from the cases is
//! recomputed and compared; the contract's text is compared with the clause table if the document was written by
//! this version of the suite. What cannot be recomputed (a case's own judgements) is what `replay` judges again
//! from the recorded history.

use std::collections::BTreeSet;

use conformance_contract::clauses::{VERSION, clause};
use conformance_contract::verdict::Verdict;

use super::conclude::source_of;
use super::owed::Owed;
use super::{CaseResult, ClauseResult, ProfileReport, Report, summarize};

/// The document does not follow from its own cases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the report does not agree with itself:{}", indented(.0))]
pub struct HandEdited(pub Vec<Discrepancy>);

fn indented(discrepancies: &[Discrepancy]) -> String {
    discrepancies.iter().map(|discrepancy| format!("\n  {discrepancy}")).collect()
}

/// One place where a document does not agree with itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{profile}: {what}")]
pub struct Discrepancy {
    /// The profile's title.
    pub profile: String,
    /// What is written, and what follows from the cases.
    pub what: String,
}

/// Recomputes clauses and summaries from the cases.
///
/// # Errors
/// [`HandEdited`] with everything that differs.
pub fn verify(report: &Report) -> Result<(), HandEdited> {
    let same_contract = report.suite.contract.as_deref() == Some(VERSION);
    let mut discrepancies: Vec<Discrepancy> = report
        .profiles
        .iter()
        .flat_map(|profile| {
            let what = contradictions(profile, same_contract).into_iter();
            what.map(|what| Discrepancy { profile: profile.title(), what })
        })
        .collect();
    if let Some((profile, _)) = report.interrupted().first().filter(|_| !report.incomplete) {
        let what = "cases were interrupted, and the report does not say that it is incomplete".to_owned();
        discrepancies.push(Discrepancy { profile: profile.title(), what });
    }
    if discrepancies.is_empty() { Ok(()) } else { Err(HandEdited(discrepancies)) }
}

fn contradictions(profile: &ProfileReport, same_contract: bool) -> Vec<String> {
    let mut found = duplicates("clause", profile.clauses.iter().map(|clause| &clause.id));
    found.extend(duplicates("case", profile.cases.iter().map(|case| &case.id)));
    found.extend(profile.cases.iter().flat_map(|case| case_contradictions(profile, case)));
    for clause in &profile.clauses {
        found.extend(clause_contradiction(profile, clause));
        if same_contract {
            found.extend(contract_contradiction(profile, clause));
        }
    }
    // A report of before there was evidence has none.
    if !profile.features.evidence.is_empty() && profile.features.evidence != profile.evidence() {
        found.push("features: the evidence does not follow from the cases".to_owned());
    }
    if profile.summary != summarize(&profile.clauses) {
        found.push("summary does not count the clauses".to_owned());
    }
    found
}

fn duplicates<'a>(what: &str, ids: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| !seen.insert(*id)).map(|id| format!("{what} {id} is listed twice")).collect()
}

fn case_contradictions(profile: &ProfileReport, case: &CaseResult) -> Vec<String> {
    let mut found = Vec::new();
    let follows = CaseResult::judged(&case.clauses);
    if case.outcome != follows {
        let (written, follows) = (case.outcome.word(), follows.word());
        found.push(format!("case {} says {written}, its clauses say {follows}", case.id));
    }
    for judgement in &case.clauses {
        if !profile.clauses.iter().any(|clause| clause.id == judgement.clause) {
            found.push(format!("case {} judges {}, which is not listed", case.id, judgement.clause));
        }
        if judgement.outcome.verdict != Verdict::Pass && judgement.outcome.reasons.is_empty() {
            let verdict = judgement.outcome.verdict;
            found.push(format!("case {} says {verdict} of {} without a reason", case.id, judgement.clause));
        }
    }
    found
}

fn clause_contradiction(profile: &ProfileReport, clause: &ClauseResult) -> Option<String> {
    let follows = clause.judged_by(&profile.features, &profile.cases);
    let missing = clause.level.feature().and_then(|feature| profile.features.missing(feature));
    if clause.outcome != follows.outcome {
        let (written, follows) = (clause.outcome.word(), follows.outcome.word());
        Some(format!("clause {} says {written}, its cases say {follows}", clause.id))
    } else if *clause != follows {
        Some(format!("clause {} has cases, duration, reproduce or artifacts of its own", clause.id))
    } else if let (Verdict::Pass, Some(reason)) = (clause.outcome.verdict, missing) {
        Some(format!("clause {} passes without its feature: {reason}", clause.id))
    } else {
        None
    }
}

fn contract_contradiction(profile: &ProfileReport, written: &ClauseResult) -> Option<String> {
    let promised =
        (written.tier, written.level, written.class, written.source.as_str(), written.text.as_str());
    match clause(&written.id) {
        Some(clause)
            if promised
                != (
                    clause.tier,
                    Owed::of(clause),
                    clause.class(),
                    source_of(clause).as_str(),
                    clause.requirement,
                ) =>
        {
            Some(format!("clause {} does not read as in the contract", written.id))
        }
        Some(clause) if !clause.is_owed_by(&profile.backend) => {
            Some(format!("clause {} is about another backend", written.id))
        }
        Some(_) => None,
        None => Some(format!("clause {} is not in the contract", written.id)),
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::Class;
    use conformance_contract::verdict::Outcome;
    use rstest::rstest;

    use super::*;
    use crate::fixture;

    fn clause_mut<'a>(report: &'a mut Report, id: &str) -> &'a mut ClauseResult {
        report.profiles[0].clauses.iter_mut().find(|clause| clause.id == id).unwrap()
    }

    fn case_mut<'a>(report: &'a mut Report, id: &str) -> &'a mut CaseResult {
        report.profiles[0].cases.iter_mut().find(|case| case.id == id).unwrap()
    }

    #[test]
    fn a_report_as_concluded_verifies() {
        assert_eq!(verify(&fixture::report()), Ok(()));
    }

    #[rstest]
    #[case::summary(|report: &mut Report| report.profiles[0].summary.core.fail = 0, "summary does not count")]
    #[case::clause(
        |report: &mut Report| clause_mut(report, "AON-02").outcome = Outcome::pass(),
        "clause AON-02 says pass, its cases say fail"
    )]
    #[case::case_verdict(
        |report: &mut Report| case_mut(report, "aon/one-pod-short").outcome = Outcome::pass(),
        "case aon/one-pod-short says pass, its clauses say fail"
    )]
    #[case::announced(
        |report: &mut Report| clause_mut(report, "DEL-07").outcome.announced = true,
        "clause DEL-07 says not-run (announced), its cases say not-run"
    )]
    #[case::case_removed(
        |report: &mut Report| report.profiles[0].cases.retain(|case| case.id != "aon/one-pod-short"),
        "clause AON-02 says fail, its cases say not-run"
    )]
    #[case::clause_removed(
        |report: &mut Report| report.profiles[0].clauses.retain(|clause| clause.id != "AON-02"),
        "case aon/one-pod-short judges AON-02, which is not listed"
    )]
    #[case::case_twice(
        |report: &mut Report| {
            let case = case_mut(report, "aon/fits").clone();
            report.profiles[0].cases.push(case);
        },
        "case aon/fits is listed twice"
    )]
    #[case::moved_to_own(
        |report: &mut Report| clause_mut(report, "AON-02").source = "OWN".to_owned(),
        "clause AON-02 does not read as in the contract"
    )]
    #[case::softer_words(
        |report: &mut Report| clause_mut(report, "AON-02").text = "Mostly".to_owned(),
        "clause AON-02 does not read as in the contract"
    )]
    #[case::other_class(
        |report: &mut Report| clause_mut(report, "AON-02").class = Class::BackendSpecific,
        "clause AON-02 does not read as in the contract"
    )]
    #[case::other_backend(
        |report: &mut Report| report.profiles[0].backend = "volcano".to_owned(),
        "clause KUBE-01 is about another backend"
    )]
    #[case::invented(
        |report: &mut Report| clause_mut(report, "AON-02").id = "AON-99".to_owned(),
        "clause AON-99 is not in the contract"
    )]
    #[case::no_reason(
        |report: &mut Report| case_mut(report, "aon/one-pod-short").clauses[0].outcome.reasons = Vec::new(),
        "case aon/one-pod-short says fail of AON-02 without a reason"
    )]
    #[case::no_feature(
        |report: &mut Report| report.profiles[0].features.supported.clear(),
        "clause TOPO-01 passes without its feature: TopologyRequired is not declared"
    )]
    #[case::other_folder(
        |report: &mut Report| clause_mut(report, "AON-02").artifacts = None,
        "clause AON-02 has cases, duration, reproduce or artifacts of its own"
    )]
    fn hand_edits_are_found(#[case] edit: fn(&mut Report), #[case] message: &str) {
        let mut report = fixture::report();
        edit(&mut report);
        let found = verify(&report).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }

    #[test]
    fn an_interrupted_report_is_not_made_complete_by_hand() {
        let mut report = fixture::interrupted();
        assert_eq!(verify(&report), Ok(()));
        report.incomplete = false;
        let found = verify(&report).unwrap_err().to_string();
        assert!(found.contains("does not say that it is incomplete"), "{found}");
    }

    #[test]
    fn the_contract_of_another_version_is_not_held_against_a_report() {
        let mut report = fixture::report();
        clause_mut(&mut report, "AON-02").text = "as it read then".to_owned();
        report.suite.contract = Some("0.0.1".to_owned());
        assert_eq!(verify(&report), Ok(()));
    }
}
