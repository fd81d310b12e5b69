//! Checks of an evicted gang: the lost pods, the remaining pods and the replacements.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::Unit;
use conformance_facts::binding::bound_pods;
use conformance_facts::cliques::pods_of;
use conformance_facts::preemption::report_of_eviction;
use conformance_history::{Change, History, Pod, Version, counted_pods, list};

use super::binding::bindings;
use super::placement::domain;
use super::{Shown, ensure, none, violation};

pub const EVICTED_FOR_EQUAL: Code = Code::new("evicted-for-equal-priority");
pub const EVICTED_WITHOUT_ROOM: Code = Code::new("evicted-without-room");
pub const EVICTED_WITHOUT_DOMAIN: Code = Code::new("evicted-without-domain");
pub const EVICTED_BY_NEVER: Code = Code::new("evicted-although-never");
pub const EVICTED_FOR_SURPLUS: Code = Code::new("evicted-for-surplus");
pub const EVICTED_WITHIN_SHARE: Code = Code::new("evicted-within-share");
const EVICTED_IN_ANOTHER_DOMAIN: Code = Code::new("evicted-in-another-domain");
const CLEARED_ROOM_TAKEN: Code = Code::new("cleared-room-taken");
const PREEMPTED_IN_PART: Code = Code::new("preempted-in-part");
const EVICTED_POD_NOT_REPLACED: Code = Code::new("evicted-pod-not-replaced");
const REPLACEMENT_CREATED_UNGATED: Code = Code::new("replacement-created-ungated");
const REPLACEMENT_RELEASED_EARLY: Code = Code::new("replacement-released-early");
const REPLACEMENT_BOUND_EARLY: Code = Code::new("replacement-bound-early");
const REPLACEMENT_DELETED: Code = Code::new("replacement-deleted");
const EVICTION_NOT_REPORTED: Code = Code::new("eviction-not-reported");
const EVICTION_WRONGLY_REPORTED: Code = Code::new("eviction-wrongly-reported");

pub(super) fn is_preempted(pod: Pod<'_>) -> bool {
    let marked = pod.condition("DisruptionTarget");
    marked.is_some_and(|found| found["status"] == "True" && found["reason"] == "PreemptionByScheduler")
}

/// The pods of a gang that were bound when another gang arrived, and the pods that replaced them.
#[derive(Debug)]
pub struct Victim<'a> {
    history: &'a History,
    units: Vec<Unit>,
    since: usize,
    old: BTreeSet<&'a str>,
    replacements: BTreeSet<&'a str>,
}

impl<'a> Victim<'a> {
    pub fn of(history: &'a History, units: Vec<Unit>, since: usize) -> Self {
        let mut known = BTreeSet::new();
        let (mut old, mut replacements) = (BTreeSet::new(), BTreeSet::new());
        for version in history.pods().filter(|version| is_of_units(&units, version.pod())) {
            let (pod, uid) = (version.pod(), version.uid());
            if version.index >= since {
                if !known.contains(uid) {
                    replacements.insert(uid);
                }
                continue;
            }
            known.insert(uid);
            if version.change != Change::Deleted && pod.node().is_some() && !pod.is_terminating() {
                old.insert(uid);
            } else {
                old.remove(uid);
            }
        }
        Self { history, units, since, old, replacements }
    }

    pub fn stays(&self, until: usize, code: &Code) -> Ruling {
        none(self.lost(until).into_iter().map(|version| {
            let message = format!("Pod {} of a running gang was evicted", version.name());
            violation(code.clone(), message).shown_by("evicted", version)
        }))
    }

    fn lost(&self, until: usize) -> Vec<Version<'a>> {
        let mut evicted = BTreeSet::new();
        let lost = self.versions(until).filter(|version| self.old.contains(version.uid()));
        lost.filter(|version| is_lost(version) && evicted.insert(version.uid())).collect()
    }

    fn domains(&self, key: &str) -> BTreeSet<&'a str> {
        let old = self.history.pods().filter(|version| self.old.contains(version.uid()));
        old.filter_map(|version| domain(self.history, self.since, version.pod().node()?, key)).collect()
    }

    /// Requires that the gang has at least its minimum of bound pods, or none (PRE-02).
    pub fn is_not_in_part(&self, until: usize) -> Ruling {
        let live = self.history.before(until);
        none(self.units.iter().filter_map(|unit| {
            let bound = |(clique, _): &(String, usize)| bound_pods(&live, clique);
            let is_whole = unit.minimums.iter().all(|minimum| bound(minimum) >= minimum.1);
            let left: usize = unit.minimums.iter().map(bound).sum();
            if is_whole || left == 0 {
                return None;
            }
            let pods = counted_pods(left);
            let message = format!("{unit} has {pods} bound after its preemption, want all or none");
            let pods = live.pods().filter(|pod| is_of_units(std::slice::from_ref(unit), *pod));
            let pods = pods.filter(|pod| pod.node().is_some() && !pod.is_terminating());
            Some(pods.fold(violation(PREEMPTED_IN_PART, message), |found, pod| {
                found.shown_by_object("still bound", pod.0)
            }))
        }))
    }

    /// Requires that each PodClique has its minimum again, with pods gated until a PodGang refers to them
    /// (PRE-10).
    pub fn is_replaced(&self, until: usize) -> Ruling {
        let live = self.history.before(until);
        let minimums = self.units.iter().flat_map(|unit| &unit.minimums);
        let missing = minimums.filter_map(|(clique, minimum)| {
            let found = pods_of(&live, clique).count();
            (found < *minimum).then(|| {
                let found = counted_pods(found);
                let message = format!("PodClique {clique} has {found} after the eviction, want {minimum}");
                violation(EVICTED_POD_NOT_REPLACED, message)
            })
        });
        none(missing.chain(self.released_early(until)))
    }

    fn released_early(&self, until: usize) -> Vec<Violation> {
        let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let (mut created, mut released) = (BTreeSet::new(), BTreeSet::new());
        let mut violations = Vec::new();
        for version in self.history.as_written().into_iter().filter(|version| version.index < until) {
            if version.kind() == "PodGang" {
                named.insert(version.uid(), references(version));
            }
            if !self.replacements.contains(version.uid()) || version.change == Change::Deleted {
                continue;
            }
            let name = version.name();
            let is_gated = version.pod().gates().contains(&names::GATE);
            if created.insert(version.uid()) && !is_gated {
                let message =
                    format!("Pod {name}, which replaces an evicted pod, was created without a gate");
                violations.push(violation(REPLACEMENT_CREATED_UNGATED, message).shown_by("created", version));
                released.insert(version.uid());
            }
            if is_gated || !released.insert(version.uid()) {
                continue;
            }
            if !named.values().any(|names| names.contains(name)) {
                let message = format!("Pod {name} lost its gate before a PodGang referred to it");
                let found = violation(REPLACEMENT_RELEASED_EARLY, message);
                violations.push(found.shown_by("gate removed", version));
            }
        }
        violations
    }

    pub fn waits(&self, until: usize) -> Ruling {
        let mut bound = BTreeSet::new();
        let early = self.versions(until).filter(|version| self.replacements.contains(version.uid()));
        let early = early.filter(|version| version.pod().node().is_some() && bound.insert(version.uid()));
        none(early.map(|version| {
            let message = format!(
                "Pod {} was bound before there was room for all replacements of its gang",
                version.name()
            );
            violation(REPLACEMENT_BOUND_EARLY, message).shown_by("bound", version)
        }))
    }

    /// Requires that replacements are not deleted before they are bound (PRE-12).
    pub fn replacements_stay(&self, until: usize) -> Ruling {
        let (mut bound, mut deleted) = (BTreeSet::new(), BTreeSet::new());
        let mut violations = Vec::new();
        for version in self.versions(until).filter(|version| self.replacements.contains(version.uid())) {
            let is_deleted = version.change == Change::Deleted || version.pod().is_terminating();
            if version.pod().node().is_some() {
                bound.insert(version.uid());
            } else if is_deleted && !bound.contains(version.uid()) && deleted.insert(version.uid()) {
                let message = format!(
                    "Pod {}, which replaced an evicted pod, was deleted while it waited",
                    version.name()
                );
                violations.push(violation(REPLACEMENT_DELETED, message).shown_by("deleted", version));
            }
        }
        none(violations)
    }

    /// Requires a report of the eviction (PRE-13). [`Self::is_not_reported`] covers the end of the report.
    pub fn is_reported(&self, set: &str, until: usize) -> Ruling {
        let live = self.history.before(until);
        ensure(report_of_eviction(&live, set, &self.units).is_some(), || {
            let message = format!(
                "no condition of PodCliqueSet {set} or its PodGang reports that its pods were evicted"
            );
            violation(EVICTION_NOT_REPORTED, message)
        })
    }

    pub fn is_not_reported(&self, set: &str, until: usize) -> Ruling {
        let live = self.history.before(until);
        none(report_of_eviction(&live, set, &self.units).map(|found| {
            let message =
                format!("a condition reports an eviction although PodCliqueSet {set} is fully bound");
            violation(EVICTION_WRONGLY_REPORTED, message).shown_by_object("reports it", found)
        }))
    }

    fn versions(&self, until: usize) -> impl Iterator<Item = Version<'a>> {
        let since = self.since;
        self.history.pods().filter(move |version| version.index >= since && version.index < until)
    }
}

/// Requires that at most `needed` gangs lose pods, which is enough for the preemptor's minimum (PRE-08).
pub fn are_spared(victims: &[Victim<'_>], needed: usize, until: usize) -> Ruling {
    let lost: Vec<_> = victims.iter().filter_map(|victim| victim.lost(until).into_iter().next()).collect();
    ensure(lost.len() <= needed, || {
        let message = format!(
            "{} gangs were evicted, want at most {needed}: their nodes suffice for the preemptor's minimum",
            lost.len()
        );
        let found = violation(EVICTED_FOR_SURPLUS, message);
        lost.into_iter().fold(found, |found, version| found.shown_by("evicted", version))
    })
}

/// Requires that each gang that lost a pod had one in the preemptor's domain of this level (PRE-05).
pub fn share_domain(
    history: &History,
    victims: &[Victim<'_>],
    preemptor: &[Unit],
    key: &str,
    until: usize,
) -> Ruling {
    let live = history.before(until);
    let of_preemptor = live.pods().filter(|pod| is_of_units(preemptor, *pod));
    let domains: BTreeSet<&str> =
        of_preemptor.filter_map(|pod| domain(history, until, pod.node()?, key)).collect();
    if domains.is_empty() {
        return Err(Broken::NotReached("no pod of the preemptor is bound in a domain".into()));
    }
    let mut violations = Vec::new();
    for victim in victims.iter().filter(|victim| victim.domains(key).is_disjoint(&domains)) {
        for lost in victim.lost(until) {
            let bound: Vec<_> = domains.iter().copied().collect();
            let message = format!(
                "Pod {} was evicted, but no pod of its gang was in the domain of the preemptor, {}",
                lost.name(),
                bound.join(", ")
            );
            violations.push(violation(EVICTED_IN_ANOTHER_DOMAIN, message).shown_by("evicted", lost));
        }
    }
    none(violations)
}

/// Requires that no pod of `lower` is bound after the preemptor's arrival at the entry `since` (PRE-09).
pub fn room_is_kept(history: &History, lower: &[Unit], since: usize, until: usize) -> Ruling {
    let is_meanwhile = |version: &Version<'_>| version.index >= since && version.index < until;
    let taken =
        bindings(history).filter(|version| is_meanwhile(version) && is_of_units(lower, version.pod()));
    none(taken.map(|version| {
        let message = format!(
            "Pod {} of lower priority was bound to Node {} while the preemptor waited",
            version.name(),
            version.pod().node().unwrap_or_default()
        );
        violation(CLEARED_ROOM_TAKEN, message).shown_by("bound", version)
    }))
}

fn is_of_units(units: &[Unit], pod: Pod<'_>) -> bool {
    let mut cliques = units.iter().flat_map(|unit| &unit.minimums);
    cliques.any(|(clique, _)| pod.pod_clique() == Some(clique))
}

fn is_lost(version: &Version<'_>) -> bool {
    version.change == Change::Deleted || version.pod().is_terminating() || is_preempted(version.pod())
}

fn references<'a>(pod_gang: Version<'a>) -> BTreeSet<&'a str> {
    let podgroups = list(&pod_gang.object["spec"]["podgroups"]).iter();
    let references = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
    references.filter_map(|reference| reference["name"].as_str()).collect()
}

#[cfg(test)]
#[path = "preemption_tests.rs"]
mod tests;
