//! Checks that every history of PodCliqueSets must satisfy. A satisfied invariant is not reported as a pass,
//! because a history without events satisfies all of them. A case that violates one on purpose declares it
//! with a reason (`Case::breaks`).

mod base_first;
mod capacity;
mod claims;
mod course;
mod discovery;
mod equal_priority;
mod fidelity;
mod kai_admission;
mod membership;
mod release;
mod units;

use conformance_facts::invariant::Invariant;
use conformance_history::History;

use self::course::Course;
use super::{Broken, Finding, Ruling, pod_indexes};

type Check = fn(&Course<'_>) -> Ruling;

const ALL: [(Invariant, &str, Check); 18] = [
    (Invariant::Capacity, "AON-14", capacity::is_kept),
    (Invariant::Gated, "GANG-05", release::gated),
    (Invariant::LeavesOtherGates, "GANG-17", release::leaves_other_gates),
    (Invariant::Faithful, "GANG-16", fidelity::is_kept),
    (Invariant::NothingAdded, "GANG-27", fidelity::adds_nothing),
    (Invariant::HasStableName, "GANG-28", discovery::has_stable_name),
    (Invariant::HasVariables, "GANG-29", discovery::has_variables),
    (Invariant::HasItsClaims, "GANG-30", claims::are_added),
    (Invariant::NamesItsGang, "GANG-05", release::names_its_gang),
    (Invariant::UniqueIndexes, "GANG-18", |course| pod_indexes::are_unique(course.history)),
    (Invariant::StaysInitialized, "GANG-19", release::stays_initialized),
    (Invariant::ReleasedInOrder, "GANG-07", release::in_order),
    (Invariant::BaseFirst, "AON-06", base_first::is_kept),
    (Invariant::WholeOrNothing, "AON-02", units::whole_or_nothing),
    (Invariant::OwnMembership, "COEX-02", membership::of_pods),
    (Invariant::OwnResources, "COEX-02", membership::of_resources),
    (Invariant::AdmittedByKai, "KAI-11", kai_admission::admits),
    (Invariant::NotEvictedForEquals, "PRE-06", equal_priority::is_respected),
];

fn selected(breaks: &[Invariant]) -> impl Iterator<Item = (&'static str, Check)> {
    let selected = ALL.into_iter().filter(move |(invariant, ..)| !breaks.contains(invariant));
    selected.map(|(_, clause, ruling)| (clause, ruling))
}

pub fn clauses(breaks: &[Invariant]) -> Vec<&'static str> {
    selected(breaks).map(|(clause, _)| clause).collect()
}

pub fn templates_are_kept(history: &History) -> Ruling {
    fidelity::is_kept(&Course::of(history))
}

pub fn nothing_is_added(history: &History) -> Ruling {
    fidelity::adds_nothing(&Course::of(history))
}

pub fn names_are_stable(history: &History) -> Ruling {
    discovery::has_stable_name(&Course::of(history))
}

pub fn variables_are_set(history: &History) -> Ruling {
    discovery::has_variables(&Course::of(history))
}

pub fn claims_are_added(history: &History) -> Ruling {
    claims::are_added(&Course::of(history))
}

pub fn admitted_by_kai(history: &History) -> Ruling {
    kai_admission::admits(&Course::of(history))
}

pub fn broken(history: &History, breaks: &[Invariant]) -> Vec<Finding> {
    let course = Course::of(history);
    violated(selected(breaks).map(|(clause, ruling)| (clause, ruling(&course))))
}

pub fn violated(rulings: impl IntoIterator<Item = (&'static str, Ruling)>) -> Vec<Finding> {
    let findings = rulings.into_iter().map(|(clause, ruling)| Finding { clause, ruling });
    findings.filter(|finding| matches!(finding.ruling, Err(Broken::Violated(_)))).collect()
}

pub fn within_capacity(history: &History) -> Ruling {
    capacity::is_kept(&Course::of(history))
}

#[cfg(test)]
#[path = "invariants_tests.rs"]
mod tests;
