//! Checks are pure functions from a history to findings.
//!
//! A check depends on no cluster, no clock and no other check. `conformance_facts` has the predicates that
//! waits also use. A check turns their results into violations:
//!
//! - creation: [`gangs`], [`gang_resources`], [`gang_groups`], [`pods`], [`pod_indexes`], [`services`],
//!   [`order`], [`topology_resources`], [`topology_condition`]
//! - admission: [`admission`], [`backends`], [`another_backend`], [`configuration`], [`fail_closed`]
//! - scheduling: [`binding`], [`placement`], [`preemption`], [`wake_up`], [`refusals`], [`excess_pods`],
//!   [`coexistence`]
//! - lifecycle: [`lifecycle`], [`scaling`], [`startup`], [`startup_wait`], [`cleanup`], [`end_state`]
//! - writes of the operator: [`audit`], [`foreign_fields`], [`idle_writes`], [`leadership`], [`migration`]
//! - real nodes: [`kubelets`], [`devices`]
//! - every case: [`invariants`], [`harness_statuses`]

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
pub mod harness_statuses;
pub mod idle_writes;
pub mod invariants;
pub mod kubelets;
pub mod leadership;
pub mod lifecycle;
pub mod migration;
pub mod order;
pub mod placement;
pub mod pod_indexes;
pub mod pods;
pub mod preemption;
pub mod refusals;
pub mod scaling;
pub mod services;
pub mod startup;
pub mod startup_wait;
pub mod topology_condition;
pub mod topology_resources;
pub mod wake_up;

use jiff::SignedDuration;
use serde_json::Value;

pub use conformance_contract::ruling::{Broken, Finding, Ruling, finding};
pub use conformance_contract::violation::{Code, Proof, Violation};

use conformance_facts::deviation::Deviation;
use conformance_history::{History, Version, revision};

/// The time that an operator has to react where the contract says "within 5 s". Longer on a slow machine.
fn patience(history: &History) -> SignedDuration {
    history.allowed(SignedDuration::from_secs(5))
}

pub fn violation(code: Code, message: impl Into<String>) -> Violation {
    Violation::new(code, message, [])
}

fn deviates<K>(code: Code, found: Deviation<'_, K>) -> Violation {
    let without_proof = violation(code, found.message);
    found.objects.into_iter().fold(without_proof, |shown, (role, object)| shown.shown_by_object(role, object))
}

pub trait Shown {
    #[must_use]
    fn shown_by(self, what: impl Into<String>, version: Version<'_>) -> Self;

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

pub fn none(violations: impl IntoIterator<Item = Violation>) -> Ruling {
    let all: Vec<_> = violations.into_iter().collect();
    if all.is_empty() { Ok(()) } else { Err(Broken::Violated(all)) }
}

pub fn ensure(is_satisfied: bool, violation: impl FnOnce() -> Violation) -> Ruling {
    if is_satisfied { Ok(()) } else { Err(violation().into()) }
}

/// Turns a violation of `clause` into a broken precondition of another clause. Other errors stay the same.
pub fn precondition(clause: &'static str, ruling: Ruling) -> Ruling {
    ruling.map_err(|broken| match broken {
        Broken::Violated(violations) => Broken::Precondition { clause, violations },
        other => other,
    })
}

/// The most important failure. The order is: violations, broken preconditions, `NotReached`, `NotAsked`.
pub fn all(rulings: impl IntoIterator<Item = Ruling>) -> Ruling {
    let broken = rulings.into_iter().filter_map(Result::err);
    broken.min_by_key(Broken::rank).map_or(Ok(()), Err)
}

pub fn messages(ruling: Ruling) -> Vec<String> {
    match ruling {
        Err(Broken::Violated(found)) => found.into_iter().map(|violation| violation.message).collect(),
        other => panic!("{other:?} is not a violation"),
    }
}

pub fn message(ruling: Ruling) -> String {
    messages(ruling).swap_remove(0)
}

#[cfg(test)]
fn described(ruling: Ruling) -> String {
    match ruling {
        Ok(()) => "satisfied".into(),
        Err(Broken::NotReached(why)) => format!("not reached: {why}"),
        other => message(other),
    }
}

pub fn codes(ruling: Ruling) -> Vec<String> {
    match ruling {
        Ok(()) => Vec::new(),
        Err(Broken::Violated(found)) => found.into_iter().map(|found| found.code.to_string()).collect(),
        other => panic!("{other:?} is not a violation"),
    }
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
        Err(Broken::NotAsked("the operator serves no second scheduler".into()))
    }

    #[test]
    fn a_violated_precondition_counts_against_the_other_clause() {
        let broken = Broken::Precondition { clause: "AON-02", violations: vec![violation(FOUND, "bound")] };
        assert_eq!(precondition("AON-02", violated("bound")), Err(broken));
        assert_eq!(precondition("AON-02", Ok(())), Ok(()));
        assert_eq!(precondition("AON-02", not_reached()), not_reached());
    }

    #[test]
    fn violations_are_returned_before_undecided_rulings() {
        let broken = || precondition("GANG-08", violated("never created"));
        assert_eq!(all([Ok(()), Ok(())]), Ok(()));
        assert_eq!(all([not_asked(), not_reached(), broken(), violated("a"), violated("b")]), violated("a"));
        assert_eq!(all([not_asked(), not_reached(), broken()]), broken());
        assert_eq!(all([not_asked(), not_reached()]), not_reached());
        assert_eq!(all([Ok(()), not_asked()]), not_asked());
    }
}
