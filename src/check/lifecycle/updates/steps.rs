//! Checks of update steps within a clique or scaling group: how many pods stay up, and the order of steps.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::floor;
use conformance_expect::startup;
use conformance_facts::health::is_ready;
use conformance_facts::updates::Units;
use conformance_history::{History, Version};

use super::deletions::deletions;
use crate::{Shown, none, violation};

const TOO_FEW_UP: Code = Code::new("update-leaves-too-few");
const STEP_BEFORE_PARENTS_READY: Code = Code::new("update-step-before-parents-ready");
const STEPS_OVERLAP: Code = Code::new("update-steps-overlap");
const BEYOND_FIRST_STEP: Code = Code::new("beyond-first-update-step");

/// An update step: the updater deletes a Ready pod or an available scaling-group replica.
struct Step<'a> {
    at: Version<'a>,
    unit: String,
    units: Units,
    /// The number of earlier steps, of the same update and the same clique or group, that must be complete.
    earlier: usize,
}

fn steps<'a>(history: &'a History, set: &str) -> Vec<Step<'a>> {
    // The units that were up when they were deleted, by update and clique or group.
    let mut seen: BTreeMap<(usize, String), BTreeSet<String>> = BTreeMap::new();
    let mut steps = Vec::new();
    for deletion in deletions(history, set) {
        let (unit, is_up, _) = deletion.state.unit(deletion.pod);
        let Some(units) = deletion.state.units(deletion.pod).filter(|_| is_up) else { continue };
        let before = seen.entry((deletion.state.update, units.name.clone())).or_default();
        if !before.insert(unit.clone()) {
            continue;
        }
        let earlier = (before.len() - 1).min(units.wanted.saturating_sub(units.old));
        steps.push(Step { at: deletion.at, unit, units, earlier });
    }
    steps
}

/// Requires that the minimum of units stays up. If the minimum is all units, one may be down (UPD-30).
pub fn minimum_stays(history: &History, set: &str) -> Ruling {
    none(steps(history, set).into_iter().filter_map(|step| {
        let units = &step.units;
        let least = floor(units.min, units.wanted);
        (units.up <= least).then(|| {
            let (unit, name, left) = (&step.unit, &units.name, units.up.saturating_sub(1));
            let message =
                format!("{unit} was deleted, which left {left} of {name} available, want at least {least}");
            violation(TOO_FEW_UP, message).shown_by("deleted", step.at)
        })
    }))
}

/// Requires that steps within one clique or group and one update do not overlap.
pub fn steps_do_not_overlap(history: &History, set: &str) -> Ruling {
    none(steps(history, set).into_iter().filter_map(|step| {
        let (unit, earlier) = (&step.unit, step.earlier);
        let (name, replaced) = (&step.units.name, step.units.replaced);
        (replaced < earlier).then(|| {
            let message = format!(
                "{unit} was deleted when {replaced} of the {earlier} earlier deleted units of {name} were \
                 replaced, want all"
            );
            violation(STEPS_OVERLAP, message).shown_by("deleted", step.at)
        })
    }))
}

pub fn parents_stay_ready(history: &History, set: &str) -> Ruling {
    let parents_of = startup::parents(history.submitted(set)?);
    let mut seen: BTreeSet<(usize, String)> = BTreeSet::new();
    none(deletions(history, set).into_iter().filter_map(|deletion| {
        let state = &deletion.state;
        let (unit, is_up, _) = state.unit(deletion.pod);
        if !is_up || !seen.insert((state.update, unit.clone())) {
            return None;
        }
        let (own, together) = state.deleted_together(deletion.pod);
        let mut parents = own.iter().filter_map(|clique| parents_of.get(clique)).flatten();
        let (parent, needed) = parents
            .find(|(parent, needed)| !together.contains(parent) && state.count(parent, is_ready) < *needed)?;
        let ready = state.count(parent, is_ready);
        let message = format!(
            "{unit} was deleted when {ready} of {needed} pods of parent PodClique {parent} were Ready"
        );
        Some(violation(STEP_BEFORE_PARENTS_READY, message).shown_by("deleted", deletion.at))
    }))
}

/// Requires that the updater stopped after its first step, which deletes at most one available unit of each
/// clique or group. Returns `NotReached` if no step has started.
pub fn stopped_after_first_step(history: &History, set: &str, until: usize) -> Ruling {
    let part = history.upto(until);
    let mut updated: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for deletion in deletions(&part, set) {
        let (unit, is_up, _) = deletion.state.unit(deletion.pod);
        let units = deletion.state.units(deletion.pod).filter(|_| is_up);
        if let Some(units) = units {
            updated.entry(units.name).or_default().insert(unit);
        }
    }
    if updated.is_empty() {
        return Err(Broken::NotReached(format!("the update of PodCliqueSet {set} deleted no available pod")));
    }
    none(updated.iter().filter(|(_, units)| units.len() > 1).map(|(name, units)| {
        let message =
            format!("the first update step of {name} was not complete, but {units:?} had been deleted");
        violation(BEYOND_FIRST_STEP, message)
    }))
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
