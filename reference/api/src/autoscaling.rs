#[cfg(feature = "schema")]
use k8s_openapi::api::autoscaling::v2::MetricSpec;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of the target's HorizontalPodAutoscaler.
///
/// The JSON name is `autoScalingConfig` on cliques and `scaleConfig` on scaling groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AutoScalingConfig {
    /// Lower limit of replicas; defaults to the target's replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    pub max_replicas: i32,
    /// `autoscaling/v2` metrics, kept as JSON because their quantities may be integers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<MetricSpec>", extend("x-kubernetes-list-type" = "atomic")))]
    pub metrics: Vec<serde_json::Value>,
}
