//! A podgroup that is scaled to 0 leaves its PodGang until it is scaled out again (AUTO-06).
//!
//! A PodGang keeps the shape of its idle podgroups, because immutable gang resources need an entry for every
//! podgroup from the start. If pods join a gang resource by its name, the name contains the number of times
//! that the podgroup was removed. Otherwise, after the podgroup returns, a scheduler could count its
//! terminating pods as bound, or treat its minimum as already reached.

use std::collections::BTreeMap;

use grove_api::names::{ANNOTATION_IDLE_COUNTS, ANNOTATION_IDLE_PODGROUPS};
use grove_api::{PodGang, PodGroup};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cache::generation;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IdlePodGroup {
    /// Position of the podgroup among all podgroups of the PodGang, including idle ones.
    pub index: usize,
    pub podgroup: PodGroup,
}

fn idle_of(pod_gang: &PodGang) -> Vec<IdlePodGroup> {
    let annotation = pod_gang.annotations().get(ANNOTATION_IDLE_PODGROUPS);
    annotation.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

pub(crate) fn is_idle(pod_gang: &PodGang, podgroup: &str) -> bool {
    idle_of(pod_gang).iter().any(|idle| idle.podgroup.name == podgroup)
}

pub(crate) fn has_been_idle(pod_gang: &PodGang, podgroup: &str) -> bool {
    counts(pod_gang).contains_key(podgroup)
}

pub(super) fn any_has_been_idle(pod_gang: &PodGang) -> bool {
    pod_gang.annotations().contains_key(ANNOTATION_IDLE_COUNTS)
}

fn counts(pod_gang: &PodGang) -> BTreeMap<String, u64> {
    let annotation = pod_gang.annotations().get(ANNOTATION_IDLE_COUNTS);
    annotation.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// Stores the idle podgroups in annotations, and counts the removals of those that `existing` still has.
pub(crate) fn record(pod_gang: &mut PodGang, idle: &[IdlePodGroup], existing: Option<&PodGang>) {
    let mut counts = existing.map(counts).unwrap_or_default();
    let was_member = |name: &str| {
        existing.is_some_and(|existing| existing.spec.podgroups.iter().any(|podgroup| podgroup.name == name))
    };
    for idle in idle.iter().filter(|idle| was_member(&idle.podgroup.name)) {
        *counts.entry(idle.podgroup.name.clone()).or_default() += 1;
    }
    let annotations = pod_gang.annotations_mut();
    match idle.is_empty() {
        true => annotations.remove(ANNOTATION_IDLE_PODGROUPS),
        false => annotations.insert(ANNOTATION_IDLE_PODGROUPS.to_owned(), json!(idle).to_string()),
    };
    if !counts.is_empty() {
        annotations.insert(ANNOTATION_IDLE_COUNTS.to_owned(), json!(counts).to_string());
    }
}

pub(super) fn with_idle(pod_gang: &PodGang) -> PodGang {
    let mut complete = pod_gang.clone();
    for IdlePodGroup { index, podgroup } in idle_of(pod_gang) {
        let podgroups = &mut complete.spec.podgroups;
        podgroups.insert(index.min(podgroups.len()), podgroup);
    }
    complete
}

/// The name is unique, because user-chosen names contain no dot.
pub(super) fn resource_name(pod_gang: &PodGang, podgroup: &str, name: String) -> String {
    match counts(pod_gang).get(podgroup) {
        None => generation::named(pod_gang, name),
        Some(count) => format!("{name}.{}-{count}", generation::of_gang(pod_gang)),
    }
}

#[cfg(test)]
mod tests {
    use grove_api::PodGangSpec;

    use super::*;

    fn podgroup(name: &str) -> PodGroup {
        PodGroup { name: name.to_owned(), min_replicas: 2, ..PodGroup::default() }
    }

    fn pod_gang(podgroups: &[&str]) -> PodGang {
        let podgroups = podgroups.iter().map(|name| podgroup(name)).collect();
        PodGang::new("wl-0", PodGangSpec { podgroups, ..PodGangSpec::default() })
    }

    fn idle(all: &[(usize, &str)]) -> Vec<IdlePodGroup> {
        all.iter().map(|(index, name)| IdlePodGroup { index: *index, podgroup: podgroup(name) }).collect()
    }

    fn names(pod_gang: &PodGang) -> Vec<&str> {
        pod_gang.spec.podgroups.iter().map(|podgroup| podgroup.name.as_str()).collect()
    }

    #[test]
    fn restored_podgroups_get_their_positions_back() {
        let mut left = pod_gang(&["b", "d"]);
        record(&mut left, &idle(&[(0, "a"), (2, "c")]), Some(&pod_gang(&["a", "b", "c", "d"])));
        assert_eq!(names(&with_idle(&left)), ["a", "b", "c", "d"]);
        assert!(is_idle(&left, "c") && !is_idle(&left, "b"));
    }

    #[test]
    fn each_return_gets_a_new_resource_name() {
        let name = |pod_gang: &PodGang| resource_name(pod_gang, "b", "wl-0-b".to_owned());
        let (whole, gone) = (pod_gang(&["a", "b"]), idle(&[(1, "b")]));
        assert_eq!(name(&whole), "wl-0-b");
        let mut first = pod_gang(&["a"]);
        record(&mut first, &gone, Some(&whole));
        let mut again = first.clone();
        record(&mut again, &gone, Some(&first));
        assert_eq!(first, again, "it is counted once, when it is removed");
        let mut back = pod_gang(&["a", "b"]);
        record(&mut back, &[], Some(&first));
        assert!(!is_idle(&back, "b") && any_has_been_idle(&back));
        assert_eq!((name(&first).as_str(), name(&back).as_str()), ("wl-0-b.0-1", "wl-0-b.0-1"));
        record(&mut first, &gone, Some(&back));
        assert_eq!(name(&first), "wl-0-b.0-2");
        assert_eq!(resource_name(&first, "a", "wl-0-a".to_owned()), "wl-0-a");
    }

    #[test]
    fn a_podgroup_that_was_never_a_member_is_not_counted() {
        let mut fresh = pod_gang(&["a"]);
        record(&mut fresh, &idle(&[(1, "b")]), None);
        assert!(is_idle(&fresh, "b") && !any_has_been_idle(&fresh));
        assert_eq!(resource_name(&fresh, "b", "wl-0-b".to_owned()), "wl-0-b");
    }
}
