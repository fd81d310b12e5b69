//! A pod as the cache stores it, with only the fields that the controller reads. An empty k8s-openapi pod
//! takes 2,400 bytes, and there may be thousands of pods.

use std::borrow::Cow;

use grove_api::names;
use k8s_openapi::api::core::v1::{self as core, Affinity, PodSchedulingGate};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: Option<PodSpec>,
    #[serde(default)]
    pub status: Option<PodStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_gates: Option<Vec<PodSchedulingGate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_group: Option<PodSchedulingGroup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Box<Affinity>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSchedulingGroup {
    pub pod_group_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    pub phase: Option<String>,
    /// Only `Ready`, `PodScheduled` and `DisruptionTarget`.
    pub conditions: Option<Vec<PodCondition>>,
    pub container_statuses: Option<Vec<ContainerStatus>>,
    pub init_container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    #[serde(rename = "lastTransitionTime")]
    pub last_transition_time: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    pub ready: bool,
    pub started: Option<bool>,
    pub state: Option<ContainerState>,
    pub last_state: Option<ContainerState>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    pub running: Option<Running>,
    pub terminated: Option<Terminated>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Running {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminated {
    pub exit_code: i32,
}

/// Labels that the controller never reads.
const UNREAD: [&str; 3] = [names::LABEL_MANAGED_BY, names::LABEL_NAME, names::LABEL_COMPONENT];

const READ_CONDITIONS: [&str; 3] = ["Ready", "PodScheduled", "DisruptionTarget"];

impl Pod {
    pub(crate) fn gates(&self) -> impl Iterator<Item = &str> {
        let gates = self.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_deref()).unwrap_or_default();
        gates.iter().map(|gate| gate.name.as_str())
    }

    /// Shrinks the lists too, because a parsed list has a capacity of at least four.
    pub(crate) fn trimmed(mut self) -> Self {
        self.metadata.annotations = None;
        if let Some(labels) = &mut self.metadata.labels {
            labels.retain(|label, _| !UNREAD.contains(&label.as_str()));
        }
        if let Some(gates) = self.spec.as_mut().and_then(|spec| spec.scheduling_gates.as_mut()) {
            gates.shrink_to_fit();
        }
        if let Some(status) = &mut self.status {
            let statuses = [&mut status.init_container_statuses, &mut status.container_statuses];
            statuses.into_iter().flatten().for_each(Vec::shrink_to_fit);
            if let Some(conditions) = &mut status.conditions {
                conditions.retain(|condition| READ_CONDITIONS.contains(&condition.type_.as_str()));
                conditions.shrink_to_fit();
            }
        }
        self
    }
}

impl kube::Resource for Pod {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        core::Pod::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        core::Pod::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        core::Pod::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        core::Pod::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use kube::{Resource, ResourceExt};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cached_pod_keeps_only_the_fields_that_are_read() {
        let condition = |type_: &str, status| json!({"type": type_, "status": status, "lastProbeTime": null});
        let text = json!({
            "metadata": {"name": "p", "annotations": {"a": "b"}, "labels": {"c": "d", (names::LABEL_NAME): "p"}},
            "spec": {"nodeName": "n", "containers": [{"name": "main"}], "schedulingGroup": {"podGroupName": "g"}},
            "status": {
                "conditions": [condition("Initialized", "True"), condition("Ready", "True"), condition("PodScheduled", "False")],
                "containerStatuses": [{"name": "main", "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
                    "state": {"running": {"startedAt": null}}, "lastState": {"terminated": {"exitCode": 3}}}],
            },
        })
        .to_string();
        let pod: Pod = serde_json::from_str::<Pod>(&text).unwrap().trimmed();
        assert_eq!((pod.labels().len(), pod.annotations().len(), Pod::plural(&()).as_ref()), (1, 0, "pods"));
        let (spec, status) = (pod.spec.unwrap(), pod.status.unwrap());
        assert_eq!(spec.node_name.as_deref(), Some("n"));
        assert_eq!(spec.scheduling_group.unwrap().pod_group_name.as_deref(), Some("g"));
        let containers = status.container_statuses.unwrap();
        let [Some(state), Some(last)] = [&containers[0].state, &containers[0].last_state] else {
            panic!("a state is missing")
        };
        assert!(containers[0].ready && state.running.is_some() && state.terminated.is_none());
        assert_eq!(last.terminated.as_ref().map(|ended| ended.exit_code), Some(3));
        assert_eq!((containers.len(), containers.capacity()), (1, 1));
        let conditions = status.conditions.unwrap();
        assert_eq!((conditions.len(), conditions.capacity()), (2, 2));
        assert_eq!(
            conditions.into_iter().map(|condition| condition.type_).collect::<Vec<_>>(),
            ["Ready", "PodScheduled"]
        );
    }
}
