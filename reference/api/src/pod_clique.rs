//! PodClique: pods that share one spec. Its owner is its PodCliqueSet, or the PodCliqueScalingGroup it is in.

#![allow(clippy::duplicated_attributes, reason = "printer columns share their type")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autoscaling::AutoScalingConfig;
use super::pod_clique_set_status::LastError;
use super::pod_spec::PodSpecJson;

/// Desired state of a PodClique; also the `spec` of a clique template.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "PodClique",
    namespaced,
    status = "PodCliqueStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Pods that share one spec.",
    schema = "disabled",
    shortname = "pclq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.hpaPodSelector"
    ),
    printcolumn(name = "MinAvail", type_ = "integer", json_path = ".spec.minAvailable"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Scheduled", type_ = "integer", json_path = ".status.scheduledReplicas"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(
        name = "Gated",
        type_ = "integer",
        json_path = ".status.scheduleGatedReplicas",
        priority = 1
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
pub struct PodCliqueSpec {
    /// Role of the pods, unique within a PodCliqueSet. Optional, because upstream's webhook sets an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_name: Option<String>,
    pub pod_spec: PodSpecJson,
    pub replicas: i32,
    /// Minimum number of pods, scheduled as a gang. With fewer pods the gang is breached. Defaults to `replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<i32>,
    /// Cliques that must be ready before this one starts (start order `Explicit`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts_after: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_scaling_config: Option<AutoScalingConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Errors of the latest reconciliation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// Pods that have not terminated.
    #[serde(default)]
    pub replicas: i32,
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods that have the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Pods with a scheduling gate.
    #[serde(default)]
    pub schedule_gated_replicas: i32,
    /// Pods with condition `PodScheduled` True.
    #[serde(default)]
    pub scheduled_replicas: i32,
    /// Label selector for the scale subresource; only on standalone cliques.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hpa_pod_selector: Option<String>,
    /// `PodCliqueScheduled`, `MinAvailableBreached`, `MinAvailableHeld` and `HeldByStartupOrder`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Generation hash of the PodCliqueSet to which all pods have been updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_pod_clique_set_generation_hash: Option<String>,
    /// Template hash to which all pods have been updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_pod_template_hash: Option<String>,
    /// The current update, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_progress: Option<PodCliqueUpdateProgress>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueUpdateProgress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_started_at: Option<Time>,
    /// When the update ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_ended_at: Option<Time>,
    /// Generation hash of the PodCliqueSet that the update applies.
    pub pod_clique_set_generation_hash: String,
    /// Template hash that the update applies.
    pub pod_template_hash: String,
    /// Ready pods selected for replacement; not used with `OnDelete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_pods_selected_to_update: Option<PodsSelectedToUpdate>,
}

/// The pods that an update has selected, by name. They are replaced one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodsSelectedToUpdate {
    /// The pod being replaced.
    pub current: String,
    /// Pods already replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
}
