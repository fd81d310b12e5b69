//! If a PodGroup has subgroups, KAI ignores the `minMember` of the PodGroup. Instead, KAI requires every
//! child of the root, and `minMember` pods of each leaf. So a PodGang starts as a whole.
//!
//! Fields that KAI owns are copied from the `existing` PodGroup: the queue, and the labels for queue and node
//! pool. `markUnschedulable` and `schedulingBackoff` are never written (KAI-05). After creation only Grove's
//! and KAI's labels and annotations are synchronised, so that a foreign one causes no write (GANG-09).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use grove_api::names::GROVE_PREFIX;
use grove_api::{PodGang, PodGangTopologyConstraint, PodGroup, TopologyConstraintGroupConfig};
use kube::ResourceExt;
use kube::core::{DynamicObject, TypeMeta};
use serde_json::{Value, json};

use super::api::{KEY_QUEUE, LABEL_NODE_POOL, PREFIX, pod_groups};
use super::queue;
use crate::backend::domain::pack_keys;
use crate::backend::{BackendError, gang_objects, names};

pub(super) fn plan(
    pod_gang: &PodGang,
    topology: Option<&str>,
    existing: Option<&DynamicObject>,
) -> Result<DynamicObject, BackendError> {
    let spec = spec(&Gang { pod_gang, topology }, existing)?;
    let resource = pod_groups();
    Ok(DynamicObject {
        types: Some(TypeMeta { api_version: resource.api_version, kind: resource.kind }),
        metadata: gang_objects::metadata(
            pod_gang,
            &pod_gang.name_any(),
            labels(pod_gang, existing),
            synchronised(pod_gang.annotations(), existing).collect(),
        ),
        data: json!({ "spec": spec }),
    })
}

/// The name of the podgroup's subgroup. KAI requires a DNS label, so the podgroup's name may be shortened.
pub(super) fn leaf(podgroup: &str) -> String {
    names::dns_label(podgroup)
}

pub(super) fn is_constrained(pod_gang: &PodGang) -> bool {
    let spec = &pod_gang.spec;
    let podgroups = spec.podgroups.iter().map(|podgroup| &podgroup.topology_constraint);
    let configs = spec.topology_constraint_group_configs.iter().map(|config| &config.topology_constraint);
    podgroups
        .chain(configs)
        .chain([&spec.topology_constraint])
        .any(|constraint| pack_keys(constraint.as_ref()) != (None, None))
}

struct Gang<'a> {
    pod_gang: &'a PodGang,
    topology: Option<&'a str>,
}

fn spec(gang: &Gang<'_>, existing: Option<&DynamicObject>) -> Result<Value, BackendError> {
    let spec = &gang.pod_gang.spec;
    let queue = existing.and_then(queue_of).or_else(|| queue::of_gang(gang.pod_gang));
    let min_member: i32 = spec.podgroups.iter().map(|podgroup| podgroup.min_replicas).sum();
    if min_member < 1 {
        return Err(
            gang.refused(format!("minReplicas add up to {min_member}: a gang needs at least one pod"))
        );
    }
    let no_queue = || gang.refused(format!("no label or annotation {KEY_QUEUE} names a queue"));
    Ok(json!({
        "queue": queue.ok_or_else(no_queue)?,
        "minMember": min_member,
        "minSubGroup": null,
        "stalenessGracePeriod": staleness_grace_period(existing),
        "priorityClassName": spec.priority_class_name,
        "topologyConstraint": gang.constraint(spec.topology_constraint.as_ref())?,
        "subGroups": gang.sub_groups()?,
    }))
}

impl Gang<'_> {
    fn refused(&self, reason: impl Display) -> BackendError {
        BackendError::Refused(format!("PodGang {}: {reason}", self.pod_gang.name_any()))
    }

    fn sub_groups(&self) -> Result<Vec<Value>, BackendError> {
        let spec = &self.pod_gang.spec;
        let configs =
            || spec.topology_constraint_group_configs.iter().filter(|c| !c.pod_group_names.is_empty());
        let mut parents = BTreeMap::new();
        for config in configs() {
            for podgroup in &config.pod_group_names {
                if spec.podgroups.iter().all(|known| known.name != *podgroup) {
                    let name = &config.name;
                    return Err(self.refused(format!(
                        "topology group {name} names podgroup {podgroup}, which does not exist"
                    )));
                }
                if let Some(other) = parents.insert(podgroup.as_str(), config.name.as_str()) {
                    let reason =
                        format!("podgroup {podgroup} is in topology groups {other} and {}", config.name);
                    return Err(self.refused(reason));
                }
            }
        }
        let mut sub_groups = Vec::new();
        for config in configs() {
            sub_groups.push(self.parent(config)?);
        }
        for podgroup in &spec.podgroups {
            sub_groups.push(self.leaf(podgroup, parents.get(podgroup.name.as_str()).copied())?);
        }
        let mut names = BTreeSet::new();
        match sub_groups.iter().find(|sub_group| !names.insert(sub_group["name"].as_str())) {
            Some(duplicate) => {
                Err(self.refused(format!("two subgroups would have the name {}", duplicate["name"])))
            }
            None => Ok(sub_groups),
        }
    }

    fn parent(&self, config: &TopologyConstraintGroupConfig) -> Result<Value, BackendError> {
        Ok(json!({
            "name": names::dns_label(&config.name),
            "parent": null,
            "minMember": null,
            "minSubGroup": config.pod_group_names.len(),
            "topologyConstraint": self.constraint(config.topology_constraint.as_ref())?,
        }))
    }

    fn leaf(&self, podgroup: &PodGroup, parent: Option<&str>) -> Result<Value, BackendError> {
        Ok(json!({
            "name": leaf(&podgroup.name),
            "parent": parent.map(names::dns_label),
            "minMember": podgroup.min_replicas,
            "minSubGroup": null,
            "topologyConstraint": self.constraint(podgroup.topology_constraint.as_ref())?,
        }))
    }

    /// Sets all three fields, so that a repair removes a stale one. Fails if there is no topology (KAI-08).
    fn constraint(&self, constraint: Option<&PodGangTopologyConstraint>) -> Result<Value, BackendError> {
        let (required, preferred) = pack_keys(constraint);
        let topology = match (required.or(preferred), self.topology) {
            (None, _) => None,
            (Some(_), Some(topology)) => Some(topology),
            (Some(key), None) => {
                let reason = format!("no topologyName is known for the topology key {key}");
                return Err(self.refused(reason));
            }
        };
        Ok(json!({
            "topology": topology,
            "requiredTopologyLevel": required,
            "preferredTopologyLevel": preferred,
        }))
    }
}

/// Disables KAI's eviction of broken gangs after one minute (observation `bound/left-below-minimum`), because
/// Grove terminates gangs after its own delay. `None` if an existing PodGroup lacks the field: that KAI
/// release drops the field, so another write would have no effect.
fn staleness_grace_period(existing: Option<&DynamicObject>) -> Option<&'static str> {
    let has_field = |found: &DynamicObject| found.data["spec"]["stalenessGracePeriod"].is_string();
    existing.is_none_or(has_field).then_some("-1s")
}

fn queue_of(pod_group: &DynamicObject) -> Option<&str> {
    pod_group.data["spec"]["queue"].as_str().filter(|queue| !queue.is_empty())
}

fn labels(pod_gang: &PodGang, existing: Option<&DynamicObject>) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<_, _> = synchronised(pod_gang.labels(), existing).collect();
    for key in [KEY_QUEUE, LABEL_NODE_POOL] {
        if existing.is_some_and(|existing| existing.labels().get(key).is_some_and(|value| !value.is_empty()))
        {
            labels.remove(key);
        }
    }
    labels
}

fn synchronised(
    pairs: &BTreeMap<String, String>,
    existing: Option<&DynamicObject>,
) -> impl Iterator<Item = (String, String)> {
    let exists = existing.is_some();
    let is_synchronised =
        move |key: &str| !exists || key.starts_with(GROVE_PREFIX) || key.starts_with(PREFIX);
    pairs.iter().filter(move |(key, _)| is_synchronised(key)).map(|(key, value)| (key.clone(), value.clone()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
