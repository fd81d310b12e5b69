//! PodGang: the contract between Grove's operator and a scheduler backend. It lists the pods of a gang, the
//! minimum of each group, and the topology constraints as node-label keys instead of domains.

#![allow(clippy::duplicated_attributes, reason = "printer columns share their type")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[kube(
    group = "scheduler.grove.io",
    version = "v1alpha1",
    kind = "PodGang",
    namespaced,
    status = "PodGangStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Pods to be scheduled together.",
    schema = "disabled",
    shortname = "pg",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodGangSpec {
    /// The podgroups, one per PodClique. Serialised even when empty.
    pub podgroups: Vec<PodGroup>,
    /// Packing of the whole gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<PodGangTopologyConstraint>,
    /// Packing of several podgroups together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology_constraint_group_configs: Vec<TopologyConstraintGroupConfig>,
    /// PriorityClass of the gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// PodGang whose placement may be reused. Upstream never sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse_reservation_ref: Option<NamespacedName>,
}

/// The pods of one PodClique within a gang.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodGroup {
    /// Name of the PodClique.
    pub name: String,
    /// The pods, sorted by name. Serialised even when empty.
    pub pod_references: Vec<NamespacedName>,
    /// How many of them must be placed together. Serialised even when 0.
    pub min_replicas: i32,
    /// Packing of this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<PodGangTopologyConstraint>,
}

/// Packing in terms of node-label keys (upstream's `TopologyConstraint` of group `scheduler.grove.io`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodGangTopologyConstraint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_constraint: Option<PodGangPackConstraint>,
}

/// A hard and a soft packing key (upstream's `TopologyPackConstraint` of group `scheduler.grove.io`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodGangPackConstraint {
    /// Node-label key. All pods are placed on nodes with the same value, or none is placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<String>,
    /// Node-label key. All pods are placed on nodes with the same value if possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<String>,
}

/// Packing of several groups together: one replica of a scaling group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TopologyConstraintGroupConfig {
    /// Name of the scaling-group replica.
    pub name: String,
    /// Names of the podgroups. Serialised even when empty.
    pub pod_group_names: Vec<String>,
    /// Packing of these podgroups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<PodGangTopologyConstraint>,
}

/// A namespaced object by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NamespacedName {
    pub namespace: String,
    pub name: String,
}

/// Lifecycle of a gang. Upstream writes only `Pending`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub enum PodGangPhase {
    /// Not yet placed.
    #[default]
    Pending,
    /// Placed, not yet running.
    Starting,
    /// All pods run.
    Running,
    /// A pod has failed permanently.
    Failed,
    /// All pods have succeeded.
    Succeeded,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodGangStatus {
    pub phase: PodGangPhase,
    /// `Initialized` is the only type upstream writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Score of the placement, written by a scheduler; 1.0 is the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_score: Option<f64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_lists_and_zero_minimums_are_written() {
        let spec = PodGangSpec {
            podgroups: vec![PodGroup { name: "wl-0-pc-a".into(), ..Default::default() }],
            topology_constraint_group_configs: vec![TopologyConstraintGroupConfig {
                name: "wl-0-sg-0".into(),
                ..Default::default()
            }],
            ..Default::default()
        };
        assert_eq!(
            serde_json::to_value(&spec).unwrap(),
            json!({
                "podgroups": [{"name": "wl-0-pc-a", "podReferences": [], "minReplicas": 0}],
                "topologyConstraintGroupConfigs": [{"name": "wl-0-sg-0", "podGroupNames": []}],
            })
        );
        assert_eq!(serde_json::to_value(PodGangSpec::default()).unwrap(), json!({"podgroups": []}));
    }
}
