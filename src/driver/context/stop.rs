//! Why a driver stops early, and which clause is violated as a result, if any. A timeout violates the clause
//! that demands the awaited state ([`Awaited`]), unless the machine was too slow to decide. `run/verdict.rs`
//! reports this violation only if no check has found the cause.

use std::borrow::Cow;
use std::fmt;

use conformance_cluster::ClusterError;
use conformance_contract::clauses;
use conformance_history::{History, SharedMark};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// A timeout violates the first of the case's clauses that applies to its target.
    Case,
    Clause(&'static str),
    /// The harness or its cluster must reach the state, so no clause applies to a timeout.
    Harness,
}

/// A state that a driver waits for. A plain string has [`Duty::Case`].
#[derive(Debug, Clone)]
pub struct Awaited<'a> {
    pub(crate) condition: Cow<'a, str>,
    pub(crate) duty: Duty,
}

impl<'a> Awaited<'a> {
    pub fn demanded_by(clause: &'static str, condition: impl Into<Cow<'a, str>>) -> Self {
        debug_assert!(clauses::clause(clause).is_some(), "{clause} is in the contract");
        Self { condition: condition.into(), duty: Duty::Clause(clause) }
    }

    /// A precondition that the harness establishes, such as a removed node or a bound canary.
    pub fn of_harness(condition: impl Into<Cow<'a, str>>) -> Self {
        Self { condition: condition.into(), duty: Duty::Harness }
    }
}

impl<'a> From<&'a str> for Awaited<'a> {
    fn from(condition: &'a str) -> Self {
        Self { condition: condition.into(), duty: Duty::Case }
    }
}

impl<'a> From<&'a String> for Awaited<'a> {
    fn from(condition: &'a String) -> Self {
        condition.as_str().into()
    }
}

impl From<String> for Awaited<'_> {
    fn from(condition: String) -> Self {
        Self { condition: condition.into(), duty: Duty::Case }
    }
}

#[derive(Debug)]
pub struct Timeout {
    pub condition: String,
    pub duty: Duty,
    pub limit: &'static str,
    pub seconds: f64,
    pub slowness: f64,
    pub too_slow: Option<String>,
    pub situation: String,
}

impl Timeout {
    fn headline(&self) -> String {
        let slowed = match self.slowness > 1.0 {
            true => format!(", × {:.1} for a slow API server", self.slowness),
            false => String::new(),
        };
        format!("waited {:.1} s ({}{slowed}) for: {}", self.seconds, self.limit, self.condition)
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        if let Some(evidence) = &self.too_slow {
            write!(f, "\nthe machine was too slow to decide: {evidence}")?;
        }
        write!(f, "\n{}", self.situation)
    }
}

/// A required event that did not happen within its limit, on a machine that was fast enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// `None` stands for the first of the case's clauses that applies to its target.
    pub clause: Option<String>,
    pub message: String,
}

impl Breach {
    fn detail(&self) -> Value {
        json!({"clause": self.clause, "message": self.message})
    }

    fn recorded(detail: &Value) -> Option<Self> {
        let clause = detail["clause"].as_str().map(str::to_owned);
        Some(Self { clause, message: detail["message"].as_str()?.to_owned() })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// [`Stop::breach`] returns the clause that the timeout violates.
    #[error("{0}")]
    Timeout(Box<Timeout>),
    #[error("cannot {action}: {reason}")]
    Refused { action: String, reason: String },
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("the operator under test exited: {0}")]
    OperatorEnded(ClusterError),
    /// The reason why the driver stopped, read from a saved history.
    #[error("the driver stopped: {reason}")]
    Recorded { reason: String, breach: Option<Breach>, is_too_slow: bool },
}

impl Stop {
    #[must_use]
    pub fn owed_by(self, clause: &'static str) -> Self {
        match self {
            Self::Timeout(timeout) => {
                Self::Timeout(Box::new(Timeout { duty: Duty::Clause(clause), ..*timeout }))
            }
            stop => stop,
        }
    }

    pub fn breach(&self) -> Option<Breach> {
        match self {
            Self::Timeout(timeout) if timeout.too_slow.is_none() => {
                let clause = match timeout.duty {
                    Duty::Case => None,
                    Duty::Clause(clause) => Some(clause.to_owned()),
                    Duty::Harness => return None,
                };
                Some(Breach { clause, message: timeout.headline() })
            }
            Self::Recorded { breach, .. } => breach.clone(),
            Self::Timeout(_) | Self::Refused { .. } | Self::Cluster(_) | Self::OperatorEnded(_) => None,
        }
    }

    /// Whether a wait timed out on a machine that was too slow to decide, so that nothing is breached.
    pub fn is_too_slow(&self) -> bool {
        match self {
            Self::Timeout(timeout) => timeout.too_slow.is_some(),
            Self::Recorded { is_too_slow, .. } => *is_too_slow,
            Self::Refused { .. } | Self::Cluster(_) | Self::OperatorEnded(_) => false,
        }
    }

    pub fn detail(&self) -> Value {
        let is_cluster = matches!(self, Self::Cluster(_));
        let breach = self.breach().map(|breach| breach.detail());
        let ended = match self {
            Self::OperatorEnded(error) => Some(error.to_string()),
            _ => None,
        };
        json!({
            "cluster": is_cluster,
            "wait": matches!(self, Self::Timeout(_)),
            "tooSlow": self.is_too_slow(),
            "reason": self.to_string(),
            "breach": breach,
            "operatorEnded": ended,
        })
    }

    pub fn recorded(history: &History) -> Option<Self> {
        let (_, mark) = history.marks(SharedMark::Stopped).next()?;
        let reason = mark.detail["reason"].as_str().unwrap_or_default().to_owned();
        if let Some(error) = mark.detail["operatorEnded"].as_str() {
            return Some(Self::OperatorEnded(ClusterError::Recorded(error.to_owned())));
        }
        Some(match mark.detail["cluster"] == true {
            true => Self::Cluster(ClusterError::Recorded(reason)),
            false => Self::Recorded {
                reason,
                breach: Breach::recorded(&mark.detail["breach"]),
                is_too_slow: mark.detail["tooSlow"] == true,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;

    use super::*;

    fn timeout(duty: Duty, too_slow: Option<&str>) -> Stop {
        Stop::Timeout(Box::new(Timeout {
            condition: "4 pods bound".into(),
            duty,
            limit: "scheduling",
            seconds: 45.0,
            slowness: 1.5,
            too_slow: too_slow.map(str::to_owned),
            situation: "  pods: 4, 0 bound, 0 gated".into(),
        }))
    }

    #[rstest::rstest]
    #[case::of_the_case(Duty::Case, None, Some(None))]
    #[case::of_a_clause(Duty::Clause("AON-01"), None, Some(Some("AON-01")))]
    #[case::of_the_harness(Duty::Harness, None, None)]
    #[case::on_a_slow_machine(Duty::Case, Some("a read took 2.4 s"), None)]
    fn a_timeout_breaks_the_same_clause_in_a_run_and_in_a_replay(
        #[case] duty: Duty,
        #[case] too_slow: Option<&str>,
        #[case] wanted: Option<Option<&str>>,
    ) {
        let stop = timeout(duty, too_slow);
        let clause = |stop: &Stop| stop.breach().map(|breach| breach.clause);
        let wanted = wanted.map(|clause| clause.map(str::to_owned));
        assert_eq!(clause(&stop), wanted);
        let history = Story::flat().mark(SharedMark::Stopped, stop.detail()).end();
        let again = Stop::recorded(&history).unwrap();
        assert_eq!(again.breach(), stop.breach());
        assert_eq!((again.is_too_slow(), stop.is_too_slow()), (too_slow.is_some(), too_slow.is_some()));
        assert!(again.to_string().contains(&stop.to_string()));
    }

    #[test]
    fn a_timeout_shows_why_the_machine_was_too_slow() {
        let lines = [
            "waited 45.0 s (scheduling, × 1.5 for a slow API server) for: 4 pods bound",
            "the machine was too slow to decide: a read took 2.4 s (limit 2 s)",
            "  pods: 4, 0 bound, 0 gated",
        ];
        let message = timeout(Duty::Case, Some("a read took 2.4 s (limit 2 s)")).to_string();
        assert_eq!(message.lines().collect::<Vec<_>>(), lines);
    }
}
