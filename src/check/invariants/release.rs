use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::schedulers;
use conformance_history::{Change, Pod, Version, condition, list};

use super::course::{Course, is_groves_pod};
use crate::gangs::UNINITIALIZED_AGAIN;
use crate::order::{FOREIGN_GATE_REMOVED, UNGATED_BEFORE_GROUP, UNGATED_BEFORE_INITIALIZED};
use crate::{Shown, none, violation};

const CREATED_UNGATED: Code = Code::new("created-ungated");
const SECOND_GATE: Code = Code::new("second-gate");
const NAMES_ANOTHER_GANG: Code = Code::new("names-another-gang");

const GROVES: &str = "grove.io/";

pub(super) fn gated(course: &Course<'_>) -> Ruling {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let pods = course.pods().filter(|version| version.change != Change::Deleted);
    let created = pods.filter(|version| seen.insert(version.uid()));
    none(created.filter_map(|version| created_with(&version, &version.pod().gates())))
}

pub(super) fn leaves_other_gates(course: &Course<'_>) -> Ruling {
    let mut last: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut violations = Vec::new();
    for version in course.pods().filter(|version| version.change != Change::Deleted) {
        let gates = version.pod().gates();
        let before = last.get(version.uid());
        violations.extend(before.and_then(|before| released_with(&version, before, &gates)));
        last.insert(version.uid(), gates);
    }
    none(violations)
}

fn created_with(version: &Version<'_>, gates: &[&str]) -> Option<Violation> {
    let name = version.name();
    if !gates.contains(&names::GATE) {
        let message = format!("Pod {name} was created without the scheduling gate {}", names::GATE);
        return Some(violation(CREATED_UNGATED, message).shown_by("created", *version));
    }
    let second = gates.iter().find(|gate| gate.starts_with(GROVES) && **gate != names::GATE)?;
    let message = format!("Pod {name} was created with {second}, a second scheduling gate of Grove");
    Some(violation(SECOND_GATE, message).shown_by("created", *version))
}

fn released_with(version: &Version<'_>, before: &[&str], gates: &[&str]) -> Option<Violation> {
    let is_release = before.contains(&names::GATE) && !gates.contains(&names::GATE);
    let taken = before.iter().find(|gate| !gate.starts_with(GROVES) && !gates.contains(gate));
    let taken = taken.filter(|_| is_release)?;
    let message = format!(
        "Pod {}: the write that removed Grove's gate also removed the foreign gate {taken}",
        version.name()
    );
    Some(violation(FOREIGN_GATE_REMOVED, message).shown_by("gate removed", *version))
}

#[derive(Default)]
struct Existing<'a> {
    pod_gangs: BTreeMap<&'a str, Version<'a>>,
    /// The uids of the PodGangs that list each PodClique.
    listing: BTreeMap<&'a str, BTreeSet<&'a str>>,
    deleted: Vec<Version<'a>>,
    groups: BTreeSet<&'a str>,
}

impl<'a> Existing<'a> {
    fn update(&mut self, version: &Version<'a>, joined: Option<&str>) {
        let is_there = version.change != Change::Deleted;
        match version.kind() {
            "PodGang" => {
                let uid = version.uid();
                for clique in self.pod_gangs.remove(uid).iter().flat_map(listed) {
                    self.listing.entry(clique).or_default().remove(uid);
                }
                if is_there {
                    for clique in listed(version) {
                        self.listing.entry(clique).or_default().insert(uid);
                    }
                    self.pod_gangs.insert(uid, *version);
                } else {
                    self.deleted.push(*version);
                }
            }
            kind if Some(kind) == joined && is_there => drop(self.groups.insert(version.name())),
            kind if Some(kind) == joined => drop(self.groups.remove(version.name())),
            _ => (),
        }
    }

    /// A deleted PodGang counts too, because the removal of the gate may race with its deletion.
    fn was_ready_for(&self, pod: Pod<'_>) -> bool {
        self.deleted.iter().any(|gang| {
            let podgroups = list(&gang.object["spec"]["podgroups"]).iter();
            let mut named = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
            is_initialized(gang) && named.any(|reference| reference["name"] == pod.name())
        })
    }

    fn listing(&self, clique: Option<&str>) -> impl Iterator<Item = &Version<'a>> {
        let uids = clique.and_then(|clique| self.listing.get(clique)).into_iter().flatten();
        uids.filter_map(|uid| self.pod_gangs.get(uid))
    }
}

fn at_release<'a>(
    course: &Course<'a>,
    fault: impl Fn(&Version<'a>, &Existing<'a>) -> Option<Violation>,
) -> Ruling {
    let joined = schedulers::of(course.history.header.target).kinds().last().copied();
    let mut existing = Existing::default();
    let mut released: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        existing.update(version, joined);
        let is_pod = is_groves_pod(version) && version.change != Change::Deleted;
        if is_pod && !version.pod().gates().contains(&names::GATE) && released.insert(version.uid()) {
            violations.extend(fault(version, &existing));
        }
    }
    none(violations)
}

pub(super) fn names_its_gang(course: &Course<'_>) -> Ruling {
    at_release(course, |version, existing| {
        let pod = version.pod();
        let first = existing.listing(pod.pod_clique()).next()?;
        if existing.listing(pod.pod_clique()).any(|gang| pod.pod_gang() == Some(gang.name())) {
            return None;
        }
        let found = pod.pod_gang().unwrap_or("none");
        let (label, gang) = (names::POD_GANG, first.name());
        let message = format!(
            "label {label} of Pod {} is {found}, want {gang}: that PodGang lists the pod's PodClique",
            pod.name()
        );
        let found = violation(NAMES_ANOTHER_GANG, message);
        Some(found.shown_by("gate removed", *version).shown_by("lists it", *first))
    })
}

fn listed<'a>(pod_gang: &Version<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    list(&pod_gang.object["spec"]["podgroups"]).iter().filter_map(|podgroup| podgroup["name"].as_str())
}

fn is_initialized(version: &Version<'_>) -> bool {
    condition(version.object, "Initialized").is_some_and(|condition| condition["status"] == "True")
}

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
            let message = format!("PodGang {}: condition Initialized did not stay True", version.name());
            let found = violation(UNINITIALIZED_AGAIN, message);
            violations.push(found.shown_by("Initialized=True", *was).shown_by("not Initialized", *version));
        }
    }
    none(violations)
}

/// Requires that pods are ungated in order (GANG-07). Pods belong to the PodGang that lists their PodClique.
pub(super) fn in_order(course: &Course<'_>) -> Ruling {
    let target = course.history.header.target;
    at_release(course, |version, existing| {
        let pod = version.pod();
        if existing.was_ready_for(pod) {
            return None;
        }
        let expectations = schedulers::of(target);
        let (code, missing) = if !existing.listing(pod.pod_clique()).any(is_initialized) {
            let clique = pod.pod_clique().unwrap_or("no PodClique");
            (UNGATED_BEFORE_INITIALIZED, format!("a PodGang that lists PodClique {clique} was Initialized"))
        } else {
            let joins = pod.0["spec"]["schedulerName"] == target.backend();
            let group =
                expectations.named_by(pod).filter(|group| joins && !existing.groups.contains(group))?;
            let kind = expectations.kinds().last().copied().unwrap_or_default();
            (UNGATED_BEFORE_GROUP, format!("{kind} {group} existed"))
        };
        let message = format!("Pod {} lost its gate before {missing}", pod.name());
        Some(violation(code, message).shown_by("gate removed", *version))
    })
}
