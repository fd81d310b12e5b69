//! The checks of a user's own workload. They judge all of its PodCliqueSets together.

use std::collections::BTreeSet;

use conformance_check::{all, binding, cleanup, ensure, finding, gangs, violation};
use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::violation::Code;
use conformance_expect::{Expected, Gang, Unit};
use conformance_history::{Change, History, SharedMark, list, text};
use serde_json::Value;

use super::{ROOM_FOR_ALL, UNDECIDED};

const WHOLE_WITHOUT_ROOM: Code = Code::new("bound-without-capacity");

fn sets(history: &History) -> Result<Vec<&str>, Broken> {
    let names: Vec<_> = history.header.submitted.keys().map(String::as_str).collect();
    if names.is_empty() { Err(Broken::NotReached("no PodCliqueSet was submitted".into())) } else { Ok(names) }
}

fn gangs_of_all(history: &History) -> Result<Vec<Gang>, Broken> {
    let of_sets = sets(history)?.into_iter().map(|set| history.gangs(set)).collect::<Result<Vec<_>, _>>()?;
    Ok(of_sets.concat())
}

fn units_of_all(history: &History) -> Result<Vec<Unit>, Broken> {
    let of_sets = sets(history)?.into_iter().map(|set| history.units(set)).collect::<Result<Vec<_>, _>>()?;
    Ok(of_sets.concat())
}

fn of_each(history: &History, decide: impl Fn(&str, &[Gang]) -> Ruling) -> Ruling {
    all(sets(history)?.into_iter().map(|set| decide(set, &history.gangs(set)?)))
}

/// Whether a unit may have another priority than the pods of another unit, and a pod was evicted.
fn was_preempted(history: &History, units: &[Unit]) -> bool {
    let priorities: BTreeSet<&str> = history.header.submitted.values().flat_map(priority_classes).collect();
    units.len() > 1 && priorities.len() > 1 && has_eviction(history)
}

/// KAI evicts without a condition unless a flag is set, and an external scheduler may do so too.
fn has_eviction(history: &History) -> bool {
    let target = history.header.target;
    let names_no_cause = target.scheduler() == Scheduler::KAI || target.external().is_some();
    history.pods().any(|version| {
        let pod = version.pod();
        let is_marked = pod.condition("DisruptionTarget").is_some_and(|found| found["status"] == "True");
        let is_deleted = version.change == Change::Deleted || pod.is_terminating();
        is_marked || (names_no_cause && is_deleted && pod.node().is_some())
    })
}

fn priority_classes(set: &Value) -> impl Iterator<Item = &str> {
    let template = &set["spec"]["template"];
    list(&template["cliques"]).iter().map(|clique| {
        let own = text(&clique["spec"]["podSpec"]["priorityClassName"]);
        if own.is_empty() { text(&template["priorityClassName"]) } else { own }
    })
}

pub(super) fn check(history: &History) -> Vec<Finding> {
    // Check the state before the first PodCliqueSet was deleted, or at the timeout that kept the case from
    // deleting it. DEL-01 covers the deletion.
    let before_deletion = || -> Result<History, Broken> {
        if history.marks(SharedMark::Deleted).next().is_none() {
            history.reached(ROOM_FOR_ALL)?;
        }
        Ok(history.upto(history.waited_for(SharedMark::Deleted)?))
    };
    let bound_whole = || -> Ruling {
        let (before, units) = (before_deletion()?, units_of_all(history)?);
        let ruling = binding::whole(&before.end(), &units);
        match history.marks(UNDECIDED).next() {
            Some((_, mark)) if ruling.is_err() => {
                binding::all_or_nothing(&before, &units)?;
                let why: Vec<_> = list(&mark.detail).iter().map(text).collect();
                Err(Broken::NotAsked(format!(
                    "only a scheduler can decide whether the pods fit: {}",
                    why.join(", ")
                )))
            }
            _ => ruling,
        }
    };
    vec![
        finding("GANG-01", || {
            let end = before_deletion()?.end();
            of_each(history, |set, expected| gangs::base(&end, set, expected))
        }),
        finding("GANG-02", || {
            let before = before_deletion()?;
            of_each(history, |_, expected| gangs::podgroups(&before, expected))
        }),
        finding("GANG-03", || {
            let before = before_deletion()?;
            let end = before.end();
            of_each(history, |_, expected| gangs::scaled(&before, &end, expected))
        }),
        finding("AON-01", bound_whole),
        finding("AON-02", || {
            let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
            let short = history.upto(barrier);
            let units = units_of_all(history)?;
            // At the barrier the scheduler has made a full pass over the base PodGangs only. A scaled PodGang
            // may still be partially bound.
            let bases = gangs_of_all(history)?.into_iter().filter(|gang| gang.is_base);
            let base_units: Vec<_> = bases.flat_map(|gang| gang.units(history.header.target)).collect();
            match binding::all_or_nothing(&short, &base_units) {
                Err(Broken::Violated(_)) if was_preempted(&short, &units) => {
                    return Err(Broken::NotAsked(
                        "a pod was evicted: a scheduler may evict some pods of one unit for pods of another one \
                         with a higher priority"
                            .into(),
                    ));
                }
                bound => bound?,
            }
            ensure(binding::whole(&short.end(), &units).is_err(), || {
                violation(
                    WHOLE_WITHOUT_ROOM,
                    "every unit is bound, want one pending: the nodes lack room for one pod",
                )
            })
        }),
        finding("AON-03", || {
            history.reached(SharedMark::SchedulerPassed)?;
            bound_whole()
        }),
        finding("DEL-01", || {
            history.reached(SharedMark::Deleted)?;
            history.reached(SharedMark::LeftOver)?;
            // If a wait timed out, the history ends at the timeout and lacks the deletion.
            if history.marks(SharedMark::Stopped).any(|(_, mark)| mark.detail["wait"] == true) {
                return Err(Broken::NotReached("a wait before the deletion timed out".into()));
            }
            cleanup::nothing_left(history)
        }),
    ]
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
