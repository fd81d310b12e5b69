use std::collections::{BTreeMap, BTreeSet, VecDeque};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::Scope;
use conformance_facts::generations::deleted_by_harness;
use conformance_facts::health::is_live;
use conformance_facts::updates::{State, is_of_revision, revision, walk};
use conformance_history::{Change, History, Pod, Version, count, list};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::deletions::{Deletion, NEW_DELETED, deletions};
use crate::{Shown, none, patience, violation};

const OLD_CREATED: Code = Code::new("created-from-old-template");
const NOT_RESTORED_FROM_OLD_TEMPLATE: Code = Code::new("not-restored-from-old-template");
const TOO_MANY_PODS_CREATED: Code = Code::new("too-many-pods-created");

struct Replacement<'a> {
    lost: Pod<'a>,
    lost_in: State<'a>,
    created: Version<'a>,
    created_in: State<'a>,
}

impl Replacement<'_> {
    fn is_restored(&self) -> bool {
        have_same_revision(self.lost, self.created.pod())
    }
}

fn have_same_revision(one: Pod<'_>, other: Pod<'_>) -> bool {
    revision(&one.0["spec"]) == revision(&other.0["spec"])
}

fn replacements<'a>(history: &'a History, set: &str) -> Vec<Replacement<'a>> {
    let excused = deleted_by_harness(history);
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    let mut missing: BTreeMap<&str, VecDeque<(Pod<'a>, State<'a>)>> = BTreeMap::new();
    walk(history, set, |state, version| {
        if version.kind() != "Pod" || version.label(names::PART_OF) != Some(set) {
            return;
        }
        let is_deleted = version.change == Change::Deleted || !is_live(version.pod());
        let before =
            state.pods.get(version.uid()).filter(|before| is_deleted && excused.contains(before.name()));
        if let Some(lost) = before.map(|before| before.pod()) {
            missing
                .entry(lost.pod_clique().unwrap_or_default())
                .or_default()
                .push_back((lost, state.clone()));
        }
        if is_deleted || !seen.insert(version.uid()) {
            return;
        }
        let lost = missing.get_mut(version.pod().pod_clique().unwrap_or_default());
        found.extend(lost.and_then(VecDeque::pop_front).map(|(lost, lost_in)| Replacement {
            lost,
            lost_in,
            created: version,
            created_in: state.clone(),
        }));
    });
    found
}

/// Requires that the updater keeps replacements of lost pods that are already new (UPD-15).
pub fn replacements_are_kept(history: &History, set: &str) -> Ruling {
    let replacements = replacements(history, set);
    let created: BTreeSet<_> = replacements.iter().map(|replacement| replacement.created.uid()).collect();
    let again = deletions(history, set).into_iter().filter(|deletion| created.contains(deletion.pod.uid()));
    none(again.filter_map(|deletion| {
        let (_, _, is_old) = deletion.state.unit(deletion.pod);
        let message = format!(
            "Pod {} replaced a lost pod with the current template, and was deleted",
            deletion.pod.name()
        );
        (!is_old).then(|| violation(NEW_DELETED, message).shown_by("deleted", deletion.at))
    }))
}

/// Requires that a pod lost before its replica's update step is restored from the old template.
pub fn restored_from_old_template(history: &History, set: &str) -> Ruling {
    let deletions = deletions(history, set);
    let is_step_started = |state: &State<'_>, pod: Pod<'_>, until: Version<'_>| {
        let replica: Option<usize> = pod.label(names::REPLICA_INDEX).and_then(|index| index.parse().ok());
        let updating = list(&state.pcs()["status"]["updateProgress"]["currentlyUpdating"]);
        let is_reported = updating.iter().any(|entry| count(&entry["replicaIndex"]) == replica);
        let is_of_step =
            |deletion: &Deletion<'_>| deletion.replica() == replica && deletion.state.update == state.update;
        is_reported
            || deletions.iter().any(|deletion| is_of_step(deletion) && deletion.at.index < until.index)
    };
    let replacements = replacements(history, set);
    let mut checked = replacements.iter().filter(|replacement| {
        let Replacement { lost, lost_in, created, created_in } = replacement;
        let is_old_during_update = lost_in.update > 0 && lost_in.is_old(*lost);
        is_old_during_update
            && !is_step_started(lost_in, *lost, *created)
            && !is_step_started(created_in, *lost, *created)
    });
    let first = checked
        .next()
        .ok_or_else(|| Broken::NotReached("no pod was lost before the update step of its replica".into()))?;
    none([first].into_iter().chain(checked).filter(|found| !found.is_restored()).map(|found| {
        let (lost, created) = (found.lost.name(), found.created.name());
        let message = format!(
            "Pod {created} replaced Pod {lost} before the update step of its replica, want a pod of the old \
             template"
        );
        violation(NOT_RESTORED_FROM_OLD_TEMPLATE, message).shown_by("created", found.created)
    }))
}

pub fn created_pods_are_new_or_restored(history: &History, set: &str) -> Ruling {
    let replacements = replacements(history, set);
    let restored = replacements.iter().filter(|replacement| replacement.is_restored());
    let restored: BTreeSet<_> = restored.map(|replacement| replacement.created.uid()).collect();
    created_later(history, set, &restored)
}

/// Requires that pods created during an update have the new template. Pods created within the operator's time
/// to react are excluded, unless the status already reports the end of an OnDelete update.
pub fn created_pods_are_new(history: &History, set: &str) -> Ruling {
    created_later(history, set, &BTreeSet::new())
}

fn created_later(history: &History, set: &str, excused: &BTreeSet<&str>) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    walk(history, set, |state, version| {
        let is_pod_of_set = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        let is_counted = version.change != Change::Deleted && !excused.contains(version.uid());
        if !is_pod_of_set || !is_counted || !seen.insert(version.uid()) {
            return;
        }
        let Some(changed) = state.changed else { return };
        let is_end_reported = state.pcs()["status"]["observedGeneration"]
            == state.pcs()["metadata"]["generation"]
            && !state.pcs()["status"]["updateProgress"]["updateEndedAt"].is_null()
            && state.pcs()["spec"]["updateStrategy"]["type"] == "OnDelete"
            && hash_changed_since(state, changed);
        let is_late = version.happened().duration_since(changed.at) > patience(history);
        if (is_end_reported || is_late) && state.is_old(version.pod()) {
            let message = format!("Pod {} was created from an old template", version.name());
            violations.push(violation(OLD_CREATED, message).shown_by("created", version));
        }
    });
    none(violations)
}

fn hash_changed_since(state: &State<'_>, changed: Version<'_>) -> bool {
    let hash = |pcs: &Value| pcs["status"]["currentGenerationHash"].clone();
    hash(state.pcs()) != hash(changed.object)
}

/// Requires that the selected pods have the new template, until the templates change again (UPD-33, UPD-34).
pub fn pods_created_since_are_new(
    history: &History,
    set: &str,
    since: usize,
    is_selected: impl Fn(Pod<'_>) -> bool,
) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut update = None;
    let mut violations = Vec::new();
    walk(history, set, |state, version| {
        let is_since = version.index >= since && *update.get_or_insert(state.update) == state.update;
        let is_pod_of_set = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        let is_created = is_pod_of_set && version.change != Change::Deleted && seen.insert(version.uid());
        if is_created && is_since && is_selected(version.pod()) && state.is_old(version.pod()) {
            let message = format!("Pod {} was created from an old template during an update", version.name());
            violations.push(violation(OLD_CREATED, message).shown_by("created", version));
        }
    });
    none(violations)
}

/// Requires that all pods of a scope have this template revision. Returns `NotReached` if there are no pods.
pub fn all_of_revision(history: &History, scope: &Scope, wanted: &str) -> Ruling {
    let mut seen = BTreeSet::new();
    let pods = history.pods().filter(|version| scope.has(version.pod()) && seen.insert(version.uid()));
    let pods: Vec<_> = pods.collect();
    if pods.is_empty() {
        return Err(Broken::NotReached(format!("{scope} has no pods")));
    }
    none(pods.into_iter().filter(|version| !is_of_revision(version.pod(), wanted)).map(|version| {
        let message = format!("Pod {} was not created from template revision {wanted}", version.name());
        violation(OLD_CREATED, message).shown_by("created", version)
    }))
}

/// Requires that none of these PodCliques ever has more pods than requested when a pod is created (UPD-15).
pub fn no_excess_pods_created(history: &History, set: &str, cliques: &[&str]) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut sizes: BTreeMap<&str, Vec<(Timestamp, usize)>> = BTreeMap::new();
    let mut violations = Vec::new();
    walk(history, set, |state, version| {
        if version.kind() == "PodClique" {
            let size = count(&version.object["spec"]["replicas"]).unwrap_or(0);
            sizes.entry(version.name()).or_default().push((version.at, size));
        }
        let is_pod_of_set = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        if !is_pod_of_set || version.change == Change::Deleted || !seen.insert(version.uid()) {
            return;
        }
        let clique = version.pod().pod_clique().unwrap_or_default();
        if !cliques.contains(&clique) {
            return;
        }
        let existing = state.pods_of(clique).len() + 1;
        let size = sizes.get(clique).and_then(|sizes| largest(sizes, version.at, patience(history)));
        if let Some(size) = size.filter(|size| existing > *size) {
            let message = format!(
                "PodClique {clique} had {existing} pods when Pod {} was created, want at most {size}",
                version.name()
            );
            violations.push(violation(TOO_MANY_PODS_CREATED, message).shown_by("created", version));
        }
    });
    none(violations)
}

/// Returns the largest size that was requested at this time or shortly before.
fn largest(sizes: &[(Timestamp, usize)], then: Timestamp, before: SignedDuration) -> Option<usize> {
    let ends = sizes.iter().skip(1).map(|(since, _)| Some(*since)).chain([None]);
    let known = sizes.iter().zip(ends);
    let recent = known.filter(|(_, end)| end.is_none_or(|end| then.duration_since(end) <= before));
    recent.map(|((_, size), _)| *size).max()
}

#[cfg(test)]
#[path = "creations_tests.rs"]
mod tests;
