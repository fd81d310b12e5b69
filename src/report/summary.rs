//! Counts clauses by verdict, for each level, source and class. Pure, so that `verify` can count again.

use std::fmt;
use std::ops::Add;

use conformance_contract::clauses::Class;
use conformance_contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClauseResult;

/// Counts of clauses: by level, by source, and by the classes of Grove's proposal 592 for suites that run on
/// several backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Required clauses without a feature, or of gang scheduling.
    pub core: Counts,
    /// Required clauses of other features.
    pub extended: Counts,
    /// All required clauses, core and extended. Their sources are outside this suite.
    pub required: Counts,
    /// Recommended clauses, which only this suite asks for.
    pub recommended: Counts,
    /// Clauses that depend only on the operator.
    pub agnostic: Counts,
    /// Clauses that depend on the scheduler's behavior.
    pub sensitive: Counts,
    /// Clauses of a feature that any backend may declare.
    pub capability_bound: Counts,
    /// Clauses about the backend's own resources, which no other backend has.
    pub backend_specific: Counts,
}

/// Number of clauses by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Clauses that hold.
    pub pass: usize,
    /// Clauses that are violated.
    pub fail: usize,
    /// Clauses that are violated as documented.
    pub known_deviation: usize,
    /// Clauses of features that are not declared.
    pub unsupported: usize,
    /// Clauses that no case checked.
    pub not_run: usize,
    /// Clauses that could not be decided.
    pub error: usize,
    /// Clauses that passed only on a retry.
    pub flaky: usize,
}

/// Counts the clauses by verdict: by level, by source and by class.
pub fn summarize(clauses: &[ClauseResult]) -> Summary {
    let mut summary = Summary::default();
    for clause in clauses {
        if clause.is_recommended() {
            summary.recommended.count(clause.outcome.verdict);
        } else {
            let by_feature = if clause.is_core() { &mut summary.core } else { &mut summary.extended };
            by_feature.count(clause.outcome.verdict);
            summary.required.count(clause.outcome.verdict);
        }
        let by_class = match clause.class {
            Class::Agnostic => &mut summary.agnostic,
            Class::Sensitive => &mut summary.sensitive,
            Class::CapabilityBound => &mut summary.capability_bound,
            Class::BackendSpecific => &mut summary.backend_specific,
        };
        by_class.count(clause.outcome.verdict);
    }
    summary
}

type CountOf = fn(&Summary) -> Counts;

impl Summary {
    /// In the order of the renderings.
    pub(super) const COUNTS: [(&str, CountOf); 8] = [
        ("core", |summary| summary.core),
        ("extended", |summary| summary.extended),
        ("required", |summary| summary.required),
        ("recommended", |summary| summary.recommended),
        ("agnostic", |summary| summary.agnostic),
        ("sensitive", |summary| summary.sensitive),
        ("capability-bound", |summary| summary.capability_bound),
        ("backend-specific", |summary| summary.backend_specific),
    ];

    /// The counts of all clauses.
    pub fn all(&self) -> Counts {
        self.required + self.recommended
    }
}

impl Counts {
    /// Number of all clauses.
    pub fn total(self) -> usize {
        Verdict::ALL.into_iter().map(|verdict| self.of(verdict)).sum()
    }

    /// The passed clauses of the applicable ones, such as `40/41`. Unsupported clauses do not apply. `-` if
    /// no clause applies.
    pub(super) fn passed_of_applicable(self) -> String {
        match self.total() - self.unsupported {
            0 => "-".to_owned(),
            applicable => format!("{}/{applicable}", self.pass),
        }
    }

    fn count(&mut self, verdict: Verdict) {
        *self.count_of(verdict) += 1;
    }

    /// Number of clauses with the verdict.
    pub fn of(mut self, verdict: Verdict) -> usize {
        *self.count_of(verdict)
    }

    fn count_of(&mut self, verdict: Verdict) -> &mut usize {
        match verdict {
            Verdict::Pass => &mut self.pass,
            Verdict::Fail => &mut self.fail,
            Verdict::KnownDeviation => &mut self.known_deviation,
            Verdict::Unsupported => &mut self.unsupported,
            Verdict::NotRun => &mut self.not_run,
            Verdict::Error => &mut self.error,
            Verdict::Flaky => &mut self.flaky,
        }
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(mut self, other: Counts) -> Counts {
        for verdict in Verdict::ALL {
            *self.count_of(verdict) += other.of(verdict);
        }
        self
    }
}

/// Such as `40 pass, 1 fail, 2 not-run`, without verdicts that do not occur.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = Verdict::ALL.map(|verdict| (self.of(verdict), verdict)).into_iter();
        let words: Vec<String> = counts
            .filter(|(count, _)| *count > 0)
            .map(|(count, verdict)| format!("{count} {verdict}"))
            .collect();
        f.pad(&if words.is_empty() { "none".to_owned() } else { words.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::clauses::clause;
    use conformance_contract::verdict::Outcome;

    use crate::{CaseResult, Features, Judgement, TargetReport};

    fn judgement(clause: &str, outcome: Outcome) -> Judgement {
        Judgement { clause: clause.to_owned(), outcome, violations: Vec::new() }
    }

    #[test]
    fn a_summary_counts_the_same_clauses_three_times() {
        let contract = ["AON-01", "AON-08", "AON-10", "GANG-12", "KUBE-01"].map(|id| clause(id).unwrap());
        let cases = vec![CaseResult::new(
            "aon/all",
            "",
            vec![
                judgement("AON-01", Outcome::pass()),
                judgement("AON-10", Outcome::fail("blocked")),
                judgement("KUBE-01", Outcome::pass()),
            ],
        )];
        let target = TargetReport::new("default-scheduler", None, "v1.36.4", Features::default());
        let summary = target.conclude(contract, cases).summary;
        assert_eq!(summary.core, Counts { pass: 2, ..Counts::default() });
        assert_eq!(summary.extended, Counts { unsupported: 1, ..Counts::default() });
        assert_eq!(summary.required, Counts { pass: 2, unsupported: 1, ..Counts::default() });
        assert_eq!(summary.recommended, Counts { fail: 1, unsupported: 1, ..Counts::default() });
        assert_eq!(summary.agnostic, Counts::default());
        assert_eq!(summary.sensitive, Counts { pass: 1, fail: 1, ..Counts::default() });
        assert_eq!(summary.capability_bound, Counts { unsupported: 2, ..Counts::default() });
        assert_eq!(summary.backend_specific, Counts { pass: 1, ..Counts::default() });
    }

    #[test]
    fn counts_print_only_verdicts_that_occur() {
        let counts = Counts { pass: 3, flaky: 1, not_run: 2, unsupported: 4, ..Counts::default() };
        assert_eq!(counts.to_string(), "3 pass, 1 flaky, 2 not-run, 4 unsupported");
        assert_eq!(counts.passed_of_applicable(), "3/6");
        assert_eq!(Counts::default().to_string(), "none");
        assert_eq!(Counts { unsupported: 4, ..Counts::default() }.passed_of_applicable(), "-");
    }
}
