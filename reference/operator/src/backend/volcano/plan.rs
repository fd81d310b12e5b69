//! Every podgroup becomes a subgroup policy: with `minMember` alone, surplus pods of one clique could replace
//! missing pods of another (VOL-01). A repair keeps what Volcano writes, because the plan omits those fields.
//! An inexpressible PodGang is refused, so that one that bypassed admission fails closed.

use std::collections::BTreeMap;

use grove_api::names::LABEL_POD_CLIQUE;
use grove_api::{PodGang, PodGangTopologyConstraint, PodGroup};
use kube::ResourceExt;
use kube::core::{DynamicObject, TypeMeta};
use serde_json::{Value, json};

use super::api::pod_groups;
use super::queue;
use crate::backend::BackendError;
use crate::backend::domain::pack_keys;
use crate::backend::gang_objects::{Pairs, metadata};
use crate::cache::generation;

pub(super) type GangTiers = BTreeMap<String, usize>;

pub(super) fn plan(pod_gang: &PodGang, tiers: &GangTiers) -> Result<DynamicObject, BackendError> {
    let spec = Planner { pod_gang, tiers }.spec()?;
    let resource = pod_groups();
    Ok(DynamicObject {
        types: Some(TypeMeta { api_version: resource.api_version, kind: resource.kind }),
        metadata: metadata(pod_gang, &name(pod_gang), Pairs::new(), Pairs::new()),
        data: json!({ "spec": spec }),
    })
}

/// Volcano remembers the HyperNode of a PodGroup while it exists. So gang termination leads to a new one.
pub(super) fn name(pod_gang: &PodGang) -> String {
    generation::named(pod_gang, pod_gang.name_any())
}

struct Planner<'a> {
    pod_gang: &'a PodGang,
    tiers: &'a GangTiers,
}

impl Planner<'_> {
    fn spec(&self) -> Result<Value, BackendError> {
        let gang = &self.pod_gang.spec;
        let mut groups = gang.topology_constraint_group_configs.iter();
        if let Some(group) =
            groups.find(|group| pack_keys(group.topology_constraint.as_ref()) != (None, None))
        {
            let reason =
                format!("Volcano cannot keep a part of a gang, topology group {}, in one domain", group.name);
            return Err(self.refused(reason));
        }
        let policies = gang.podgroups.iter().map(|podgroup| self.policy(podgroup));
        let min_member: i64 = gang.podgroups.iter().map(|podgroup| i64::from(podgroup.min_replicas)).sum();
        Ok(json!({
            "minMember": min_member,
            "subGroupPolicy": policies.collect::<Result<Vec<_>, _>>()?,
            "queue": queue::of_gang(self.pod_gang),
            "priorityClassName": gang.priority_class_name,
            "networkTopology": self.network_topology("the PodGang", gang.topology_constraint.as_ref())?,
        }))
    }

    fn policy(&self, podgroup: &PodGroup) -> Result<Value, BackendError> {
        let PodGroup { name, min_replicas, .. } = podgroup;
        if *min_replicas < 1 {
            return Err(self.refused(format!(
                "podgroup {name} has minReplicas {min_replicas}: a gang has at least one pod of each"
            )));
        }
        Ok(json!({
            "name": name,
            "labelSelector": {"matchLabels": {LABEL_POD_CLIQUE: name}},
            // Without a key, Volcano assigns the pods to no subgroup.
            "matchLabelKeys": [LABEL_POD_CLIQUE],
            "subGroupSize": min_replicas,
            "minSubGroups": 1,
            "networkTopology": self.network_topology(name, podgroup.topology_constraint.as_ref())?,
        }))
    }

    /// A preferred level in addition to a required one has no effect (ADM-17).
    fn network_topology(
        &self,
        place: &str,
        constraint: Option<&PodGangTopologyConstraint>,
    ) -> Result<Value, BackendError> {
        match pack_keys(constraint) {
            (None, None) => Ok(Value::Null),
            (None, Some(_)) => Err(self.refused(format!("{place}: Volcano has no preferred topology"))),
            (Some(key), _) => match self.tiers.get(key) {
                Some(tier) => Ok(json!({"mode": "hard", "highestTierAllowed": tier})),
                None => Err(self.refused(format!("{place}: no Volcano tier has the node label {key}"))),
            },
        }
    }

    fn refused(&self, reason: String) -> BackendError {
        BackendError::Refused(format!("PodGang {}: {reason}", self.pod_gang.name_any()))
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
