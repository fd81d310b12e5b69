//! Failures that a maintainer accepts until a certain version of the operator, as known deviations.

use conformance_contract::verdict::Verdict;
use serde::Deserialize;

use super::{CaseResult, Judgement, Report, TargetReport, precondition};

/// A file of accepted deviations.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedDeviations {
    /// The accepted deviations.
    pub deviations: Vec<AcceptedDeviation>,
}

/// Every field is required: an entry that named only a clause would hide all violations of the clause.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedDeviation {
    /// Id of the clause.
    pub clause: String,
    /// Id of the case that shows the failure.
    pub case: String,
    /// Code of the violations, such as `AON-02/bound-in-part`, or only the part after the slash.
    pub code: String,
    /// Why the failure is accepted.
    pub reason: String,
    /// The issue that tracks the failure.
    pub issue: String,
    /// Operator version from which the failure is no longer accepted.
    pub until: String,
}

impl AcceptedDeviation {
    fn matches(&self, case: &str, judgement: &Judgement) -> bool {
        judgement.outcome.verdict == Verdict::Fail
            && (self.clause.as_str(), self.case.as_str()) == (judgement.clause.as_str(), case)
            && !judgement.violations.is_empty()
            && judgement.violations.iter().all(|violation| {
                [violation.code.as_str(), violation.code.word()].contains(&self.code.as_str())
            })
    }
}

impl Report {
    /// Turns accepted failures into known deviations. A clause that only accepted failures left undecided
    /// becomes *announced*. Also returns the entries that did not occur or have expired.
    #[must_use]
    pub fn accepting(mut self, accepted: &AcceptedDeviations) -> (Self, Vec<AcceptedDeviation>) {
        let version = self.operator.version.clone();
        let (valid, mut unused): (Vec<_>, Vec<_>) =
            accepted.deviations.iter().cloned().partition(|deviation| deviation.until != version);
        let mut occurred = vec![false; valid.len()];
        for target in &mut self.targets {
            let cases = target.cases.iter().map(|case| {
                let mut case = target.with_violations(case);
                let id = case.id.clone();
                let mut known: Vec<&str> = Vec::new();
                for judgement in &mut case.clauses {
                    let Some(found) = valid.iter().position(|deviation| deviation.matches(&id, judgement))
                    else {
                        continue;
                    };
                    occurred[found] = true;
                    let AcceptedDeviation { clause, reason, issue, until, .. } = &valid[found];
                    known.push(clause);
                    let reason = format!("accepted until {until}: {reason} ({issue})");
                    judgement.outcome = judgement.outcome.clone().of_known_deviation(&reason, false);
                }
                announce(&mut case.clauses, &known);
                case.outcome = CaseResult::outcome_of(&case.clauses);
                case
            });
            let cases = cases.collect();
            *target = TargetReport::reconclude(target.clone(), cases);
        }
        let missed = valid.into_iter().zip(occurred).filter(|(_, occurred)| !occurred);
        unused.extend(missed.map(|(deviation, _)| deviation));
        (self, unused)
    }
}

fn announce(judgements: &mut [Judgement], violated: &[&str]) {
    for judgement in judgements.iter_mut().filter(|found| found.outcome.verdict == Verdict::NotRun) {
        let reasons = &judgement.outcome.reasons;
        let is_known = |reason: &String| violated.iter().any(|clause| precondition::names(reason, clause));
        judgement.outcome.announced |= !reasons.is_empty() && reasons.iter().all(is_known);
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Outcome;

    use super::*;
    use crate::{Exit, fixture, verify};

    fn accepted(code: &str, until: &str) -> AcceptedDeviations {
        let text = format!(
            "deviations: [{{clause: AON-02, case: aon/one-pod-short, code: {code}, reason: it is slow, issue: \
             'https://example.org/1', until: {until}}}]"
        );
        serde_yaml::from_str(&text).unwrap()
    }

    fn verdict(report: &Report) -> Verdict {
        let clause = report.targets[0].clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
        clause.outcome.verdict
    }

    #[rstest::rstest]
    #[case::qualified("AON-02/bound-in-part")]
    #[case::word("bound-in-part")]
    fn an_accepted_failure_becomes_a_known_deviation_and_the_report_verifies(#[case] code: &str) {
        let before = fixture::report();
        assert_eq!((verdict(&before), before.exit()), (Verdict::Fail, Exit::NotConformant));
        let (report, unused) = before.accepting(&accepted(code, "0.2.0"));
        assert_eq!((verdict(&report), unused.len()), (Verdict::KnownDeviation, 0));
        assert_eq!(verify(&report), Ok(()));
    }

    #[rstest::rstest]
    #[case::of_the_accepted_clause(&["precondition failed, AON-02 is violated: bound"], true)]
    #[case::of_another_clause(&["precondition failed, AON-02 is violated: bound", "precondition failed, AON-01 is violated: x"], false)]
    #[case::of_a_similar_id(&["precondition failed, AON-021 is violated: bound"], false)]
    fn a_clause_is_announced_if_only_accepted_failures_left_it_undecided(
        #[case] reasons: &[&str],
        #[case] announced: bool,
    ) {
        let mut before = fixture::report();
        let target = &before.targets[0];
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        let undecided = Judgement {
            clause: "DEL-07".to_owned(),
            outcome: Outcome::of(Verdict::NotRun, reasons),
            violations: Vec::new(),
        };
        let cases = target.cases.iter().map(|case| {
            let mut case = target.with_violations(case);
            if case.id == "aon/one-pod-short" {
                case.clauses.push(undecided.clone());
            }
            case.outcome = CaseResult::outcome_of(&case.clauses);
            case
        });
        let cases = cases.collect();
        before.targets[0] = target.clone().reconclude(cases);
        let (report, _) = before.accepting(&accepted("bound-in-part", "0.2.0"));
        let clause = report.targets[0].clauses.iter().find(|clause| clause.id == "DEL-07").unwrap();
        assert_eq!((clause.outcome.verdict, clause.outcome.announced), (Verdict::NotRun, announced));
        assert_eq!(verify(&report), Ok(()));
    }

    #[test]
    fn an_entry_with_another_code_or_a_reached_version_accepts_nothing() {
        for file in [
            accepted("something-else", "0.2.0"),
            accepted("AON-03/bound-in-part", "0.2.0"),
            accepted("bound-in-part", "0.1.0"),
        ] {
            let (report, unused) = fixture::report().accepting(&file);
            assert_eq!((verdict(&report), unused.len()), (Verdict::Fail, 1));
        }
    }

    #[test]
    fn an_entry_without_a_case_is_refused() {
        let refused = serde_yaml::from_str::<AcceptedDeviations>("deviations: [{clause: AON-02}]");
        assert!(refused.unwrap_err().to_string().contains("case"));
    }
}
