//! PodCliqueSet, the object that a user submits: replicas of a template of cliques and scaling groups.
//!
//! The schema sets the defaults that it can express. The defaulting webhook sets the others, and the
//! validating webhook checks rules across fields (`admission`).

#![allow(clippy::duplicated_attributes, reason = "printer columns share their type")]

use std::collections::BTreeMap;

use kube::CustomResource;
#[cfg(feature = "schema")]
use kube::core::{Reason, Rule};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autoscaling::AutoScalingConfig;
use super::pod_clique::PodCliqueSpec;
use super::pod_clique_set_status::PodCliqueSetStatus;
use super::resource_sharing::{
    PCSGResourceSharingSpec, PCSResourceSharingSpec, ResourceClaimTemplateConfig, ResourceSharingSpec,
};
use super::topology::TopologyConstraint;

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[kube(
    group = "grove.io",
    version = "v1alpha1",
    kind = "PodCliqueSet",
    namespaced,
    status = "PodCliqueSetStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A set of PodGangs and the cliques of pods that make them up.",
    schema = "disabled",
    shortname = "pcs",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.hpaPodSelector"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
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
        name = "PCSGs-Updated",
        type_ = "integer",
        json_path = ".status.updateProgress.updatedPodCliqueScalingGroupsCount"
    ),
    printcolumn(
        name = "PCSGs-Total",
        type_ = "integer",
        json_path = ".status.updateProgress.totalPodCliqueScalingGroupsCount"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetSpec {
    /// Number of copies of the template, each with its own base PodGang.
    #[serde(default)]
    pub replicas: i32,
    /// How pods are replaced after a template change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<PodCliqueSetUpdateStrategy>,
    pub template: PodCliqueSetTemplateSpec,
}

/// CEL rules on a whole PodCliqueSet: an existing object may keep `packDomain`, but a new one may not set it.
#[cfg(feature = "schema")]
pub(super) fn creation_rules() -> [Rule; 3] {
    [
        (
            ".spec.template.topologyConstraint.packDomain",
            "!has(self.spec.template.topologyConstraint) || !has(self.spec.template.topologyConstraint.packDomain)",
        ),
        (
            ".spec.template.cliques",
            "!has(self.spec.template.cliques) || self.spec.template.cliques.all(c, \
             !has(c.topologyConstraint) || !has(c.topologyConstraint.packDomain))",
        ),
        (
            ".spec.template.podCliqueScalingGroups",
            "!has(self.spec.template.podCliqueScalingGroups) || self.spec.template.podCliqueScalingGroups.all(g, \
             !has(g.topologyConstraint) || !has(g.topologyConstraint.packDomain))",
        ),
    ]
    .map(|(field_path, absent)| {
        Rule::new(format!("oldSelf.hasValue() || {absent}"))
            .message("packDomain is deprecated and cannot be used on new workloads; use pack.required")
            .field_path(field_path)
            .optional_old_self(true)
            .reason(Reason::FieldValueForbidden)
    })
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetUpdateStrategy {
    /// The strategy for standalone cliques and scaling groups.
    #[serde(default, rename = "type")]
    pub type_: UpdateStrategyType,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub enum UpdateStrategyType {
    /// Delete and recreate, one replica at a time.
    #[default]
    RollingRecreate,
    /// Pods get the new template only when someone deletes them.
    OnDelete,
}

/// The order in which the cliques of a gang start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub enum CliqueStartupType {
    /// All at once.
    #[default]
    #[serde(rename = "CliqueStartupTypeAnyOrder")]
    AnyOrder,
    /// In the order of `cliques`.
    #[serde(rename = "CliqueStartupTypeInOrder")]
    InOrder,
    /// In the order of `startsAfter`.
    #[serde(rename = "CliqueStartupTypeExplicit")]
    Explicit,
}

/// Template of one replica of a PodCliqueSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueSetTemplateSpec {
    /// The cliques, by unique name; at least one.
    #[cfg_attr(feature = "schema", schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])))]
    pub cliques: Vec<PodCliqueTemplateSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = "CliqueStartupTypeAnyOrder")))]
    pub clique_startup_type: Option<CliqueStartupType>,
    /// PriorityClass of the PodGangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Options of the headless Service of each replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless_service_config: Option<HeadlessServiceConfig>,
    /// Packing of each whole PodGang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<TopologyConstraint>,
    /// How long a gang may stay below its minimum before it is terminated; a Go duration such as `4h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_delay: Option<String>,
    /// ResourceClaimTemplates that `resourceSharing` entries at any level may name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_claim_templates: Vec<ResourceClaimTemplateConfig>,
    /// Claims shared across the PodCliqueSet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_sharing: Vec<PCSResourceSharingSpec>,
    /// Cliques that scale together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_clique_scaling_groups: Vec<PodCliqueScalingGroupConfig>,
}

impl PodCliqueSetTemplateSpec {
    pub fn group_of(&self, clique: &str) -> Option<&PodCliqueScalingGroupConfig> {
        let mut groups = self.pod_clique_scaling_groups.iter();
        groups.find(|group| group.clique_names.iter().any(|member| member == clique))
    }

    pub fn standalone_cliques(&self) -> impl Iterator<Item = &PodCliqueTemplateSpec> {
        self.cliques.iter().filter(|clique| self.group_of(&clique.name).is_none())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueTemplateSpec {
    /// Unique within the PodCliqueSet, part of the names of PodCliques and pods.
    pub name: String,
    /// Labels of the PodClique and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the PodClique and its pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Packing of this clique, no broader than its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<TopologyConstraint>,
    /// Claims shared within the clique.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_sharing: Vec<ResourceSharingSpec>,
    /// The clique itself; becomes the spec of each PodClique.
    pub spec: PodCliqueSpec,
}

/// Cliques that scale together; each replica holds one PodClique per clique name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodCliqueScalingGroupConfig {
    /// Unique within the PodCliqueSet.
    pub name: String,
    /// The member cliques; a clique is in at most one group.
    pub clique_names: Vec<String>,
    /// Annotations of the PodCliqueScalingGroup.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Number of copies of the group per PodCliqueSet replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1)))]
    pub replicas: Option<i32>,
    /// How many of the copies are part of the base PodGang; each further one is a scaled PodGang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1)))]
    pub min_available: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_config: Option<AutoScalingConfig>,
    /// Claims shared within the group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_sharing: Vec<PCSGResourceSharingSpec>,
    /// Packing of each replica of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_constraint: Option<TopologyConstraint>,
}

/// Options of the headless Service of a PodCliqueSet replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HeadlessServiceConfig {
    /// Whether the Service resolves pods that are not ready.
    #[serde(default = "publish_by_default")]
    pub publish_not_ready_addresses: bool,
}

impl Default for HeadlessServiceConfig {
    fn default() -> Self {
        Self { publish_not_ready_addresses: publish_by_default() }
    }
}

fn publish_by_default() -> bool {
    true
}
