//! Judges: pure functions from a history to findings.
//!
//! A case's judge states, per clause, a ruling: [`finding`] wraps it. Rulings are built from the sentences of
//! [`binding`] (what was bound, when), [`backends`] (whose scheduler's it is), [`another_backend`] (which one there is
//! beside the target's), [`gangs`] (what a PodCliqueSet became), [`gang_resources`] (what the backend made
//! of it), [`pods`] (how pods were created), [`order`] (what came before what), [`placement`] (where pods are), [`rest`]
//! (what changed that should not), [`foreign`] (what others wrote and is kept), [`gang_groups`] (Koordinator's
//! GangGroups), [`fail_closed`] (what nothing may be made for), [`configuration`] (what stops the controller's start),
//! [`topology_resources`] (what a ClusterTopologyBinding became), [`cleanup`] (what is left),
//! [`coexistence`] (whose is whose where there are several backends), [`kubelets`] (what runs on real nodes, and what
//! statuses say of it), [`devices`] (which GPUs containers got) and [`leadership`] (which replica of the controller led).
//! A judge never looks at a cluster, a clock or another judge; what it says holds for the same history for ever.

pub mod admission;
pub mod another_backend;
pub mod backends;
pub mod belonging;
pub mod binding;
pub mod cleanup;
pub mod coexistence;
pub mod configuration;
pub mod devices;
pub mod end_state;
pub mod fail_closed;
pub mod foreign;
pub mod gang_groups;
pub mod gang_resources;
pub mod gangs;
pub mod kubelets;
pub mod leadership;
pub mod order;
pub mod placement;
pub mod pods;
pub mod rest;
pub mod surplus;
pub mod topology_resources;

use serde_json::Value;

pub use crate::report::{Proof, Violation};

use super::expect::{self, Gang, Unit};
use super::history::{History, Mark, Version, revision};

/// The mark of a wait that ran out: `{"condition"}`.
pub const RAN_OUT: &str = "wait ran out";

/// A violation without a proof yet.
pub fn violation(message: impl Into<String>) -> Violation {
    Violation::new(message, [])
}

/// Adds points of the history that prove a violation.
pub trait Shown {
    /// With one more version of an object.
    #[must_use]
    fn shown_by(self, what: impl Into<String>, version: Version<'_>) -> Self;

    /// With an object as it was at the end.
    #[must_use]
    fn shown_by_object(self, what: impl Into<String>, object: &Value) -> Self;
}

impl Shown for Violation {
    fn shown_by(mut self, what: impl Into<String>, version: Version<'_>) -> Self {
        self.proof.push(Proof { at: Some(version.at), ..proof(what, version.object) });
        self
    }

    fn shown_by_object(mut self, what: impl Into<String>, object: &Value) -> Self {
        self.proof.push(proof(what, object));
        self
    }
}

fn proof(what: impl Into<String>, object: &Value) -> Proof {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Proof {
        what: what.into(),
        kind: text(&object["kind"]),
        namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
        name: text(&object["metadata"]["name"]),
        resource_version: revision(object).to_string(),
        at: None,
    }
}

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
    /// What is told first where several sentences do not hold: what is wrong before what is not known.
    fn rank(&self) -> u8 {
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

/// `Ok` if there are no violations.
///
/// # Errors
/// [`Broken::Violated`] with all of them.
pub fn none(violations: impl IntoIterator<Item = Violation>) -> Ruling {
    let all: Vec<_> = violations.into_iter().collect();
    if all.is_empty() { Ok(()) } else { Err(Broken::Violated(all)) }
}

/// `Ok` if the condition holds, else one violation.
///
/// # Errors
/// [`Broken::Violated`].
pub fn ensure(holds: bool, violation: impl FnOnce() -> Violation) -> Ruling {
    if holds { Ok(()) } else { Err(violation().into()) }
}

/// A sentence on which a clause rests, and which is another one's to demand: where it is violated, that one is, and the
/// clause in question is not judged.
///
/// # Errors
/// [`Broken::Premise`] for a violation; whatever else keeps the sentence from holding as it is.
pub fn premise(clause: &'static str, sentence: Ruling) -> Ruling {
    sentence.map_err(|broken| match broken {
        Broken::Violated(violations) => Broken::Premise { clause, violations },
        other => other,
    })
}

/// All of these sentences, each of which is told whether the others hold or not.
///
/// # Errors
/// Of those that do not hold the first violation; else the first broken premise; else what was not reached, or not
/// asked.
pub fn all(sentences: impl IntoIterator<Item = Ruling>) -> Ruling {
    let broken = sentences.into_iter().filter_map(Result::err);
    broken.min_by_key(Broken::rank).map_or(Ok(()), Err)
}

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

impl History {
    /// The first mark of that name: its place and itself.
    ///
    /// # Errors
    /// [`Broken::NotReached`] if the case did not get there.
    pub fn reached<'a>(&'a self, name: &'a str) -> Result<(usize, &'a Mark), Broken> {
        self.marks(name).next().ok_or_else(|| Broken::NotReached(format!("the case did not reach {name:?}")))
    }

    /// Where the case reached a mark, or where its last wait ran out instead: what a driver waits for is judged there, for
    /// one that it waited for in vain is not merely unknown. Then the mark itself is to be [reached](History::reached).
    ///
    /// # Errors
    /// [`Broken::NotReached`] if it stopped for another reason.
    pub fn waited_for(&self, name: &str) -> Result<usize, Broken> {
        let (place, _) = self.reached(name).or_else(|why| self.marks(RAN_OUT).last().ok_or(why))?;
        Ok(place)
    }

    /// A PodCliqueSet as it was sent.
    ///
    /// # Errors
    /// [`Broken::NotReached`] if it was not sent.
    pub fn submitted(&self, name: &str) -> Result<&Value, Broken> {
        self.header
            .submitted
            .get(name)
            .ok_or_else(|| Broken::NotReached(format!("PodCliqueSet {name} was not submitted")))
    }

    /// The PodGangs that a PodCliqueSet should become.
    ///
    /// # Errors
    /// As [`History::submitted`].
    pub fn gangs(&self, name: &str) -> Result<Vec<Gang>, Broken> {
        self.submitted(name).map(expect::gangs)
    }

    /// All units of a PodCliqueSet's PodGangs.
    ///
    /// # Errors
    /// As [`History::submitted`].
    pub fn units(&self, name: &str) -> Result<Vec<Unit>, Broken> {
        Ok(self.gangs(name)?.iter().flat_map(|gang| gang.units(self.header.target)).collect())
    }
}

/// What the violations of a ruling say, for tests of judges.
#[cfg(test)]
pub fn messages(ruling: Ruling) -> Vec<String> {
    match ruling {
        Err(Broken::Violated(found)) => found.into_iter().map(|violation| violation.message).collect(),
        other => panic!("{other:?} is no violation"),
    }
}

/// What the first of them says.
#[cfg(test)]
pub fn message(ruling: Ruling) -> String {
    messages(ruling).swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violated(message: &str) -> Ruling {
        Err(violation(message).into())
    }

    fn not_reached() -> Ruling {
        Err(Broken::NotReached("it stopped".into()))
    }

    fn not_asked() -> Ruling {
        Err(Broken::NotAsked("there is no second one".into()))
    }

    #[test]
    fn a_violated_premise_is_the_other_clauses_violation() {
        let broken = Broken::Premise { clause: "AON-02", violations: vec![violation("bound")] };
        assert_eq!(premise("AON-02", violated("bound")), Err(broken));
        assert_eq!(premise("AON-02", Ok(())), Ok(()));
        assert_eq!(premise("AON-02", not_reached()), not_reached());
    }

    #[test]
    fn what_is_wrong_is_told_before_what_is_not_known() {
        let broken = || premise("GANG-08", violated("never made"));
        assert_eq!(all([Ok(()), Ok(())]), Ok(()));
        assert_eq!(all([not_asked(), not_reached(), broken(), violated("a"), violated("b")]), violated("a"));
        assert_eq!(all([not_asked(), not_reached(), broken()]), broken());
        assert_eq!(all([not_asked(), not_reached()]), not_reached());
        assert_eq!(all([Ok(()), not_asked()]), not_asked());
    }
}
