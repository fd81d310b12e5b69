//! Requires that each unit is bound whole or not at all after every scheduler pass (AON-02).

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Violation;
use conformance_expect::{Unit, gangs, resolver};
use conformance_history::{Change, SharedMark, Version, counted_pods, is_of_canary};

use super::course::{Course, Idle, is_groves_pod};
use crate::binding::BOUND_IN_PART;
use crate::coexistence::has_stand_in;
use crate::{Shown, none, violation};

/// A scheduler pass: the resourceVersions at which its two canaries were bound. An attempt that bound a pod
/// before the first canary has ended when the second canary is bound.
struct Pass {
    started: u64,
    ended: u64,
}

type Bound<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Version<'a>>>;

struct Watched {
    unit: Unit,
    was_whole: bool,
}

/// Requires that, after a scheduler pass, a unit has no bound pod unless all its minimums were bound at some
/// time since its PodCliques were created. Not checked if a stand-in replaces the scheduler.
pub(super) fn whole_or_nothing(course: &Course<'_>) -> Ruling {
    let target = course.history.header.target;
    let mut binders = course.history.marks(SharedMark::BoundBy);
    if binders.any(|(_, mark)| has_stand_in(&mark.detail, target.backend())) {
        return Ok(());
    }
    let mut sets: BTreeMap<&str, Vec<Watched>> = BTreeMap::new();
    let mut bound: Bound<'_> = BTreeMap::new();
    let mut passes = passes(course).into_iter().peekable();
    let mut reported: BTreeSet<String> = BTreeSet::new();
    let mut violations: Vec<Violation> = Vec::new();
    let mut check_units = |pass: &Pass, sets: &BTreeMap<&str, Vec<Watched>>, bound: &Bound<'_>| {
        for watched in sets.values().flatten().filter(|watched| !watched.was_whole) {
            let found = in_part(&watched.unit, pass, bound);
            violations.extend(found.filter(|_| reported.insert(watched.unit.to_string())));
        }
    };
    let terminations = course.termination_starts();
    let mut left: BTreeSet<&str> = BTreeSet::new();
    let mut idle = Idle::default();
    for version in &course.versions {
        idle.update(version);
        while let Some(pass) = passes.next_if(|pass| pass.ended < version.revision()) {
            check_units(&pass, &sets, &bound);
        }
        // Later versions do not matter, because no pass follows.
        if passes.peek().is_none() {
            break;
        }
        if let Some(prefix) = terminations.get(&version.index) {
            let is_terminated = |clique: &str| clique.starts_with(prefix.as_str());
            for watched in sets.values_mut().flatten() {
                watched.was_whole &= !watched.unit.minimums.iter().any(|(clique, _)| is_terminated(clique));
            }
            // A terminated unit no longer counts, regardless of the order in which its objects are deleted.
            let terminated_pods = bound.iter_mut().filter(|(clique, _)| is_terminated(clique));
            left.extend(terminated_pods.flat_map(|(_, pods)| std::mem::take(pods).into_keys()));
        }
        match version.kind() {
            "PodCliqueSet" if !is_of_canary(version.object) => {
                let known = sets.remove(version.uid()).unwrap_or_default();
                let is_ending = version.object["metadata"]["deletionTimestamp"].is_string();
                if version.change != Change::Deleted && !is_ending {
                    let expected = resolver::resolved_in(course.history, gangs(version.object));
                    let units = expected.iter().flat_map(|gang| gang.units(target));
                    let watched = units.map(|unit| {
                        let was = known.iter().find(|watched| watched.unit == unit);
                        Watched { was_whole: was.is_some_and(|was| was.was_whole), unit }
                    });
                    sets.insert(version.uid(), watched.collect());
                }
            }
            "PodClique" if version.change == Change::Deleted => {
                left.extend(bound.remove(version.name()).unwrap_or_default().into_keys());
                for watched in sets.values_mut().flatten() {
                    let cliques = || watched.unit.minimums.iter().map(|(clique, _)| clique.as_str());
                    // A scaling-group replica may be terminated alone, while its gang keeps running.
                    let is_partly_running =
                        cliques().any(|clique| bound.get(clique).is_some_and(|pods| !pods.is_empty()));
                    watched.was_whole &=
                        is_partly_running || !cliques().any(|clique| clique == version.name());
                }
            }
            "Pod" if left.contains(version.uid()) => {}
            "Pod" if is_groves_pod(version) && is_for(version, target.backend()) => {
                let pod = version.pod();
                let clique = bound.entry(pod.pod_clique().unwrap_or_default()).or_default();
                if version.change == Change::Deleted || pod.is_terminating() || pod.node().is_none() {
                    clique.remove(version.uid());
                    continue;
                }
                if clique.contains_key(version.uid()) {
                    continue;
                }
                clique.insert(version.uid(), *version);
                for watched in sets.values_mut().flatten() {
                    watched.was_whole |= is_whole(&watched.unit, &bound, &idle);
                }
            }
            _ => {}
        }
    }
    for pass in passes {
        check_units(&pass, &sets, &bound);
    }
    none(violations)
}

fn is_for(pod: &Version<'_>, scheduler: &str) -> bool {
    pod.object["spec"]["schedulerName"] == scheduler
}

fn is_whole(unit: &Unit, bound: &Bound<'_>, idle: &Idle<'_>) -> bool {
    let mut required = unit.minimums.iter().filter(|(clique, _)| !idle.has(clique));
    required.all(|(clique, min)| bound.get(clique.as_str()).map_or(0, BTreeMap::len) >= *min)
}

fn in_part(unit: &Unit, pass: &Pass, bound: &Bound<'_>) -> Option<Violation> {
    let of_unit = unit.minimums.iter().filter_map(|(clique, _)| bound.get(clique.as_str()));
    let before: Vec<_> =
        of_unit.flat_map(BTreeMap::values).filter(|version| version.revision() < pass.started).collect();
    let message = || {
        format!(
            "{unit} had {} bound after a full pass of the scheduler, and was never fully bound",
            counted_pods(before.len())
        )
    };
    let found = (!before.is_empty()).then(|| violation(BOUND_IN_PART, message()))?;
    Some(before.iter().fold(found, |found, version| {
        found.shown_by(format!("bound to Node {}", version.pod().node().unwrap_or_default()), **version)
    }))
}

fn passes(course: &Course<'_>) -> Vec<Pass> {
    let mut seen = BTreeSet::new();
    let canaries: Vec<_> = course
        .history
        .of("Pod")
        .filter(|version| version.pod().is_canary() && version.pod().node().is_some())
        .filter(|version| seen.insert(version.uid()))
        .collect();
    let marks = course.history.marks(SharedMark::SchedulerPassed);
    let pass = |(index, _)| {
        let before = &canaries[..canaries.partition_point(|canary| canary.index < index)];
        let [.., first, second] = before else { return None };
        Some(Pass { started: first.revision(), ended: second.revision() })
    };
    marks.filter_map(pass).collect()
}
