//! Plans the PodGroups for a PodGang (KOORD-01). Every PodGroup lists all PodGroups of the gang and has the
//! same topology, because Koordinator reads both from the PodGroup that it processes first.

use std::sync::Arc;

use grove_api::names::LABEL_POD_CLIQUE;
use grove_api::{PodGang, PodGroup};
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::config::KoordinatorConfig;
use super::gather::Gather;
use super::pod_group::{
    self, ANNOTATION_GROUPS, ANNOTATION_MATCH_POLICY, ANNOTATION_MODE, ANNOTATION_NETWORK_TOPOLOGY,
    ANNOTATION_TOTAL_NUMBER, pod_groups,
};
use crate::backend::gang_objects::{ABSENT, Pairs, metadata};
use crate::backend::names::is_label_value;
use crate::backend::{BackendError, GangState, excess_pods};

/// `minMember` of a gang that Koordinator must not try yet.
const HELD: i32 = i32::MAX;

pub(super) fn names(pod_gang: &PodGang) -> impl Iterator<Item = String> {
    pod_gang.spec.podgroups.iter().map(|podgroup| pod_group::name(pod_gang, &podgroup.name))
}

/// `current` contains the existing PodGroups, regardless of owner.
pub(super) fn plan(
    config: &KoordinatorConfig,
    state: &GangState<'_>,
    gather: &Gather,
    current: &[Arc<DynamicObject>],
) -> Result<Vec<DynamicObject>, BackendError> {
    let pod_gang = state.pod_gang;
    let (gang, namespace) = (pod_gang.name_any(), pod_gang.namespace().unwrap_or_default());
    let podgroups = &pod_gang.spec.podgroups;
    if let Some(PodGroup { name, min_replicas, .. }) = podgroups.iter().find(|found| found.min_replicas < 1) {
        let reason = format!("{name} has minReplicas {min_replicas}: a gang has at least one pod");
        return Err(BackendError::Refused(format!("PodGang {gang}: {reason}")));
    }
    let name = |podgroup: &PodGroup| pod_group::name(pod_gang, &podgroup.name);
    let groups: Vec<_> = names(pod_gang).map(|name| format!("{namespace}/{name}")).collect();
    let common = annotations(config, &groups, gather);
    let released = excess_pods::is_released(state);
    let object = |podgroup: &PodGroup| {
        let name = name(podgroup);
        let mut spec = json!({
            "minMember": min_member(podgroup, released, found(&name, current)),
            "scheduleTimeoutSeconds": config.schedule_timeout_seconds.seconds(),
        });
        if !has_dropped_priority(&name, current) {
            spec["priorityClassName"] = json!(pod_gang.spec.priority_class_name);
        }
        let mut annotations = common.clone();
        annotations.insert(ANNOTATION_TOTAL_NUMBER.to_owned(), total_number(podgroup));
        // This label is informational: omit it if the podgroup's name is too long for a label value.
        let pod_clique = Some(&podgroup.name).filter(|name| is_label_value(name));
        let labels = pod_clique.map(|name| (LABEL_POD_CLIQUE.to_owned(), name.clone())).into_iter().collect();
        let mut object = DynamicObject::new(&name, &pod_groups()).data(json!({ "spec": spec }));
        object.metadata = metadata(pod_gang, &name, labels, annotations);
        object
    };
    Ok(podgroups.iter().map(object).collect())
}

/// Returns an unreachable minimum until every pod of the hard gang is released, so that koord-scheduler
/// ignores the gang. Once reachable, it is never raised again. While the owner reference of a PodGroup is
/// lost, its minimum stays, because the repair allows no other change.
fn min_member(podgroup: &PodGroup, released: bool, found: Option<&DynamicObject>) -> i32 {
    let is_held = |found: &DynamicObject| found.data.pointer("/spec/minMember") == Some(&json!(HELD));
    let is_claimed =
        |found: &DynamicObject| found.owner_references().iter().any(|owner| owner.controller == Some(true));
    let is_started = found.map_or(released, |found| !is_held(found) || released && is_claimed(found));
    if is_started { podgroup.min_replicas } else { HELD }
}

fn annotations(config: &KoordinatorConfig, groups: &[String], gather: &Gather) -> Pairs {
    let topology = gather.network_topology_spec();
    let annotations = [
        (ANNOTATION_GROUPS, json!(groups).to_string()),
        (ANNOTATION_MODE, config.gang_mode.as_str().to_owned()),
        (ANNOTATION_MATCH_POLICY, config.match_policy.as_str().to_owned()),
        (ANNOTATION_NETWORK_TOPOLOGY, topology.unwrap_or_else(|| ABSENT.to_owned())),
    ];
    annotations.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The total number of pods. Absent while it is below the minimum, because Koordinator rejects such a total.
fn total_number(podgroup: &PodGroup) -> String {
    let total = podgroup.pod_references.len();
    match usize::try_from(podgroup.min_replicas).is_ok_and(|min| total >= min) {
        true => total.to_string(),
        false => ABSENT.to_owned(),
    }
}

fn found<'a>(name: &str, current: &'a [Arc<DynamicObject>]) -> Option<&'a DynamicObject> {
    current.iter().find(|found| found.name_any() == name).map(AsRef::as_ref)
}

/// Whether the API server has dropped the priority class. The proposal sets it, but the PodGroup of
/// Koordinator 1.8 has no such field. Each further write would cost a request without effect.
fn has_dropped_priority(name: &str, current: &[Arc<DynamicObject>]) -> bool {
    found(name, current)
        .is_some_and(|found| found.data.pointer("/spec/priorityClassName").is_none_or(Value::is_null))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
