use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pod_gang::PodGangPhase;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `TopologyLevelsUnavailable` is the only type upstream writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Errors of the latest reconciliation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// Requested number of replicas.
    #[serde(default)]
    pub replicas: i32,
    /// Replicas in which every child has the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Replicas in which every clique and scaling group has its minimum ready.
    #[serde(default)]
    pub available_replicas: i32,
    /// Label selector for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa_pod_selector: Option<String>,
    /// Declared by upstream, but never written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_gang_statuses: Vec<PodCliqueSetPodGangStatus>,
    /// Opaque hash of the clique templates; only equality matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_generation_hash: Option<String>,
    /// The current update, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_progress: Option<PodCliqueSetUpdateProgress>,
}

/// Copy of the state of one PodGang (upstream's `PodGangStatus` of group `grove.io`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetPodGangStatus {
    pub name: String,
    pub phase: PodGangPhase,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetUpdateProgress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When the update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
    /// PodCliques that have the current template.
    #[serde(default)]
    pub updated_pod_cliques_count: i32,
    #[serde(default)]
    pub total_pod_cliques_count: i32,
    /// PodCliqueScalingGroups that have the current template.
    #[serde(default)]
    pub updated_pod_clique_scaling_groups_count: i32,
    #[serde(default)]
    pub total_pod_clique_scaling_groups_count: i32,
    /// Replicas being updated now; not used with `OnDelete`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub currently_updating: Vec<PodCliqueSetReplicaUpdateProgress>,
}

/// Progress of the update of one PodCliqueSet replica.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetReplicaUpdateProgress {
    pub replica_index: i32,
    /// When its update started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When its update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
}

/// An error of the latest reconciliation of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// Class of the error, `ERR_…`.
    pub code: String,
    pub description: String,
    pub observed_at: Time,
}
