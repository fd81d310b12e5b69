//! No pod of a gang is evicted for gangs of the same priority class (PRE-06).

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Violation;
use conformance_history::{Change, Version};

use super::course::{Course, is_groves_pod};
use crate::preemption::{EVICTED_FOR_EQUAL, is_preempted};
use crate::{Shown, none, violation};

/// The priority classes of gangs and pods. A history has no PriorityClasses, so only names can be compared.
#[derive(Default)]
struct Classes<'a> {
    /// By name of the PodGang.
    of_gangs: BTreeMap<&'a str, &'a str>,
    /// By uid of the pod.
    of_pods: BTreeMap<&'a str, &'a str>,
}

impl<'a> Classes<'a> {
    fn update(&mut self, version: &Version<'a>) {
        let Some(class) = version.object["spec"]["priorityClassName"].as_str() else { return };
        match version.kind() {
            "PodGang" => drop(self.of_gangs.insert(version.name(), class)),
            "Pod" => drop(self.of_pods.insert(version.uid(), class)),
            _ => {}
        }
    }

    /// The pod's own class, or else that of its PodGang. `None` without a class.
    fn of(&self, pod: &Version<'a>) -> Option<&'a str> {
        let of_gang = || self.of_gangs.get(pod.pod().pod_gang()?);
        self.of_pods.get(pod.uid()).or_else(of_gang).copied()
    }
}

/// When a scheduler marks a pod for eviction, some waiting pod has another priority class. The invariant
/// does not apply if no pod of another gang waits, or one that is not Grove's: the pod for which the
/// eviction happens is then not in the history, or has a priority that the history does not show.
pub(super) fn is_respected(course: &Course<'_>) -> Ruling {
    let mut classes = Classes::default();
    let mut waiting: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut evicted: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        classes.update(version);
        if version.kind() != "Pod" || version.pod().is_canary() {
            continue;
        }
        let pod = version.pod();
        let is_there = version.change != Change::Deleted && !pod.is_terminating();
        if is_there && pod.node().is_none() && pod.gates().is_empty() {
            waiting.insert(version.uid(), *version);
        } else {
            waiting.remove(version.uid());
        }
        if is_groves_pod(version) && is_preempted(pod) && evicted.insert(version.uid()) {
            violations.extend(evicted_for_equals(version, &waiting, &classes));
        }
    }
    none(violations)
}

fn evicted_for_equals<'a>(
    evicted: &Version<'a>,
    waiting: &BTreeMap<&'a str, Version<'a>>,
    classes: &Classes<'a>,
) -> Option<Violation> {
    let gang = evicted.pod().pod_gang();
    let others: Vec<_> = waiting.values().filter(|other| other.pod().pod_gang() != gang).collect();
    let class = classes.of(evicted);
    let is_equal = |other: &&Version<'a>| is_groves_pod(other) && classes.of(other) == class;
    let first = others.first()?;
    if !others.iter().all(is_equal) {
        return None;
    }
    let message = format!(
        "Pod {} was evicted while only gangs of the same priority class, {}, waited",
        evicted.name(),
        class.unwrap_or("none")
    );
    let found = violation(EVICTED_FOR_EQUAL, message);
    Some(found.shown_by("evicted", *evicted).shown_by("waiting", **first))
}
