use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_expect::scaling::template_name;
use conformance_expect::{Gang, gangs};
use conformance_history::{Change, Version, count, list, text};
use serde_json::Value;

use super::course::{Course, Idle, is_groves_pod};
use crate::binding::BOUND_BEFORE_BASE;
use crate::{Shown, none, violation};

/// Requires that scaled pods are bound only after the base (AON-06). Bindings before the last creation of a
/// base clique do not count, and idle cliques are excluded. A pod that was ungated while its base was bound
/// may be bound after the base was terminated, because a removed gate cannot be restored.
pub(super) fn is_kept(course: &Course<'_>) -> Ruling {
    let submitted = &course.history.header.submitted;
    let mut bases: BTreeMap<(&str, usize), Option<Gang>> = BTreeMap::new();
    let mut ever_bound: BTreeSet<&str> = BTreeSet::new();
    let mut ever_released: BTreeSet<&str> = BTreeSet::new();
    let mut released_after_base: BTreeSet<&str> = BTreeSet::new();
    let mut bound: BTreeMap<&str, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    let terminations = course.termination_starts();
    let mut idle = Idle::default();
    for version in &course.versions {
        idle.update(version);
        if let Some(prefix) = terminations.get(&version.index) {
            bound.retain(|clique, _| !clique.starts_with(prefix.as_str()));
        }
        if version.kind() == "PodClique" && version.change == Change::Deleted {
            bound.remove(version.name());
        }
        if !is_groves_pod(version) || version.change == Change::Deleted {
            continue;
        }
        let (pod, uid) = (version.pod(), version.uid());
        let is_release = !pod.gates().contains(&names::GATE) && ever_released.insert(uid);
        let is_binding = pod.node().is_some() && ever_bound.insert(uid);
        if is_binding {
            *bound.entry(pod.pod_clique().unwrap_or_default()).or_default() += 1;
        }
        if !is_release && !is_binding {
            continue;
        }
        let Some((set, pcs)) = pod.label(names::PART_OF).and_then(|set| submitted.get_key_value(set)) else {
            continue;
        };
        let Some(replica) = index(version, names::REPLICA_INDEX).filter(|_| is_scaled(version, pcs)) else {
            continue;
        };
        let base = bases.entry((set, replica)).or_insert_with(|| base(pcs, replica));
        let groups = base.iter().flat_map(|base| &base.groups).filter(|group| !idle.has(&group.clique));
        let missing = groups
            .map(|group| (group, bound.get(group.clique.as_str()).copied().unwrap_or(0)))
            .find(|(group, bound)| *bound < group.min);
        let Some((group, before)) = missing else {
            if is_release {
                released_after_base.insert(uid);
            }
            continue;
        };
        if is_binding && !released_after_base.contains(uid) {
            let message = format!(
                "Pod {} of a scaled PodGang was bound before its base PodGang: {before} of {} required \
                 pods of PodClique {} were bound",
                pod.name(),
                group.min,
                group.clique
            );
            violations.push(violation(BOUND_BEFORE_BASE, message).shown_by("bound", *version));
        }
    }
    none(violations)
}

fn index(version: &Version<'_>, label: &str) -> Option<usize> {
    version.label(label)?.parse().ok()
}

fn is_scaled(version: &Version<'_>, pcs: &Value) -> bool {
    let Some(name) = version.label(names::SCALING_GROUP) else { return false };
    let Some(replica) = index(version, names::SCALING_GROUP_REPLICA_INDEX) else { return false };
    let groups = list(&pcs["spec"]["template"]["podCliqueScalingGroups"]);
    let name = template_name(text(&pcs["metadata"]["name"]), name);
    let own = groups.iter().find(|group| group["name"] == name);
    own.is_some_and(|group| replica >= count(&group["minAvailable"]).unwrap_or(1))
}

/// Returns the base PodGang of a replica, including replicas that were added later.
fn base(pcs: &Value, replica: usize) -> Option<Gang> {
    let mut grown = pcs.clone();
    grown["spec"]["replicas"] = (replica + 1).into();
    gangs(&grown).into_iter().find(|gang| gang.is_base && gang.replica == replica)
}
