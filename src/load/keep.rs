//! Reduces the versions of objects that the history of a load test records.
//!
//! A pod takes 40 kB in memory and has six versions, so the history keeps only the fields that checks read:
//!
//! - of a pod: identity, requests, template revision, node and condition;
//! - of a PodClique after its creation: of the template, only the revision;
//! - of a deleted object: identity and node;
//! - no Events.
//!
//! The API server does not allow changes to the omitted fields of a pod.

use conformance_facts::updates::REVISION;
use conformance_history::{Change, list};
use serde_json::{Map, Value, json};

/// Fields of a pod's `spec` that no workload of this case sets.
const UNUSED_POD_FIELDS: [&str; 14] = [
    "automountServiceAccountToken",
    "dnsPolicy",
    "enableServiceLinks",
    "hostname",
    "preemptionPolicy",
    "priority",
    "restartPolicy",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "subdomain",
    "terminationGracePeriodSeconds",
    "volumes",
];
/// Further fields of a pod's `spec` that only its first version keeps, because checks read them there.
const UNUSED_LATER_POD_FIELDS: [&str; 3] = ["affinity", "nodeSelector", "tolerations"];
/// Fields of a container that are removed. Of the variables in `env`, the revision of the template is kept.
const UNUSED_CONTAINER_FIELDS: [&str; 6] = [
    "env",
    "imagePullPolicy",
    "securityContext",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "volumeMounts",
];
/// The only condition of a pod that is kept. The node shows what `PodScheduled` would.
const CONDITION: &str = "Ready";
const CONDITION_FIELDS: [&str; 3] = ["type", "status", "reason"];

/// Removes the fields that are not recorded. Returns false if the whole version is not recorded.
pub(super) fn reduce(change: Change, object: &mut Value, known: Option<&Value>) -> bool {
    let is_new = change == Change::Added;
    match object["kind"].as_str() {
        Some("Event") => return false,
        _ if change == Change::Deleted => {
            keep_place(object, &["name", "namespace", "uid", "resourceVersion", "labels"])
        }
        // A terminating pod gets another version when its kubelet has released it.
        Some("Pod") if is_terminating(object) && known.is_some_and(is_terminating) => return false,
        Some("Pod") => pod(is_new, object),
        Some("PodClique") if !is_new => {
            let template = &mut object["spec"]["podSpec"];
            only(template, &["containers", "initContainers"]);
            reduce_containers(template);
            remove_containers_without_revision(template);
        }
        _ => {}
    }
    if !is_new {
        without(&mut object["metadata"], &["managedFields"]);
    }
    true
}

pub(super) fn bindings(_: Change, object: &mut Value, _: Option<&Value>) -> bool {
    if object["kind"] != "Pod" {
        return false;
    }
    keep_place(object, &["name", "namespace", "uid", "resourceVersion"]);
    true
}

fn keep_place(object: &mut Value, metadata: &[&str]) {
    only(object, &["kind", "apiVersion", "metadata", "spec"]);
    only(&mut object["metadata"], metadata);
    object.get_mut("spec").into_iter().for_each(|spec| only(spec, &["nodeName"]));
}

fn pod(is_new: bool, pod: &mut Value) {
    without(&mut pod["metadata"], &["managedFields"]);
    let spec = &mut pod["spec"];
    without(spec, &UNUSED_POD_FIELDS);
    reduce_containers(spec);
    if !is_new {
        without(spec, &UNUSED_LATER_POD_FIELDS);
        remove_containers_without_revision(spec);
    }
    let status = &mut pod["status"];
    only(status, &["phase", "conditions"]);
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions.retain(|condition| condition["type"] == CONDITION);
        conditions.iter_mut().for_each(|condition| only(condition, &CONDITION_FIELDS));
        conditions.shrink_to_fit();
    }
}

/// Removes all containers if none has the template's revision: nothing else in a container changes.
fn remove_containers_without_revision(spec: &mut Value) {
    let has_revision = |container: &Value| !list(&container["env"]).is_empty();
    if !list(&spec["containers"]).iter().any(has_revision) {
        without(spec, &["containers", "initContainers"]);
    }
}

fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn reduce_containers(spec: &mut Value) {
    for key in ["containers", "initContainers"] {
        for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let revision =
                list(&container["env"]).iter().find(|variable| variable["name"] == REVISION).cloned();
            without(container, &UNUSED_CONTAINER_FIELDS);
            if let Some(revision) = revision {
                container["env"] = json!([revision]);
            }
        }
    }
}

fn without(object: &mut Value, fields: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        fields.iter().for_each(|field| drop(object.remove(*field)));
    }
}

fn only(object: &mut Value, fields: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        let kept = |field: &&str| Some(((*field).to_owned(), object.remove(*field)?));
        let kept: Map<String, Value> = fields.iter().filter_map(kept).collect();
        *object = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        json!({
            "kind": "Pod",
            "metadata": {"name": "p", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}, "managedFields": [{}]},
            "spec": {
                "nodeName": "n", "schedulerName": "s", "volumes": [], "tolerations": [],
                "containers": [{"name": "main", "image": "i", "resources": {"limits": {"x": "1"}},
                    "env": [{"name": "GROVE_PCS_NAME", "value": "s0"}, {"name": "REVISION", "value": "2"}]}],
            },
            "status": {
                "phase": "Running", "podIPs": [],
                "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": null}, {"type": "Initialized"},
                    {"type": "PodScheduled"}],
            },
        })
    }

    #[test]
    fn a_pod_keeps_the_fields_that_checks_read() {
        let mut first = pod();
        assert!(reduce(Change::Added, &mut first, None));
        let wanted = json!({
            "kind": "Pod",
            "metadata": {"name": "p", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}},
            "spec": {
                "nodeName": "n", "schedulerName": "s", "tolerations": [],
                "containers": [{"name": "main", "image": "i", "resources": {"limits": {"x": "1"}},
                    "env": [{"name": "REVISION", "value": "2"}]}],
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        });
        assert_eq!(first, wanted);
        let mut later = pod();
        assert!(reduce(Change::Modified, &mut later, None));
        assert!(later["spec"]["tolerations"].is_null() && later["spec"]["nodeName"] == "n");
        assert_eq!(later["spec"]["containers"][0]["resources"], first["spec"]["containers"][0]["resources"]);
        let mut without_revision = pod();
        without_revision["spec"]["containers"][0]["env"] = json!([{"name": "OTHER"}]);
        without_revision["metadata"]["deletionTimestamp"] = json!("t");
        let mut again = without_revision.clone();
        assert!(reduce(Change::Modified, &mut without_revision, Some(&later)));
        assert!(without_revision["spec"]["containers"].is_null());
        assert!(
            !reduce(Change::Modified, &mut again, Some(&without_revision)),
            "it is already being deleted"
        );
        let mut last = pod();
        assert!(reduce(Change::Deleted, &mut last, None));
        let metadata = json!({"name": "p", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}});
        assert_eq!(last, json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n"}}));
    }

    #[test]
    fn bindings_have_only_the_node_of_pods() {
        let mut bound = pod();
        assert!(bindings(Change::Modified, &mut bound, None));
        let metadata = json!({"name": "p", "uid": "u", "resourceVersion": "7"});
        assert_eq!(bound, json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n"}}));
        assert!(!bindings(Change::Added, &mut json!({"kind": "PodGroup"}), None));
    }

    #[test]
    fn only_the_first_version_of_a_clique_has_the_whole_template() {
        let clique = || {
            let env = json!([{"name": "OTHER"}, {"name": "REVISION", "value": "2"}]);
            let pod_spec = json!({"containers": [{"name": "main", "env": env}], "volumes": []});
            json!({"kind": "PodClique", "metadata": {"managedFields": []}, "spec": {"podSpec": pod_spec, "replicas": 1}})
        };
        let (mut first, mut later) = (clique(), clique());
        assert!(reduce(Change::Added, &mut first, None) && reduce(Change::Modified, &mut later, None));
        assert_eq!(first, clique());
        let containers = json!([{"name": "main", "env": [{"name": "REVISION", "value": "2"}]}]);
        let spec = json!({"podSpec": {"containers": containers}, "replicas": 1});
        assert_eq!(later, json!({"kind": "PodClique", "metadata": {}, "spec": spec}));
        assert!(!reduce(Change::Added, &mut json!({"kind": "Event"}), None));
    }
}
