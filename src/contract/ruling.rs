//! What a judge concludes about a clause: that it is kept, or why that cannot be concluded.

use crate::violation::Violation;

/// Why a clause cannot be said to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// It was violated.
    Violated(Vec<Violation>),
    /// What it rests on is another clause's to demand, and that one was violated: of this one nothing is known.
    Premise {
        /// The other clause.
        clause: &'static str,
        /// What violates it.
        violations: Vec<Violation>,
    },
    /// The case did not get as far as the clause needs.
    NotReached(String),
    /// What it takes to ask is not there, and need not be.
    NotAsked(String),
}

impl Broken {
    /// What is reported first where several rulings do not hold: what is wrong before what is not known.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Violated(_) => 0,
            Self::Premise { .. } => 1,
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

/// What a sentence of a judge says.
pub type Ruling = Result<(), Broken>;

/// What a case's judge says about a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The clause.
    pub clause: &'static str,
    /// Whether it holds.
    pub ruling: Ruling,
}

/// A finding about a clause.
pub fn finding(clause: &'static str, ruling: impl FnOnce() -> Ruling) -> Finding {
    Finding { clause, ruling: ruling() }
}
