//! ClusterTopologyBinding: an administrator's hierarchy of topology domains. It maps each domain to a
//! node-label key, and names the topology resources that already exist for a scheduler.

#![allow(clippy::duplicated_attributes, reason = "printer columns share their type")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "ClusterTopologyBinding",
    status = "ClusterTopologyBindingStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A hierarchy of topology domains and its name in each scheduler.",
    schema = "disabled",
    shortname = "ct",
    printcolumn(name = "Domains", type_ = "string", json_path = ".spec.levels[*].domain"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTopologyBindingSpec {
    /// The levels from broadest to narrowest, each domain and key once.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub levels: Vec<TopologyLevel>,
    /// Topology resources that already exist. For other schedulers, the operator creates one from `levels`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduler_topology_bindings: Vec<SchedulerTopologyBinding>,
}

impl ClusterTopologyBindingSpec {
    pub fn reference(&self, scheduler: &str) -> Option<&str> {
        let mut bound = self.scheduler_topology_bindings.iter();
        bound.find(|bound| bound.scheduler_name == scheduler).map(|bound| bound.topology_reference.as_str())
    }
}

/// A domain and the node label whose value identifies its instances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TopologyLevel {
    /// The domain, such as `rack`.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z][a-z0-9-]*$"))
    )]
    pub domain: String,
    /// The node-label key, such as `topology.kubernetes.io/rack`.
    #[cfg_attr(
        feature = "schema",
        schemars(
            length(min = 1, max = 63),
            regex(
                pattern = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
            )
        )
    )]
    pub key: String,
}

/// A scheduler's existing topology resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SchedulerTopologyBinding {
    /// The scheduler, such as `kai-scheduler`.
    pub scheduler_name: String,
    /// Name of its topology resource.
    pub topology_reference: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterTopologyBindingStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The only type is `SchedulerTopologyDrift`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// One entry per scheduler that has topology resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduler_topology_statuses: Vec<SchedulerTopologyStatus>,
}

/// Whether a scheduler's topology resource matches the levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SchedulerTopologyStatus {
    pub scheduler_name: String,
    /// Name of its topology resource.
    pub topology_reference: String,
    /// Whether its levels match those of the binding.
    pub in_sync: bool,
    /// Generation of the topology resource that was compared; absent if it was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_backend_topology_observed_generation: Option<i64>,
    /// Why it is not in sync.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
