//! What every history must keep, whatever its case is about. An invariant that is broken is a finding about its clause; one
//! that holds says nothing, for a history in which nothing happened breaks none.
//!
//! This is the one place where they are listed ([`ALL`]). A case that breaks one on purpose says so, and why
//! (`Case::breaks`). That pods are bound to their case's own nodes is no clause but the harness's to see to, and an error:
//! `run/verdict.rs` asks [`binding::on_own_nodes`](super::binding::on_own_nodes).

mod base_first;
mod capacity;
mod course;
mod fidelity;
mod kai_admission;
mod membership;
mod quantity;
mod release;
mod units;

use conformance_contract::clauses::Workload;
use conformance_history::History;

use self::course::Course;
use super::{Broken, Finding, Ruling, plain_gangs, pods, train_jobs};

/// One that every history must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invariant {
    /// What the pods of a node request is never more than the node can hold.
    Capacity,
    /// A pod is created with Grove's scheduling gate and no other of Grove's.
    Gated,
    /// What others gate stays gated when Grove releases it.
    LeavesOtherGates,
    /// A pod is created with all that its clique's template says.
    Faithful,
    /// A pod that is released names the PodGang that lists its PodClique.
    NamesItsGang,
    /// Pods of one PodClique that are there at the same time have different indexes.
    UniqueIndexes,
    /// A PodGang that was Initialized stays so.
    StaysInitialized,
    /// A pod loses its gate after its own PodGang is Initialized and the gang resource that it names is there.
    ReleasedInOrder,
    /// Pods of scaled PodGangs are bound after the minimum of their base.
    BaseFirst,
    /// When the scheduler has had its pass, a unit that was never whole has no pod bound.
    WholeOrNothing,
    /// No pod carries the membership of another backend than its scheduler's.
    OwnMembership,
    /// A gang resource belongs to PodGangs of its own backend.
    OwnResources,
    /// KAI's admission webhook takes every PodGroup.
    AdmittedByKai,
}

/// What judges it.
type Judged = fn(&Course<'_>) -> Ruling;

/// All of them, each with the clause that demands it.
const ALL: [(Invariant, &str, Judged); 13] = [
    (Invariant::Capacity, "AON-14", capacity::is_kept),
    (Invariant::Gated, "GANG-05", release::gated),
    (Invariant::LeavesOtherGates, "GANG-17", release::leaves_other_gates),
    (Invariant::Faithful, "GANG-16", fidelity::is_kept),
    (Invariant::NamesItsGang, "GANG-05", release::names_its_gang),
    (Invariant::UniqueIndexes, "GANG-18", |course| pods::indexes_are_unique(course.history)),
    (Invariant::StaysInitialized, "GANG-19", release::stays_initialized),
    (Invariant::ReleasedInOrder, "GANG-07", release::in_order),
    (Invariant::BaseFirst, "AON-06", base_first::is_kept),
    (Invariant::WholeOrNothing, "AON-02", units::whole_or_nothing),
    (Invariant::OwnMembership, "COEX-02", membership::of_pods),
    (Invariant::OwnResources, "COEX-02", membership::of_resources),
    (Invariant::AdmittedByKai, "KAI-11", kai_admission::admits),
];

/// What the history of such a workload is asked about, but for the invariants that its case `breaks` on purpose.
fn asked(workload: Workload, breaks: &[Invariant]) -> Vec<(&'static str, Judged)> {
    match workload {
        // The others are about Grove's objects.
        Workload::TrainJobs => vec![
            ("TRN-03", capacity::is_kept),
            ("TRN-03", |course| train_jobs::whole_or_nothing(course.history)),
        ],
        Workload::PlainPods => vec![
            ("AIC-01", capacity::is_kept),
            ("AIC-02", |course| plain_gangs::whole_or_nothing(course.history)),
        ],
        Workload::PodCliqueSets => {
            let asked = ALL.into_iter().filter(|(invariant, ..)| !breaks.contains(invariant));
            asked.map(|(_, clause, ruling)| (clause, ruling)).collect()
        }
    }
}

/// The clauses that such a case is judged by, whatever it is about.
pub fn clauses(workload: Workload, breaks: &[Invariant]) -> impl Iterator<Item = &'static str> {
    asked(workload, breaks).into_iter().map(|(clause, _)| clause)
}

/// Every pod was created with what the template of its clique says (GANG-16).
///
/// # Errors
/// A violation per pod that was not.
pub fn templates_are_kept(history: &History) -> Ruling {
    fidelity::is_kept(&Course::of(history))
}

/// KAI's admission webhook takes every PodGroup (KAI-11).
///
/// # Errors
/// A violation per version that it would refuse.
pub fn admitted_by_kai(history: &History) -> Ruling {
    kai_admission::admits(&Course::of(history))
}

/// The invariants that a history breaks, as findings about their clauses, but for those that its case `breaks` on purpose.
pub fn broken(history: &History, breaks: &[Invariant]) -> Vec<Finding> {
    let course = Course::of(history);
    let asked = asked(history.header.target.workload(), breaks).into_iter();
    let judged = asked.map(|(clause, ruling)| Finding { clause, ruling: ruling(&course) });
    judged.filter(|finding| matches!(finding.ruling, Err(Broken::Violated(_)))).collect()
}

/// No node ever holds more than it can (AON-14), for the cases that are about it.
///
/// # Errors
/// A violation per pod that was bound beyond.
pub fn within_capacity(history: &History) -> Ruling {
    capacity::is_kept(&Course::of(history))
}

#[cfg(test)]
#[path = "invariants_tests.rs"]
mod tests;
