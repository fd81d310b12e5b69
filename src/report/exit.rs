//! The exit code of a run, from the outcomes of all clauses.

use std::fmt;

use conformance_contract::verdict::{Outcome, Verdict};

use super::{ClauseResult, FeatureEvidence, Report, Standing, TargetReport};

/// The exit code of a run. If several apply, the last in this order is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: every required clause that was checked holds.
    Conformant,
    /// 3: a clause ended in an error or was not run although it was selected, or the run was interrupted.
    Inconclusive,
    /// 1: a required clause failed or was flaky, a known deviation passed unexpectedly, or a declared feature
    /// was not shown.
    NotConformant,
    /// 2: the command line or a file it names was invalid, and nothing ran. Never follows from outcomes.
    Usage,
}

impl Exit {
    /// The process's exit status.
    pub fn code(self) -> u8 {
        match self {
            Exit::Conformant => 0,
            Exit::NotConformant => 1,
            Exit::Usage => 2,
            Exit::Inconclusive => 3,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Exit::Conformant => "passed",
            Exit::Inconclusive => "inconclusive",
            Exit::NotConformant => "not conformant",
            Exit::Usage => "usage error",
        })
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// The exit code for the outcomes of clauses. Unsupported clauses, known deviations and announced not-run
/// clauses change nothing. A run without outcomes is inconclusive.
pub fn exit_code<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Exit {
    let exit = |outcome: &Outcome| match outcome.verdict {
        Verdict::Fail | Verdict::Flaky => Exit::NotConformant,
        Verdict::Error => Exit::Inconclusive,
        Verdict::NotRun if !outcome.announced => Exit::Inconclusive,
        Verdict::NotRun | Verdict::Pass | Verdict::KnownDeviation | Verdict::Unsupported => Exit::Conformant,
    };
    outcomes.into_iter().map(exit).max().unwrap_or(Exit::Inconclusive)
}

impl Report {
    /// The worst exit code of all targets. An incomplete run is always inconclusive.
    pub fn exit(&self) -> Exit {
        if self.incomplete {
            return Exit::Inconclusive;
        }
        let exits = self.targets.iter().map(|target| target.exit(self.settings.strict));
        exits.max().unwrap_or(Exit::Inconclusive)
    }
}

impl ClauseResult {
    /// The exit code for this clause. A violated recommendation counts only if `strict` is set.
    pub fn exit(&self, strict: bool) -> Exit {
        match exit_code([&self.outcome]) {
            Exit::NotConformant if self.is_recommended() && !strict => Exit::Conformant,
            exit => exit,
        }
    }
}

impl TargetReport {
    pub(super) fn exit(&self, strict: bool) -> Exit {
        let of_clauses =
            self.clauses.iter().map(|clause| clause.exit(strict)).max().unwrap_or(Exit::Inconclusive);
        let is_violated = |id: &String| {
            self.clauses.iter().any(|clause| clause.id == *id && clause.exit(strict) == Exit::NotConformant)
        };
        let is_not_shown = |found: &FeatureEvidence| {
            found.standing == Standing::DeclaredAndNotShown
                && (found.clauses.is_empty() || found.clauses.iter().any(is_violated))
        };
        if self.evidence().iter().any(is_not_shown) {
            of_clauses.max(Exit::NotConformant)
        } else {
            of_clauses
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, verify};

    fn flaky() -> Outcome {
        Outcome { verdict: Verdict::Flaky, announced: false, reasons: vec!["attempt 2 passed".to_owned()] }
    }

    #[rstest::rstest]
    #[case::all_pass(vec![Outcome::pass(), Outcome::pass()], 0)]
    #[case::unsupported(vec![Outcome::pass(), Outcome::unsupported("flat")], 0)]
    #[case::known_deviation(vec![Outcome::fail("").of_known_deviation("flat", true)], 0)]
    #[case::announced(vec![Outcome::pass(), Outcome::not_run_announced("no program")], 0)]
    #[case::fail(vec![Outcome::pass(), Outcome::fail("bound")], 1)]
    #[case::flaky(vec![Outcome::pass(), flaky()], 1)]
    #[case::unexpected_pass(vec![Outcome::pass().of_known_deviation("flat", true)], 1)]
    #[case::fail_beats_error(vec![Outcome::error("gap"), Outcome::fail("bound"), Outcome::not_run("")], 1)]
    #[case::error(vec![Outcome::pass(), Outcome::error("gap")], 3)]
    #[case::not_run(vec![Outcome::pass(), Outcome::not_run("cluster went away")], 3)]
    #[case::error_beats_announced(vec![Outcome::not_run_announced(""), Outcome::error("gap")], 3)]
    #[case::nothing_checked(vec![], 3)]
    fn the_exit_code_follows_from_outcomes(#[case] outcomes: Vec<Outcome>, #[case] code: u8) {
        assert_eq!(exit_code(&outcomes).code(), code);
    }

    #[test]
    fn a_violated_recommendation_counts_only_if_the_run_is_strict() {
        let mut report = fixture::report();
        for clause in report.targets.iter_mut().flat_map(|target| &mut target.clauses) {
            clause.outcome =
                if clause.is_recommended() { Outcome::fail("as you like") } else { Outcome::pass() };
        }
        assert!(
            report.targets[0].clauses.iter().any(ClauseResult::is_recommended),
            "the fixture has a recommendation"
        );
        assert_eq!(report.exit().code(), 0);
        report.settings.strict = true;
        assert_eq!(report.exit().code(), 1);
    }

    #[test]
    fn a_scheduler_that_exited_is_inconclusive_and_an_announced_missing_one_is_not() {
        let mut report = fixture::all_backends();
        report.targets.retain(|target| target.backend != "default-scheduler");
        assert_eq!(verify(&report), Ok(()));
        assert_eq!(report.exit().code(), 3, "Koordinator's scheduler exited");
        report.targets.retain(|target| target.backend != "koord-scheduler");
        assert_eq!(report.exit().code(), 0, "KAI's scheduler was announced as missing");
    }

    #[test]
    fn an_interrupted_run_is_inconclusive_despite_a_failure() {
        let report = fixture::interrupted();
        assert_eq!(verify(&report), Ok(()));
        let failed = |clause: &crate::ClauseResult| clause.outcome.verdict == Verdict::Fail;
        assert!(report.targets[0].clauses.iter().any(failed), "the fixture fails a clause");
        assert_eq!(report.exit().code(), 3);
    }

    #[test]
    fn a_target_without_clauses_is_inconclusive_alongside_one_that_passes() {
        let mut report = fixture::report();
        for clause in report.targets.iter_mut().flat_map(|target| &mut target.clauses) {
            clause.outcome = Outcome::pass();
        }
        assert_eq!(report.exit().code(), 0);
        report.targets[1].clauses.clear();
        assert_eq!(report.exit().code(), 3);
        report.targets.clear();
        assert_eq!(report.exit().code(), 3);
    }
}
