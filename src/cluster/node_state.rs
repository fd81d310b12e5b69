//! The fields of a node that a case may change, and the patches that restore them. Some fields are only
//! compared: the node lifecycle controller's taints, and the kubelet's conditions and devices.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;
use serde_json::{Map, Value, json};

/// Prefixes of the labels and annotations that the harness writes to leased nodes.
const HARNESS: [&str; 2] = ["conformance.grove.io/", "topology.kubernetes.io/"];
/// Prefix of the taints that the node lifecycle controller adds and removes.
const LIFECYCLE: &str = "node.kubernetes.io/";
/// Suffix of the annotation domains that only Kubernetes' own components write.
const KUBERNETES: &str = "kubernetes.io";
/// The resource that a device plugin advertises. The kubelet writes it.
const GPU: &str = "nvidia.com/gpu";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No client other than the harness writes to the node.
    Harness,
    User,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NodeState {
    pub(crate) labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    cordoned: bool,
    taints: Vec<Taint>,
    /// Nonzero amounts by `capacity NAME` and `allocatable NAME`.
    resources: BTreeMap<String, String>,
    conditions: BTreeMap<String, String>,
}

impl NodeState {
    pub(crate) fn of(node: &Node) -> Self {
        let (spec, status) = (node.spec.as_ref(), node.status.as_ref());
        let is_written_by_cases = |(key, _): &(&String, &String)| {
            !key.split_once('/').is_some_and(|(domain, _)| domain.ends_with(KUBERNETES))
        };
        let annotations = node.annotations().iter().filter(is_written_by_cases);
        let mut taints = spec.and_then(|spec| spec.taints.clone()).unwrap_or_default();
        for taint in &mut taints {
            taint.time_added = None;
        }
        taints.sort_by_key(described);
        let amounts = |kind: &'static str, amounts: Option<&BTreeMap<String, Quantity>>| {
            let extended =
                amounts.into_iter().flatten().filter(|(name, amount)| name.contains('/') && amount.0 != "0");
            extended.map(|(name, amount)| (format!("{kind} {name}"), amount.0.clone())).collect::<Vec<_>>()
        };
        let capacity = amounts("capacity", status.and_then(|status| status.capacity.as_ref()));
        let allocatable = amounts("allocatable", status.and_then(|status| status.allocatable.as_ref()));
        let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
        Self {
            labels: node.labels().clone(),
            annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
            cordoned: spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
            taints,
            resources: capacity.into_iter().chain(allocatable).collect(),
            conditions: conditions
                .map(|condition| (condition.type_.clone(), condition.status.clone()))
                .collect(),
        }
    }

    pub(crate) fn difference(&self, now: &Self, owner: Owner) -> Option<String> {
        let mut lines = Vec::new();
        let is_ignored =
            |key: &str| owner == Owner::User && !HARNESS.iter().any(|prefix| key.starts_with(prefix));
        compare(&mut lines, "label", &self.labels, &now.labels, is_ignored);
        compare(&mut lines, "annotation", &self.annotations, &now.annotations, is_ignored);
        if self.cordoned != now.cordoned {
            lines.push(if now.cordoned {
                "the node is cordoned".into()
            } else {
                "the node is no longer cordoned".into()
            });
        }
        let taints =
            |state: &Self| state.taints.iter().map(|taint| (described(taint), "set".into())).collect();
        compare(&mut lines, "taint", &taints(self), &taints(now), |_| false);
        compare(&mut lines, "resource", &self.resources, &now.resources, |_| false);
        compare(&mut lines, "condition", &self.conditions, &now.conditions, |_| false);
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    /// The patch replaces the whole list of taints, so it contains the node's resourceVersion.
    pub(crate) fn restoring(&self, node: &Node) -> Value {
        let now = Self::of(node);
        let lifecycle = now.taints.iter().filter(|taint| taint.key.starts_with(LIFECYCLE));
        let recorded = self.taints.iter().filter(|taint| !taint.key.starts_with(LIFECYCLE));
        json!({
            "metadata": {
                "resourceVersion": node.metadata.resource_version,
                "labels": changes(&self.labels, &now.labels),
                "annotations": changes(&self.annotations, &now.annotations),
            },
            "spec": {
                "unschedulable": self.cordoned.then_some(true),
                "taints": recorded.chain(lifecycle).collect::<Vec<_>>(),
            },
        })
    }

    /// Returns the merge patch that restores extended resources, or `None` if nothing changed.
    pub(crate) fn restoring_status(&self, node: &Node) -> Option<Value> {
        let mut status = json!({"capacity": {}, "allocatable": {}});
        let mut is_changed = false;
        for (key, amount) in changes(&self.resources, &Self::of(node).resources) {
            if let Some((kind, name)) = key.split_once(' ').filter(|(_, name)| *name != GPU) {
                status[kind][name] = amount;
                is_changed = true;
            }
        }
        is_changed.then(|| json!({ "status": status }))
    }
}

fn described(taint: &Taint) -> String {
    format!("{}={}:{}", taint.key, taint.value.as_deref().unwrap_or_default(), taint.effect)
}

fn compare(
    lines: &mut Vec<String>,
    what: &str,
    was: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    is_ignored: impl Fn(&str) -> bool,
) {
    let keys: BTreeSet<_> = was.keys().chain(now.keys()).collect();
    for key in keys.into_iter().filter(|key| !is_ignored(key)) {
        match (was.get(key), now.get(key)) {
            (Some(was), None) => lines.push(format!("{what} {key} is missing, want {was:?}")),
            (None, Some(now)) => lines.push(format!("{what} {key} is {now:?}, want it absent")),
            (Some(was), Some(now)) if was != now => {
                lines.push(format!("{what} {key} is {now:?}, want {was:?}"))
            }
            _ => {}
        }
    }
}

fn changes(was: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Map<String, Value> {
    let added = now.keys().filter(|key| !was.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = was.iter().filter(|(key, value)| now.get(*key) != Some(value));
    added.chain(changed.map(|(key, value)| (key.clone(), json!(value)))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn patched(mut object: Value, patch: &Value) -> Value {
        let Value::Object(changes) = patch else { return patch.clone() };
        if !object.is_object() {
            object = json!({});
        }
        for (key, change) in changes {
            match change {
                Value::Null => drop(object.as_object_mut().map(|fields| fields.remove(key))),
                _ => object[key] = patched(object[key].take(), change),
            }
        }
        object
    }

    fn leased() -> Value {
        json!({
            "metadata": {"name": "n", "labels": {"kept": "a", "changed": "a", "removed": "a"},
                "annotations": {"node.alpha.kubernetes.io/ttl": "0", "note": "a"}},
            "spec": {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]},
            "status": {
                "capacity": {"cpu": "32", "nvidia.com/gpu": "8"},
                "allocatable": {"cpu": "32", "nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        })
    }

    fn state(node: &Value) -> NodeState {
        NodeState::of(&serde_json::from_value(node.clone()).unwrap())
    }

    #[rstest::rstest]
    #[case::cordon(json!({"spec": {"unschedulable": true}}), "the node is cordoned")]
    #[case::taint(
        json!({"spec": {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}, {"key": "new", "effect": "NoExecute"}]}}),
        "taint new=:NoExecute is \"set\", want it absent"
    )]
    #[case::lost_taint(
        json!({"spec": {"taints": []}}),
        "taint team=blue:NoSchedule is missing, want \"set\""
    )]
    #[case::label(json!({"metadata": {"labels": {"changed": "b"}}}), "label changed is \"b\", want \"a\"")]
    #[case::annotation(
        json!({"metadata": {"annotations": {"more": "b"}}}),
        "annotation more is \"b\", want it absent"
    )]
    #[case::capacity(
        json!({"status": {"capacity": {"example.com/fpga": "1"}}}),
        "resource capacity example.com/fpga is \"1\", want it absent"
    )]
    #[case::devices(
        json!({"status": {"allocatable": {"nvidia.com/gpu": "7"}}}),
        "resource allocatable nvidia.com/gpu is \"7\", want \"8\""
    )]
    #[case::condition(
        json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}),
        "condition Ready is \"Unknown\", want \"True\""
    )]
    fn a_changed_field_is_reported(#[case] change: Value, #[case] wanted: &str) {
        let changed = state(&patched(leased(), &change));
        assert_eq!(state(&leased()).difference(&changed, Owner::Harness).as_deref(), Some(wanted));
    }

    #[rstest::rstest]
    #[case::nothing_of_a_resource(json!({"status": {"capacity": {"example.com/fpga": "0"}}}))]
    #[case::time_of_a_taint(
        json!({"spec": {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule", "timeAdded": "2026-11-27T00:00:00Z"}]}})
    )]
    #[case::written_by_kubernetes(json!({"metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "15"}}}))]
    fn fields_that_no_case_writes_are_ignored(#[case] change: Value) {
        let changed = state(&patched(leased(), &change));
        assert_eq!(state(&leased()).difference(&changed, Owner::Harness), None);
    }

    #[rstest::rstest]
    #[case::added(json!({"labels": {"theirs": "b"}}), false)]
    #[case::changed(json!({"labels": {"changed": "b"}, "annotations": {"note": "b"}}), false)]
    #[case::removed(json!({"labels": {"removed": null}}), false)]
    #[case::ours(json!({"labels": {"conformance.grove.io/pool": "p"}}), true)]
    #[case::level(json!({"labels": {"topology.kubernetes.io/rack": "p"}}), true)]
    fn other_clients_may_change_labels_of_a_users_node(#[case] metadata: Value, #[case] differs: bool) {
        let now = state(&patched(leased(), &json!({ "metadata": metadata })));
        assert_eq!(state(&leased()).difference(&now, Owner::User).is_some(), differs);
        assert!(state(&leased()).difference(&now, Owner::Harness).is_some());
    }

    #[test]
    fn a_node_that_a_case_left_changed_is_restored() {
        let change = json!({
            "metadata": {"labels": {"changed": "b", "removed": null, "added": "b"}, "annotations": {"note": null, "more": "b"}},
            "spec": {"unschedulable": true, "taints": [
                {"key": "left", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            ]},
            "status": {"capacity": {"example.com/fpga": "1", "nvidia.com/gpu": "7"}, "allocatable": {"example.com/fpga": "1"}},
        });
        let changed = patched(leased(), &change);
        let node: Node = serde_json::from_value(changed.clone()).unwrap();
        let before = state(&leased());
        let mut restored = patched(changed, &before.restoring(&node));
        restored = patched(restored, &before.restoring_status(&node).unwrap());
        // The node lifecycle controller and the kubelet restore these fields.
        restored["spec"]["taints"].as_array_mut().unwrap().retain(|taint| taint["key"] == "team");
        restored["status"]["capacity"]["nvidia.com/gpu"] = json!("8");
        assert_eq!(before.difference(&state(&restored), Owner::Harness), None);
        let unchanged: Node = serde_json::from_value(leased()).unwrap();
        assert_eq!(before.restoring_status(&unchanged), None);
    }
}
