//! Verdicts. If there are several, a milder verdict never hides one that fails the run.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict on a clause or a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The clause was satisfied.
    Pass,
    /// The clause was violated, or a known deviation passed unexpectedly.
    Fail,
    /// The clause was violated as documented: a finding about the backend, not a regression.
    KnownDeviation,
    /// The backend does not make this promise.
    Unsupported,
    /// The clause was not checked.
    NotRun,
    /// The harness could not decide: infrastructure failed, or the watch history has a gap.
    Error,
    /// The clause was violated at first and satisfied on a retry.
    Flaky,
}

impl Verdict {
    /// All verdicts, in the order of summaries.
    pub const ALL: [Verdict; 7] = [
        Verdict::Pass,
        Verdict::Fail,
        Verdict::Flaky,
        Verdict::Error,
        Verdict::NotRun,
        Verdict::KnownDeviation,
        Verdict::Unsupported,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::KnownDeviation => "known-deviation",
            Verdict::Unsupported => "unsupported",
            Verdict::NotRun => "not-run",
            Verdict::Error => "error",
            Verdict::Flaky => "flaky",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// What was decided, without the reason.
    pub verdict: Verdict,
    /// Only with `not-run`: the clause was deselected by a filter or shard, or announced as not run, for
    /// example without the scheduler's programs. The exit code then does not change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
    /// The distinct reasons, for every verdict but `pass`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

#[allow(missing_docs, reason = "a function without a comment is named after what it returns")]
impl Outcome {
    pub fn pass() -> Self {
        Self { verdict: Verdict::Pass, announced: false, reasons: Vec::new() }
    }

    pub fn fail(reason: impl Into<String>) -> Self {
        Self::with(Verdict::Fail, reason)
    }

    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::with(Verdict::Unsupported, reason)
    }

    /// The clause was unexpectedly not checked.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self::with(Verdict::NotRun, reason)
    }

    /// The clause was deselected, or the run announced that it does not check the clause.
    pub fn not_run_announced(reason: impl Into<String>) -> Self {
        Self { announced: true, ..Self::not_run(reason) }
    }

    pub fn error(reason: impl Into<String>) -> Self {
        Self::with(Verdict::Error, reason)
    }

    fn with(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self::of(verdict, vec![reason.into()])
    }

    /// The outcome with this verdict and these reasons, without duplicates.
    pub fn of(verdict: Verdict, reasons: Vec<String>) -> Self {
        let mut distinct: Vec<String> = Vec::with_capacity(reasons.len());
        for reason in reasons {
            if !distinct.contains(&reason) {
                distinct.push(reason);
            }
        }
        Self { verdict, announced: false, reasons: distinct }
    }

    pub fn reason(&self) -> Option<String> {
        (!self.reasons.is_empty()).then(|| self.reasons.join("; "))
    }

    /// The verdict as it appears in tables.
    pub fn word(&self) -> String {
        let announced = if self.announced { " (announced)" } else { "" };
        format!("{}{announced}", self.verdict)
    }

    /// A failure becomes the known deviation. A pass becomes a failure if the deviation always occurs.
    pub fn of_known_deviation(self, deviation: &str, always: bool) -> Self {
        match self.verdict {
            Verdict::Fail => Self::with(Verdict::KnownDeviation, deviation),
            Verdict::Pass if always => {
                Self::fail(format!("unexpected pass of a known deviation: {deviation}"))
            }
            _ => self,
        }
    }

    /// Returns the outcome of several attempts, oldest first, or `None` without attempts. A pass after a
    /// worse attempt is flaky. Otherwise the worst attempt counts.
    pub fn of_attempts(attempts: &[Outcome]) -> Option<Outcome> {
        let worst = Self::fold(attempts)?;
        let last = attempts.last()?;
        if last.verdict != Verdict::Pass || worst.verdict == Verdict::Pass {
            return Some(worst);
        }
        let first = worst.reason().unwrap_or_else(|| worst.verdict.to_string());
        Some(Self::with(Verdict::Flaky, format!("attempt {} passed; before: {first}", attempts.len())))
    }

    /// Returns the outcome with the highest precedence, with the reasons of all outcomes of this precedence.
    pub fn fold<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<Outcome> {
        let mut decisive: Option<Outcome> = None;
        for outcome in outcomes {
            decisive = Some(match decisive {
                Some(decisive) if decisive.precedence() > outcome.precedence() => decisive,
                Some(decisive) if decisive.precedence() == outcome.precedence() => decisive.joined(outcome),
                _ => outcome.clone(),
            });
        }
        decisive
    }

    /// Verdicts with exit code 1 precede those with exit code 3. A pass hides only an unsupported part.
    fn precedence(&self) -> u8 {
        match self.verdict {
            Verdict::Fail => 7,
            Verdict::Flaky => 6,
            Verdict::Error => 5,
            Verdict::NotRun if !self.announced => 4,
            Verdict::NotRun => 3,
            Verdict::KnownDeviation => 2,
            Verdict::Pass => 1,
            Verdict::Unsupported => 0,
        }
    }

    fn joined(mut self, other: &Outcome) -> Self {
        for reason in &other.reasons {
            if !self.reasons.contains(reason) {
                self.reasons.push(reason.clone());
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str) -> Outcome {
        match name {
            "pass" => Outcome::pass(),
            "fail" => Outcome::fail("broken"),
            "known-deviation" => Outcome::fail("broken").of_known_deviation("documented", true),
            "unsupported" => Outcome::unsupported("no such feature"),
            "not-run" => Outcome::not_run("never started"),
            "announced" => Outcome::not_run_announced("filtered out"),
            "error" => Outcome::error("gap in history"),
            "flaky" => Outcome::with(Verdict::Flaky, "attempt 2 passed"),
            other => panic!("no outcome {other}"),
        }
    }

    #[rstest::rstest]
    #[case(&["pass", "pass"], "pass")]
    #[case(&["unsupported", "unsupported"], "unsupported")]
    #[case(&["unsupported", "pass"], "pass")]
    #[case(&["pass", "known-deviation"], "known-deviation")]
    #[case(&["known-deviation", "unsupported"], "known-deviation")]
    #[case(&["pass", "announced"], "announced")]
    #[case(&["announced", "not-run"], "not-run")]
    #[case(&["pass", "error", "not-run"], "error")]
    #[case(&["error", "flaky"], "flaky")]
    #[case(&["fail", "flaky", "error", "pass"], "fail")]
    fn the_worst_outcome_decides_in_any_order(#[case] parts: &[&str], #[case] whole: &str) {
        let parts: Vec<Outcome> = parts.iter().map(|name| outcome(name)).collect();
        assert_eq!(Outcome::fold(&parts), Some(outcome(whole)));
        assert_eq!(Outcome::fold(parts.iter().rev()), Some(outcome(whole)));
    }

    #[test]
    fn folded_outcomes_have_distinct_reasons() {
        let parts = [Outcome::fail("a"), Outcome::pass(), Outcome::fail("b"), Outcome::fail("a")];
        assert_eq!(Outcome::fold(&parts), Some(Outcome::of(Verdict::Fail, vec!["a".into(), "b".into()])));
        assert_eq!(Outcome::fold(&[]), None);
        let reads = Outcome::unsupported("no topology resource; it reads labels");
        let twice = Outcome::fold([&reads, &reads, &Outcome::unsupported("a level"), &reads]).unwrap();
        assert_eq!(twice.reasons, ["no topology resource; it reads labels", "a level"]);
        assert_eq!(twice.reason().as_deref(), Some("no topology resource; it reads labels; a level"));
    }

    #[rstest::rstest]
    #[case(&["pass"], "pass")]
    #[case(&["fail", "pass"], "flaky")]
    #[case(&["error", "pass"], "flaky")]
    #[case(&["fail", "fail"], "fail")]
    #[case(&["pass", "fail"], "fail")]
    #[case(&["fail", "error"], "fail")]
    fn a_retry_that_passes_is_flaky_and_never_a_pass(#[case] attempts: &[&str], #[case] verdict: &str) {
        let attempts: Vec<Outcome> = attempts.iter().map(|name| outcome(name)).collect();
        let combined = Outcome::of_attempts(&attempts).map(|outcome| outcome.verdict);
        assert_eq!(combined, Some(outcome(verdict).verdict));
    }

    #[rstest::rstest]
    #[case("fail", "known-deviation")]
    #[case("pass", "fail")]
    #[case("error", "error")]
    #[case("announced", "not-run")]
    fn a_known_deviation_that_passes_is_a_failure(#[case] attempt: &str, #[case] verdict: &str) {
        assert_eq!(outcome(attempt).of_known_deviation("documented", true).verdict.as_str(), verdict);
    }

    #[test]
    fn a_verdict_is_printed_as_it_is_serialized() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
    }
}
