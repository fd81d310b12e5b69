//! The typed PodSpec cannot read a quantity that is an integer (`nvidia.com/gpu: 8`). The pods must get
//! exactly what the user wrote, so the spec stays JSON. Its CRD schema is that of a core/v1 PodSpec.

use std::sync::Arc;

#[cfg(feature = "schema")]
use k8s_openapi::api::core::v1::PodSpec;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A core/v1 PodSpec as raw JSON, always an object. Many PodCliques may share one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
pub struct PodSpecJson(#[cfg_attr(feature = "schema", schemars(with = "PodSpec"))] pub Arc<Value>);

impl Default for PodSpecJson {
    fn default() -> Self {
        Self(Arc::new(Value::Object(Map::new())))
    }
}

impl PodSpecJson {
    /// `schedulerName`; empty counts as absent, as in Kubernetes.
    pub fn scheduler_name(&self) -> Option<&str> {
        self.text("schedulerName")
    }

    pub fn node_name(&self) -> Option<&str> {
        self.text("nodeName")
    }

    pub fn priority_class_name(&self) -> Option<&str> {
        self.text("priorityClassName")
    }

    pub fn preemption_policy(&self) -> Option<&str> {
        self.text("preemptionPolicy")
    }

    /// The `scheduling.k8s.io` PodGroup that the user chose for the pods (KUBE-15).
    pub fn scheduling_group(&self) -> Option<&Value> {
        self.0.get("schedulingGroup").filter(|group| !group.is_null())
    }

    pub fn claims(&self, pod: &str) -> Vec<String> {
        let claim = |volume: &Value| match &volume["ephemeral"] {
            Value::Null => volume["persistentVolumeClaim"]["claimName"].as_str().map(str::to_owned),
            _ => volume["name"].as_str().map(|name| format!("{pod}-{name}")),
        };
        let volumes = self.0.get("volumes").and_then(Value::as_array);
        volumes.into_iter().flatten().filter_map(claim).collect()
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_include_ephemeral_volumes() {
        let spec = json!({"volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
            {"name": "memory", "emptyDir": {}},
        ]});
        assert_eq!(PodSpecJson(spec.into()).claims("p-0"), ["shared", "p-0-scratch"]);
        assert!(PodSpecJson::default().claims("p-0").is_empty());
    }

    #[rstest::rstest]
    #[case(json!({}), None)]
    #[case(json!({"schedulerName": ""}), None)]
    #[case(json!({"schedulerName": null}), None)]
    #[case(json!({"schedulerName": "volcano"}), Some("volcano"))]
    fn an_empty_scheduler_name_is_none(#[case] spec: Value, #[case] name: Option<&str>) {
        assert_eq!(PodSpecJson(spec.into()).scheduler_name(), name);
    }

    #[test]
    fn a_null_scheduling_group_counts_as_none() {
        assert_eq!(PodSpecJson(json!({"schedulingGroup": null}).into()).scheduling_group(), None);
        let group = json!({"podGroupName": "mine"});
        assert_eq!(PodSpecJson(json!({"schedulingGroup": group}).into()).scheduling_group(), Some(&group));
    }
}
