//! The result of a check for one clause: the clause is satisfied, violated or undecided.

use crate::violation::Violation;

/// Why a clause is violated or undecided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// At least one violation was found. Each violation has the observations that prove it.
    Violated(Vec<Violation>),
    /// Another clause, on which this one depends, was violated, so this clause is undecided.
    Precondition {
        /// The violated clause.
        clause: &'static str,
        /// The violations of that clause.
        violations: Vec<Violation>,
    },
    /// The case stopped before it could decide the clause.
    NotReached(String),
    /// The environment lacks something optional that the check needs.
    NotAsked(String),
}

impl Broken {
    /// The order of several results: violated clauses before undecided ones.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Violated(_) => 0,
            Self::Precondition { .. } => 1,
            Self::NotReached(_) => 2,
            Self::NotAsked(_) => 3,
        }
    }
}

impl From<Violation> for Broken {
    fn from(violation: Violation) -> Self {
        Self::Violated(vec![violation])
    }
}

/// The result of one check.
pub type Ruling = Result<(), Broken>;

/// The result of a case's checks for one clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The clause's id.
    pub clause: &'static str,
    /// Whether the clause is satisfied.
    pub ruling: Ruling,
}

/// Runs the check of a clause.
pub fn finding(clause: &'static str, ruling: impl FnOnce() -> Ruling) -> Finding {
    Finding { clause, ruling: ruling() }
}
