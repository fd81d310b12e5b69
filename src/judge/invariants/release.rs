//! Pods are gated until their PodGang is ready for them (GANG-05, GANG-06, GANG-07).

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::schedulers;
use conformance_history::{Change, Version, condition, list};

use super::course::{Course, is_groves_pod};
use crate::gangs::UNINITIALIZED_AGAIN;
use crate::order::{UNGATED_BEFORE_GROUP, UNGATED_BEFORE_INITIALIZED};
use crate::{Shown, none, violation};

const CREATED_UNGATED: Code = Code::new("created-ungated");
const SECOND_GATE: Code = Code::new("second-gate");
const NAMES_ANOTHER_GANG: Code = Code::new("names-another-gang");
const FOREIGN_GATE_REMOVED: Code = Code::new("foreign-gate-removed");

/// The prefix of Grove's names.
const GROVES: &str = "grove.io/";

/// Every pod is created with Grove's gate and no other of Grove's, and the write that removes it leaves the gates of
/// others.
pub(super) fn gated(course: &Course<'_>) -> Ruling {
    let mut last: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut violations = Vec::new();
    for version in course.pods().filter(|version| version.change != Change::Deleted) {
        let gates = version.pod().gates();
        let found = match last.get(version.uid()) {
            None => created_with(&version, &gates),
            Some(before) => released_with(&version, before, &gates),
        };
        violations.extend(found);
        last.insert(version.uid(), gates);
    }
    none(violations)
}

fn created_with(version: &Version<'_>, gates: &[&str]) -> Option<Violation> {
    let name = version.name();
    if !gates.contains(&names::GATE) {
        let message = format!("{name} was created without the scheduling gate {}", names::GATE);
        return Some(violation(CREATED_UNGATED, message).shown_by("created", *version));
    }
    let second = gates.iter().find(|gate| gate.starts_with(GROVES) && **gate != names::GATE)?;
    let message = format!("{name} was created with {second}, another scheduling gate of Grove's");
    Some(violation(SECOND_GATE, message).shown_by("created", *version))
}

fn released_with(version: &Version<'_>, before: &[&str], gates: &[&str]) -> Option<Violation> {
    let is_release = before.contains(&names::GATE) && !gates.contains(&names::GATE);
    let taken = before.iter().find(|gate| !gate.starts_with(GROVES) && !gates.contains(gate));
    let taken = taken.filter(|_| is_release)?;
    let message = format!("the release of {} removed {taken} too, which is another's", version.name());
    Some(violation(FOREIGN_GATE_REMOVED, message).shown_by("released", *version))
}

/// When a pod loses Grove's gate, its label names a PodGang that lists its PodClique.
pub(super) fn names_its_gang(course: &Course<'_>) -> Ruling {
    let mut pod_gangs: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut released: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        let is_there = version.change != Change::Deleted;
        if version.kind() == "PodGang" {
            match is_there {
                true => drop(pod_gangs.insert(version.uid(), *version)),
                false => drop(pod_gangs.remove(version.uid())),
            }
        }
        let pod = version.pod();
        let is_gated = || pod.gates().contains(&names::GATE);
        if !is_groves_pod(version) || !is_there || is_gated() || !released.insert(version.uid()) {
            continue;
        }
        let mut listing = pod_gangs.values().filter(|gang| lists(gang, pod.pod_clique())).peekable();
        let Some(first) = listing.peek().copied() else { continue };
        if listing.all(|gang| pod.pod_gang() != Some(gang.name())) {
            let said = pod.pod_gang().unwrap_or("none");
            let message = format!(
                "label {} of {} says {said}; PodGang {} lists it",
                names::POD_GANG,
                pod.name(),
                first.name()
            );
            let found = violation(NAMES_ANOTHER_GANG, message);
            violations.push(found.shown_by("released", *version).shown_by("lists it", *first));
        }
    }
    none(violations)
}

/// Whether a PodGang has a PodClique among its podgroups.
fn lists(pod_gang: &Version<'_>, clique: Option<&str>) -> bool {
    let mut podgroups = list(&pod_gang.object["spec"]["podgroups"]).iter();
    podgroups.any(|podgroup| podgroup["name"].as_str() == clique)
}

fn is_initialized(version: &Version<'_>) -> bool {
    condition(version.object, "Initialized").is_some_and(|condition| condition["status"] == "True")
}

/// A PodGang that was Initialized is so until it is deleted.
pub(super) fn stays_initialized(course: &Course<'_>) -> Ruling {
    let mut were: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut broken = BTreeSet::new();
    let mut violations = Vec::new();
    let pod_gangs = course.versions.iter().filter(|version| version.kind() == "PodGang");
    for version in pod_gangs.filter(|version| version.change != Change::Deleted) {
        if is_initialized(version) {
            were.entry(version.uid()).or_insert(*version);
        } else if let Some(was) = were.get(version.uid())
            && broken.insert(version.uid())
        {
            let message = format!("PodGang {} was Initialized and no longer is", version.name());
            let found = violation(UNINITIALIZED_AGAIN, message);
            violations.push(found.shown_by("it was", *was).shown_by("no longer", *version));
        }
    }
    none(violations)
}

/// When a pod loses Grove's gate, a PodGang that lists its PodClique is Initialized, and the gang resource that the pod
/// names is there. Which PodGang is its own is not asked of its labels.
pub(super) fn in_order(course: &Course<'_>) -> Ruling {
    let target = course.history.header.target;
    let expectations = schedulers::of(target);
    let kind = expectations.kinds().last().copied();
    let mut pod_gangs: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut groups: BTreeSet<&str> = BTreeSet::new();
    let mut released: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        let is_there = version.change != Change::Deleted;
        if version.kind() == "PodGang" {
            match is_there {
                true => drop(pod_gangs.insert(version.uid(), *version)),
                false => drop(pod_gangs.remove(version.uid())),
            }
        } else if Some(version.kind()) == kind {
            match is_there {
                true => drop(groups.insert(version.name())),
                false => drop(groups.remove(version.name())),
            }
        }
        let pod = version.pod();
        let is_gated = || pod.gates().contains(&names::GATE);
        if !is_groves_pod(version) || !is_there || is_gated() || !released.insert(version.uid()) {
            continue;
        }
        let mut message = None;
        if !pod_gangs.values().filter(|gang| lists(gang, pod.pod_clique())).any(is_initialized) {
            let clique = pod.pod_clique().unwrap_or("no PodClique");
            message =
                Some((UNGATED_BEFORE_INITIALIZED, format!("a PodGang that lists {clique} was Initialized")));
        } else if pod.0["spec"]["schedulerName"] == target.backend()
            && let Some(group) = expectations.named_by(pod).filter(|group| !groups.contains(group))
        {
            message = Some((UNGATED_BEFORE_GROUP, format!("{} {group} existed", kind.unwrap_or_default())));
        }
        if let Some((code, missing)) = message {
            let message = format!("{} lost its gate before {missing}", pod.name());
            violations.push(violation(code, message).shown_by("released", *version));
        }
    }
    none(violations)
}
