//! PodCliqueScalingGroup: cliques of one PodCliqueSet replica that scale together. The first `minAvailable`
//! replicas belong to the base PodGang; each further replica is a scaled PodGang.

#![allow(clippy::duplicated_attributes, reason = "printer columns share their type")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pod_clique_set_status::LastError;

#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "PodCliqueScalingGroup",
    namespaced,
    status = "PodCliqueScalingGroupStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Cliques of one PodCliqueSet replica that scale together.",
    schema = "disabled",
    shortname = "pcsg",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "MinAvail", type_ = "integer", json_path = ".spec.minAvailable"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
    printcolumn(name = "Scheduled", type_ = "integer", json_path = ".status.scheduledReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(
        name = "PCLQs-Updated",
        type_ = "integer",
        json_path = ".status.updateProgress.updatedPodCliquesCount"
    ),
    printcolumn(
        name = "PCLQs-Total",
        type_ = "integer",
        json_path = ".status.updateProgress.totalPodCliquesCount"
    ),
    printcolumn(
        name = "MinBreached",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="MinAvailableBreached")].status"#,
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupSpec {
    #[serde(default = "one")]
    pub replicas: i32,
    /// How many of the copies are part of the base PodGang; absent means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1)))]
    pub min_available: Option<i32>,
    /// The member cliques, by their name in the template.
    pub clique_names: Vec<String>,
}

impl Default for PodCliqueScalingGroupSpec {
    fn default() -> Self {
        Self { replicas: one(), min_available: Some(one()), clique_names: Vec::new() }
    }
}

fn one() -> i32 {
    1
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupStatus {
    /// Requested number of replicas.
    #[serde(default)]
    pub replicas: i32,
    /// Replicas in which every clique has its minimum scheduled.
    #[serde(default)]
    pub scheduled_replicas: i32,
    /// Replicas in which every clique has its minimum ready.
    #[serde(default)]
    pub available_replicas: i32,
    /// Replicas that have the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Label selector for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Errors of the latest reconciliation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// `MinAvailableBreached` and `GangTerminationInProgress`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Generation hash of the PodCliqueSet to which all pods have been updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_pod_clique_set_generation_hash: Option<String>,
    /// The current update, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_progress: Option<PodCliqueScalingGroupUpdateProgress>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupUpdateProgress {
    pub update_started_at: Time,
    /// When the update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
    /// Generation hash of the PodCliqueSet that the update applies.
    pub pod_clique_set_generation_hash: String,
    /// PodCliques that have the current template.
    #[serde(default)]
    pub updated_pod_cliques_count: i32,
    #[serde(default)]
    pub total_pod_cliques_count: i32,
    /// Ready replicas selected for replacement; not used with `OnDelete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replica_indices_selected_to_update: Option<PodCliqueScalingGroupReplicaUpdateProgress>,
}

/// The replicas that an update has selected, by index. They are replaced one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupReplicaUpdateProgress {
    /// The replica being replaced.
    pub current: i32,
    /// Replicas already replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<i32>,
}
