//! Reduces what a history at scale records of each version of an object.
//!
//! A pod from the API server takes 40 kB in memory as a value, and it has six versions. Only what the checks
//! of this case read is recorded:
//! - of a pod: its identity, requests, template revision, node and condition;
//! - of a later version of a PodClique: only the revision of the template;
//! - of a deleted object: its identity and node; of Events: nothing.
//!
//! The API server does not allow changes to the omitted fields of a pod.

use conformance_facts::updates::REVISION;
use conformance_history::{Change, list};
use serde_json::{Map, Value, json};

/// Fields of a pod's `spec` that nothing in the workload sets.
const OF_A_POD: [&str; 14] = [
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
/// The same for later versions. Placement constraints are checked at creation.
const OF_A_LATER_POD: [&str; 3] = ["affinity", "nodeSelector", "tolerations"];
/// Fields of a container. Of its variables the revision of its template is kept.
const OF_A_CONTAINER: [&str; 6] = [
    "env",
    "imagePullPolicy",
    "securityContext",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "volumeMounts",
];
/// The only condition of a pod that is kept, with these fields. The node shows whether the pod is bound.
const CONDITION: &str = "Ready";
const OF_A_CONDITION: [&str; 3] = ["type", "status", "reason"];

/// Removes what is not recorded; `false` skips the version.
pub(super) fn kept(change: Change, object: &mut Value, known: Option<&Value>) -> bool {
    let is_new = change == Change::Added;
    match object["kind"].as_str() {
        Some("Event") => return false,
        _ if change == Change::Deleted => {
            place(object, &["name", "namespace", "uid", "resourceVersion", "labels"])
        }
        // A terminating pod is reported again when its kubelet has released it.
        Some("Pod") if is_ending(object) && known.is_some_and(is_ending) => return false,
        Some("Pod") => pod(is_new, object),
        Some("PodClique") if !is_new => {
            let template = &mut object["spec"]["podSpec"];
            only(template, &["containers", "initContainers"]);
            containers(template);
            only_of_updates(template);
        }
        _ => {}
    }
    if !is_new {
        without(&mut object["metadata"], &["managedFields"]);
    }
    true
}

/// Records of a pod only when it is bound and when it is deleted.
pub(super) fn bindings(_: Change, object: &mut Value, _: Option<&Value>) -> bool {
    if object["kind"] != "Pod" {
        return false;
    }
    place(object, &["name", "namespace", "uid", "resourceVersion"]);
    true
}

/// Keeps an object's kind, these fields of its metadata, and its node.
fn place(object: &mut Value, metadata: &[&str]) {
    only(object, &["kind", "apiVersion", "metadata", "spec"]);
    only(&mut object["metadata"], metadata);
    object.get_mut("spec").into_iter().for_each(|spec| only(spec, &["nodeName"]));
}

fn pod(is_new: bool, pod: &mut Value) {
    without(&mut pod["metadata"], &["managedFields"]);
    let spec = &mut pod["spec"];
    without(spec, &OF_A_POD);
    containers(spec);
    if !is_new {
        without(spec, &OF_A_LATER_POD);
        only_of_updates(spec);
    }
    let status = &mut pod["status"];
    only(status, &["phase", "conditions"]);
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions.retain(|condition| condition["type"] == CONDITION);
        conditions.iter_mut().for_each(|condition| only(condition, &OF_A_CONDITION));
        conditions.shrink_to_fit();
    }
}

/// Removes containers, which do not change, unless they contain the revision of their template.
fn only_of_updates(spec: &mut Value) {
    let tells = |container: &Value| !list(&container["env"]).is_empty();
    if !list(&spec["containers"]).iter().any(tells) {
        without(spec, &["containers", "initContainers"]);
    }
}

fn is_ending(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn containers(spec: &mut Value) {
    for key in ["containers", "initContainers"] {
        for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let revision =
                list(&container["env"]).iter().find(|variable| variable["name"] == REVISION).cloned();
            without(container, &OF_A_CONTAINER);
            if let Some(revision) = revision {
                container["env"] = json!([revision]);
            }
        }
    }
}

fn without(of: &mut Value, fields: &[&str]) {
    if let Some(of) = of.as_object_mut() {
        fields.iter().for_each(|field| drop(of.remove(*field)));
    }
}

fn only(of: &mut Value, fields: &[&str]) {
    if let Some(of) = of.as_object_mut() {
        let kept = |field: &&str| Some(((*field).to_owned(), of.remove(*field)?));
        let kept: Map<String, Value> = fields.iter().filter_map(kept).collect();
        *of = kept;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn a_pod_is_what_judges_read() {
        let mut first = pod();
        assert!(kept(Change::Added, &mut first, None));
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
        assert!(kept(Change::Modified, &mut later, None));
        assert!(later["spec"]["tolerations"].is_null() && later["spec"]["nodeName"] == "n");
        assert_eq!(later["spec"]["containers"][0]["resources"], first["spec"]["containers"][0]["resources"]);
        let mut of_no_update = pod();
        of_no_update["spec"]["containers"][0]["env"] = json!([{"name": "OTHER"}]);
        of_no_update["metadata"]["deletionTimestamp"] = json!("t");
        let mut again = of_no_update.clone();
        assert!(kept(Change::Modified, &mut of_no_update, Some(&later)));
        assert!(of_no_update["spec"]["containers"].is_null());
        assert!(!kept(Change::Modified, &mut again, Some(&of_no_update)), "it is already being deleted");
        let mut last = pod();
        assert!(kept(Change::Deleted, &mut last, None));
        let metadata = json!({"name": "p", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}});
        assert_eq!(last, json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n"}}));
    }

    #[test]
    fn of_what_is_bound_no_more_is_kept() {
        let mut bound = pod();
        assert!(bindings(Change::Modified, &mut bound, None));
        let metadata = json!({"name": "p", "uid": "u", "resourceVersion": "7"});
        assert_eq!(bound, json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n"}}));
        assert!(!bindings(Change::Added, &mut json!({"kind": "PodGroup"}), None));
    }

    #[test]
    fn a_template_is_kept_whole_once_and_events_are_not() {
        let clique = || {
            let env = json!([{"name": "OTHER"}, {"name": "REVISION", "value": "2"}]);
            let pod_spec = json!({"containers": [{"name": "main", "env": env}], "volumes": []});
            json!({"kind": "PodClique", "metadata": {"managedFields": []}, "spec": {"podSpec": pod_spec, "replicas": 1}})
        };
        let (mut first, mut later) = (clique(), clique());
        assert!(kept(Change::Added, &mut first, None) && kept(Change::Modified, &mut later, None));
        assert_eq!(first, clique());
        let containers = json!([{"name": "main", "env": [{"name": "REVISION", "value": "2"}]}]);
        let spec = json!({"podSpec": {"containers": containers}, "replicas": 1});
        assert_eq!(later, json!({"kind": "PodClique", "metadata": {}, "spec": spec}));
        assert!(!kept(Change::Added, &mut json!({"kind": "Event"}), None));
    }
}
