#[cfg(feature = "schema")]
use k8s_openapi::api::resource::v1::ResourceClaimTemplateSpec;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ResourceClaimTemplate declared in the PodCliqueSet. `resourceSharing` entries name it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimTemplateConfig {
    /// Unique within the PodCliqueSet.
    pub name: String,
    /// A `resource.k8s.io/v1` ResourceClaimTemplateSpec, kept as JSON because its quantities may be integers.
    #[cfg_attr(feature = "schema", schemars(with = "ResourceClaimTemplateSpec"))]
    pub template_spec: serde_json::Value,
}

/// Which pods share one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub enum ResourceSharingScope {
    /// One claim for all replicas of the owner.
    AllReplicas,
    /// One claim for each replica of the owner.
    PerReplica,
}

/// A shared claim of a clique.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceSharingSpec {
    /// Name of a template: one of the PodCliqueSet's own, or else a ResourceClaimTemplate object.
    pub name: String,
    /// Namespace of a ResourceClaimTemplate object; absent means the PodCliqueSet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub scope: ResourceSharingScope,
}

/// A shared claim of a PodCliqueSet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PCSResourceSharingSpec {
    /// Name of a template: one of the PodCliqueSet's own, or else a ResourceClaimTemplate object.
    pub name: String,
    /// Namespace of a ResourceClaimTemplate object; absent means the PodCliqueSet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub scope: ResourceSharingScope,
    /// Which children get the claim; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<PCSResourceSharingFilter>,
}

/// Children of a PodCliqueSet by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PCSResourceSharingFilter {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_clique_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_scaling_group_names: Vec<String>,
}

/// A shared claim of a scaling group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PCSGResourceSharingSpec {
    /// Name of a template: one of the PodCliqueSet's own, or else a ResourceClaimTemplate object.
    pub name: String,
    /// Namespace of a ResourceClaimTemplate object; absent means the PodCliqueSet's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub scope: ResourceSharingScope,
    /// Which cliques of the group get the claim; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<PCSGResourceSharingFilter>,
}

/// Cliques of a scaling group by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PCSGResourceSharingFilter {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_clique_names: Vec<String>,
}
