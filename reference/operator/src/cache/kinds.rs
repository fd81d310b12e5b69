use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "autoscaling",
    version = "v2",
    kind = "HorizontalPodAutoscaler",
    namespaced,
    derive = "PartialEq",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AutoscalerSpec {
    pub scale_target_ref: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    pub max_replicas: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Value>,
}

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "resource.k8s.io",
    version = "v1",
    kind = "ResourceClaim",
    namespaced,
    derive = "PartialEq",
    schema = "disabled"
)]
pub(crate) struct ResourceClaimSpec {
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}
