//! Judges: pure functions from a history to findings.
//!
//! A case's judge gives one ruling per clause, wrapped by [`finding`]. Rulings are composed of the functions in
//! [`binding`] (what was bound, when), [`backends`] (which scheduler an object is for), [`another_backend`] (a
//! second backend besides the target's), [`gangs`] (what a PodCliqueSet became), [`gang_resources`] (what the
//! backend created for it), [`pods`] (how pods were created), [`order`] (what came before what), [`placement`]
//! (where pods are), [`idle_writes`] (what changed that should not), [`audit`] (what the operator requested), [`scaling`] (what followed), [`foreign_fields`] (what others wrote and must
//! be kept), [`gang_groups`] (Koordinator's GangGroups), [`fail_closed`] (what nothing may be created for),
//! [`configuration`] (what prevents the controller from starting), [`topology_resources`] (what a
//! ClusterTopologyBinding became), [`cleanup`] (what is left), [`coexistence`] (several backends in one cluster),
//! [`kubelets`] (what runs on real nodes, and what statuses report about it), [`devices`] (which GPUs containers
//! got), [`life`] (health, breaches and generations over time, and what statuses say of them), [`startup`] (which pods wait for which), [`startup_wait`] (what is said of that), [`plain_gangs`] (what was bound of gangs without an operator), [`leadership`] (which replica of the controller led) and
//! [`migration`] (what an upgrade of the operator did). A judge never looks at a cluster, a clock or
//! another judge; for the same history its result is always the same.

pub mod admission;
pub mod another_backend;
pub mod audit;
pub mod backends;
pub mod binding;
pub mod cleanup;
pub mod coexistence;
pub mod configuration;
pub mod devices;
pub mod end_state;
pub mod excess_pods;
pub mod fail_closed;
pub mod foreign_fields;
pub mod gang_groups;
pub mod gang_resources;
pub mod gangs;
pub mod idle_writes;
pub mod invariants;
pub mod kubelets;
pub mod leadership;
pub mod leftovers;
pub mod life;
pub mod migration;
pub mod order;
pub mod ownership;
pub mod placement;
pub mod plain_gangs;
pub mod pods;
pub mod refusals;
pub mod said;
pub mod scaling;
pub mod startup;
pub mod startup_wait;
pub mod topology_resources;
pub mod train_jobs;

use jiff::SignedDuration;
use serde_json::Value;

pub use conformance_contract::ruling::{Broken, Finding, Ruling, finding};
pub use conformance_contract::violation::{Code, Proof, Violation};

use conformance_history::{History, Version, revision};

/// What an operator may take to react, where the contract says "within 5 s"; on a slow machine it is longer.
fn patience(history: &History) -> SignedDuration {
    history.allowed(SignedDuration::from_secs(5))
}

/// A violation without a proof yet.
pub fn violation(code: Code, message: impl Into<String>) -> Violation {
    Violation::new(code, message, [])
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

/// All of these rulings, each of which is given whether or not the others are kept.
///
/// # Errors
/// Of those that do not hold the first violation; else the first broken premise; else what was not reached, or not
/// asked.
pub fn all(sentences: impl IntoIterator<Item = Ruling>) -> Ruling {
    let broken = sentences.into_iter().filter_map(Result::err);
    broken.min_by_key(Broken::rank).map_or(Ok(()), Err)
}

/// What the violations of a ruling say, for tests of judges.
///
/// # Panics
/// Where it says something else.
pub fn messages(ruling: Ruling) -> Vec<String> {
    match ruling {
        Err(Broken::Violated(found)) => found.into_iter().map(|violation| violation.message).collect(),
        other => panic!("{other:?} is no violation"),
    }
}

/// What the first of them says, for tests of judges.
///
/// # Panics
/// As [`messages`].
pub fn message(ruling: Ruling) -> String {
    messages(ruling).swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: Code = Code::new("found");

    fn violated(message: &str) -> Ruling {
        Err(violation(FOUND, message).into())
    }

    fn not_reached() -> Ruling {
        Err(Broken::NotReached("it stopped".into()))
    }

    fn not_asked() -> Ruling {
        Err(Broken::NotAsked("there is no second one".into()))
    }

    #[test]
    fn a_violated_premise_is_the_other_clauses_violation() {
        let broken = Broken::Premise { clause: "AON-02", violations: vec![violation(FOUND, "bound")] };
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
