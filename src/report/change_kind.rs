//! How a clause changed between two reports.

use conformance_contract::verdict::{Outcome, Verdict};

use super::ClauseResult;

/// The kind of change of a clause on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The clause passed or was a known deviation, and is violated.
    Regression,
    /// The clause was checked, and the newer run could not decide it.
    Undecided,
    /// The clause is violated, and the older report does not check it.
    NewlyBroken,
    /// The clause has become a known deviation.
    DeviationStarted,
    /// The clause was a known deviation, and passes.
    DeviationEnded,
    /// The clause was checked, and its feature is no longer declared.
    Withdrawn,
    /// The clause was violated, and passes or is a known deviation.
    Fixed,
    /// The clause is violated with other codes than before.
    BrokenDifferently,
    /// The clause was checked, and the newer run did not select it.
    LeftOut,
    /// The clause is checked for the first time, and not violated.
    New,
}

impl ChangeKind {
    /// All kinds, worst first.
    pub const ALL: [ChangeKind; 10] = [
        ChangeKind::Regression,
        ChangeKind::Undecided,
        ChangeKind::NewlyBroken,
        ChangeKind::DeviationStarted,
        ChangeKind::Withdrawn,
        ChangeKind::BrokenDifferently,
        ChangeKind::LeftOut,
        ChangeKind::Fixed,
        ChangeKind::DeviationEnded,
        ChangeKind::New,
    ];

    /// The heading of a list of such changes.
    pub fn title(self) -> &'static str {
        match self {
            ChangeKind::Regression => "Regressions",
            ChangeKind::Undecided => "No longer decided",
            ChangeKind::NewlyBroken => "Broken, and not judged before",
            ChangeKind::DeviationStarted => "Known deviations that began",
            ChangeKind::Withdrawn => "No longer promised",
            ChangeKind::BrokenDifferently => "Broken in another way",
            ChangeKind::LeftOut => "Judged before, left out now",
            ChangeKind::Fixed => "Fixed",
            ChangeKind::DeviationEnded => "Known deviations that ended",
            ChangeKind::New => "Judged for the first time",
        }
    }

    pub(super) fn is_counted(self) -> bool {
        matches!(self, ChangeKind::LeftOut | ChangeKind::New)
    }

    /// An argument is `None` if the target does not have the clause.
    pub(super) fn of(old: Option<&ClauseResult>, new: Option<&ClauseResult>) -> Option<Self> {
        let violated = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::Flaky);
        let checked = |outcome: &Outcome| {
            violated(outcome) || matches!(outcome.verdict, Verdict::Pass | Verdict::KnownDeviation)
        };
        let was_checked = old.is_some_and(|old| checked(&old.outcome));
        let was_violated = old.is_some_and(|old| violated(&old.outcome));
        let was = |verdict| old.is_some_and(|old| old.outcome.verdict == verdict);
        let Some(new) = new else { return was_checked.then_some(Self::LeftOut) };
        match new.outcome.verdict {
            Verdict::Fail | Verdict::Flaky if was_violated => {
                let codes = |clause: &ClauseResult| {
                    let mut codes: Vec<_> = clause.violations.iter().map(|of| of.code.clone()).collect();
                    codes.sort();
                    codes.dedup();
                    codes
                };
                (old.map(codes) != Some(codes(new))).then_some(Self::BrokenDifferently)
            }
            Verdict::Fail | Verdict::Flaky if was_checked => Some(Self::Regression),
            Verdict::Fail | Verdict::Flaky => Some(Self::NewlyBroken),
            Verdict::Error => was_checked.then_some(Self::Undecided),
            Verdict::NotRun if new.outcome.announced => was_checked.then_some(Self::LeftOut),
            Verdict::NotRun => was_checked.then_some(Self::Undecided),
            Verdict::Unsupported => was_checked.then_some(Self::Withdrawn),
            Verdict::KnownDeviation | Verdict::Pass if was_violated => Some(Self::Fixed),
            Verdict::KnownDeviation => (!was(Verdict::KnownDeviation)).then_some(Self::DeviationStarted),
            Verdict::Pass if was(Verdict::KnownDeviation) => Some(Self::DeviationEnded),
            Verdict::Pass => (!was_checked).then_some(Self::New),
        }
    }
}
