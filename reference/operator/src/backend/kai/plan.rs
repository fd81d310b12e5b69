//! Plans the PodGroup for a PodGang.
//!
//! The plan is pure. The tree has at most two levels: a parent subgroup per topology group config, and a leaf
//! per podgroup, under its parent or at the root. If subgroups exist, KAI uses them instead of the PodGroup's
//! own `minMember`: it requires every child of the root, and `minMember` pods of a leaf. So a PodGang starts
//! as a whole.
//!
//! Fields that KAI owns are copied from the `existing` PodGroup: the queue, and the labels for queue and node
//! pool. `markUnschedulable` and `schedulingBackoff` are never written (KAI-05). Labels and annotations of
//! the PodGang are copied at creation. Later only Grove's and KAI's own keys are synchronised, so that a
//! foreign annotation on a PodGang causes no write (GANG-09).

use std::collections::{BTreeMap, BTreeSet};

use grove_api::names::GROVE_PREFIX;
use grove_api::{PodGang, PodGangTopologyConstraint, PodGroup, TopologyConstraintGroupConfig};
use kube::ResourceExt;
use kube::core::{DynamicObject, TypeMeta};
use serde_json::{Value, json};

use super::api::{KEY_QUEUE, LABEL_NODE_POOL, PREFIX, pod_groups};
use super::queue;
use crate::backend::domain::pack_keys;
use crate::backend::{BackendError, gang_objects, names};

/// Plans the PodGroup of `pod_gang`. `topology` names the KAI Topology for its constraints; `existing` is the
/// current PodGroup. Returns [`BackendError::Refused`] if KAI cannot express the PodGang.
pub(super) fn plan(
    pod_gang: &PodGang,
    topology: Option<&str>,
    existing: Option<&DynamicObject>,
) -> Result<DynamicObject, BackendError> {
    let spec = spec(&Gang { pod_gang, topology }, existing)
        .map_err(|reason| BackendError::Refused(format!("PodGang {}: {reason}", pod_gang.name_any())))?;
    let resource = pod_groups();
    Ok(DynamicObject {
        types: Some(TypeMeta { api_version: resource.api_version, kind: resource.kind }),
        metadata: gang_objects::metadata(
            pod_gang,
            &pod_gang.name_any(),
            labels(pod_gang, existing),
            in_step(pod_gang.annotations(), existing).collect(),
        ),
        data: json!({ "spec": spec }),
    })
}

/// The leaf subgroup of a podgroup. KAI requires a DNS label, so the podgroup's name may be shortened.
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

fn spec(gang: &Gang<'_>, existing: Option<&DynamicObject>) -> Result<Value, String> {
    let spec = &gang.pod_gang.spec;
    let queue = existing.and_then(queue_of).or_else(|| queue::of_gang(gang.pod_gang));
    let min_member: i32 = spec.podgroups.iter().map(|podgroup| podgroup.min_replicas).sum();
    if min_member < 1 {
        return Err(format!("minReplicas {min_member}: a gang has at least one pod"));
    }
    Ok(json!({
        "queue": queue.ok_or_else(|| format!("no queue ({KEY_QUEUE})"))?,
        "minMember": min_member,
        "minSubGroup": null,
        "stalenessGracePeriod": never_stale(existing),
        "priorityClassName": spec.priority_class_name,
        "topologyConstraint": gang.constraint(spec.topology_constraint.as_ref())?,
        "subGroups": gang.sub_groups()?,
    }))
}

impl Gang<'_> {
    fn sub_groups(&self) -> Result<Vec<Value>, String> {
        let spec = &self.pod_gang.spec;
        let configs =
            || spec.topology_constraint_group_configs.iter().filter(|c| !c.pod_group_names.is_empty());
        let mut parents = BTreeMap::new();
        for config in configs() {
            for podgroup in &config.pod_group_names {
                if spec.podgroups.iter().all(|known| known.name != *podgroup) {
                    return Err(format!(
                        "{} is of a podgroup {podgroup}, which there is none of",
                        config.name
                    ));
                }
                if let Some(other) = parents.insert(podgroup.as_str(), config.name.as_str()) {
                    return Err(format!("podgroup {podgroup} is in {other} and in {}", config.name));
                }
            }
        }
        let parent = |config| self.parent(config);
        let leaf = |podgroup: &PodGroup| self.leaf(podgroup, parents.get(podgroup.name.as_str()).copied());
        let sub_groups: Vec<_> =
            configs().map(parent).chain(spec.podgroups.iter().map(leaf)).collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        match sub_groups.iter().find(|sub_group| !names.insert(sub_group["name"].as_str())) {
            Some(twice) => Err(format!("two subgroups of the name {}", twice["name"])),
            None => Ok(sub_groups),
        }
    }

    fn parent(&self, config: &TopologyConstraintGroupConfig) -> Result<Value, String> {
        Ok(json!({
            "name": names::dns_label(&config.name),
            "parent": null,
            "minMember": null,
            "minSubGroup": config.pod_group_names.len(),
            "topologyConstraint": self.constraint(config.topology_constraint.as_ref())?,
        }))
    }

    fn leaf(&self, podgroup: &PodGroup, parent: Option<&str>) -> Result<Value, String> {
        Ok(json!({
            "name": leaf(&podgroup.name),
            "parent": parent.map(names::dns_label),
            "minMember": podgroup.min_replicas,
            "minSubGroup": null,
            "topologyConstraint": self.constraint(podgroup.topology_constraint.as_ref())?,
        }))
    }

    /// Sets all three fields, so that a repair removes a stale one. The API uses an empty object for no
    /// constraint. Returns an error if a constraint has no topology (KAI-08).
    fn constraint(&self, constraint: Option<&PodGangTopologyConstraint>) -> Result<Value, String> {
        let (required, preferred) = pack_keys(constraint);
        let topology = match (required.or(preferred), self.topology) {
            (None, _) => None,
            (Some(_), Some(topology)) => Some(topology),
            (Some(key), None) => {
                return Err(format!("a topology constraint ({key}) without a topology's name"));
            }
        };
        Ok(json!({
            "topology": topology,
            "requiredTopologyLevel": required,
            "preferredTopologyLevel": preferred,
        }))
    }
}

/// Disables KAI's eviction of a broken gang, which happens after one minute: Grove terminates gangs after its
/// own delay. If an existing PodGroup lacks the field, its release drops it; writing it again would cost a
/// request each time.
fn never_stale(existing: Option<&DynamicObject>) -> Option<&'static str> {
    let takes_it = |found: &DynamicObject| found.data["spec"]["stalenessGracePeriod"].is_string();
    existing.is_none_or(takes_it).then_some("-1s")
}

fn queue_of(pod_group: &DynamicObject) -> Option<&str> {
    pod_group.data["spec"]["queue"].as_str().filter(|queue| !queue.is_empty())
}

fn labels(pod_gang: &PodGang, existing: Option<&DynamicObject>) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<_, _> = in_step(pod_gang.labels(), existing).collect();
    for key in [KEY_QUEUE, LABEL_NODE_POOL] {
        if existing.is_some_and(|existing| existing.labels().get(key).is_some_and(|value| !value.is_empty()))
        {
            labels.remove(key);
        }
    }
    labels
}

/// The labels or annotations of the PodGang that the PodGroup must have.
fn in_step(
    pairs: &BTreeMap<String, String>,
    existing: Option<&DynamicObject>,
) -> impl Iterator<Item = (String, String)> {
    let created = existing.is_some();
    let kept = move |key: &str| !created || key.starts_with(GROVE_PREFIX) || key.starts_with(PREFIX);
    pairs.iter().filter(move |(key, _)| kept(key)).map(|(key, value)| (key.clone(), value.clone()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
