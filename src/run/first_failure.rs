use std::sync::atomic::{AtomicBool, Ordering};

use conformance_contract::clauses::{Level, clause};
use conformance_contract::verdict::Verdict;
use conformance_report::CaseResult;

/// Shared by all control planes of a run.
#[derive(Debug, Default)]
pub struct FirstFailure(AtomicBool);

impl FirstFailure {
    pub fn has_occurred(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// In a strict run, a violated recommendation is a failure too.
    pub(crate) fn is_failure(result: &CaseResult, strict: bool) -> bool {
        let counts = |id: &str| strict || clause(id).is_none_or(|clause| clause.level == Level::Required);
        let mut clauses = result.clauses.iter();
        clauses.any(|found| found.outcome.verdict == Verdict::Fail && counts(&found.clause))
    }

    pub(crate) fn record(&self, result: &CaseResult, strict: bool) {
        if Self::is_failure(result, strict) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::CLAUSES;
    use conformance_contract::verdict::Outcome;
    use conformance_report::Judgement;

    use super::*;

    fn is_failure(level: Level, outcome: Outcome, strict: bool) -> bool {
        let clause = CLAUSES.iter().find(|clause| clause.level == level).unwrap().id.to_owned();
        let judgement = Judgement { clause, outcome, violations: Vec::new() };
        let first = FirstFailure::default();
        first.record(&CaseResult::new("aon/x", "t", vec![judgement]), strict);
        first.has_occurred()
    }

    #[rstest::rstest]
    #[case::required(Level::Required, Outcome::fail("bound"), false, true)]
    #[case::recommended(Level::Recommended, Outcome::fail("bound"), false, false)]
    #[case::recommended_and_strict(Level::Recommended, Outcome::fail("bound"), true, true)]
    #[case::error(Level::Required, Outcome::error("gap"), false, false)]
    #[case::pass(Level::Required, Outcome::pass(), false, false)]
    fn only_a_failed_clause_that_counts_is_a_failure(
        #[case] level: Level,
        #[case] outcome: Outcome,
        #[case] strict: bool,
        #[case] expected: bool,
    ) {
        assert_eq!(is_failure(level, outcome, strict), expected);
    }
}
