//! A pod as the cache has it: its metadata, and of the rest what is read of it. Of k8s-openapi's an empty one takes 2,400 bytes,
//! and there may be thousands.

use std::borrow::Cow;

use grove_api::names;
use k8s_openapi::api::core::v1::{self as core, Affinity, PodSchedulingGate};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    /// Its metadata, but for what [`trimmed`](Pod::trimmed) leaves out.
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default)]
    pub spec: Option<PodSpec>,
    /// How it is.
    #[serde(default)]
    pub status: Option<PodStatus>,
}

/// Of a pod's spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node that it is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// What keeps schedulers from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_gates: Option<Vec<PodSchedulingGate>>,
    /// The PodGroup of the Workload API that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_group: Option<PodSchedulingGroup>,
    /// Where it may go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Box<Affinity>>,
}

/// Of a pod's scheduling group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSchedulingGroup {
    /// The PodGroup's name.
    pub pod_group_name: Option<String>,
}

/// Of a pod's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, …
    pub phase: Option<String>,
    /// `Ready` and `PodScheduled`.
    pub conditions: Option<Vec<PodCondition>>,
    /// Of its containers.
    pub container_statuses: Option<Vec<ContainerStatus>>,
    /// Of its init containers.
    pub init_container_statuses: Option<Vec<ContainerStatus>>,
}

/// Of a pod's condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// `Ready`, `PodScheduled`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word.
    pub reason: Option<String>,
    /// Why, for people.
    pub message: Option<String>,
    /// Since when it has this status.
    #[serde(rename = "lastTransitionTime")]
    pub last_transition_time: Option<Time>,
}

/// Of a container's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it has passed its startup probe.
    pub started: Option<bool>,
    /// How it is.
    pub state: Option<ContainerState>,
    /// How it was before its last restart.
    pub last_state: Option<ContainerState>,
}

/// Of a container's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It runs.
    pub running: Option<Running>,
    /// It has ended.
    pub terminated: Option<Terminated>,
}

/// That a container runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Running {}

/// How a container has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminated {
    /// Its exit code.
    pub exit_code: i32,
}

/// The labels that everything of Grove's has and nobody reads.
const UNREAD: [&str; 3] = [names::LABEL_MANAGED_BY, names::LABEL_NAME, names::LABEL_COMPONENT];

impl Pod {
    /// The names of its scheduling gates.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &str> {
        let gates = self.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_deref()).unwrap_or_default();
        gates.iter().map(|gate| gate.name.as_str())
    }

    /// Without annotations, and labels and conditions that nobody reads. A list that was read has room for four of what it holds.
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
                conditions.retain(|condition| matches!(condition.type_.as_str(), "Ready" | "PodScheduled"));
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
    fn a_cached_pod_takes_no_more_than_what_is_read_of_it() {
        let condition = |of: &str, status| json!({"type": of, "status": status, "lastProbeTime": null});
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
            panic!("two states")
        };
        assert!(containers[0].ready && state.running.is_some() && state.terminated.is_none());
        assert_eq!(last.terminated.as_ref().map(|ended| ended.exit_code), Some(3));
        assert_eq!((containers.len(), containers.capacity()), (1, 1));
        let conditions = status.conditions.unwrap();
        assert_eq!((conditions.len(), conditions.capacity()), (2, 2));
        assert_eq!(
            conditions.into_iter().map(|told| told.type_).collect::<Vec<_>>(),
            ["Ready", "PodScheduled"]
        );
    }
}
