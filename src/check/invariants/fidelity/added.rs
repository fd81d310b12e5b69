//! Finds fields of a pod that its template lacks, except documented ones (GANG-27).

use conformance_contract::backend_declaration::PodAddition;
use conformance_facts::requests::defaulted;
use conformance_history::{list, text};
use serde_json::Value;

use super::documented::is_documented;
use super::lost::differs;

/// A field that the suite sets to make a running pod fail.
const SET_BY_SUITE: &str = "activeDeadlineSeconds";

/// Returns the first added field. Labels and annotations count only at creation: others may write them later.
pub(super) fn path(
    template: &Value,
    clique: &Value,
    pod: &Value,
    is_created: bool,
    declared: &[PodAddition],
) -> Option<String> {
    let mut wanted = defaulted(&clique["spec"]["podSpec"]);
    if wanted["serviceAccountName"].is_null() {
        // The former name of the field.
        wanted["serviceAccountName"] = wanted["serviceAccount"].clone();
    }
    if wanted["priorityClassName"].is_null() {
        wanted["priorityClassName"] = template["priorityClassName"].clone();
    }
    let pod_fields = pod["spec"].as_object().into_iter().flatten();
    let mut pod_fields = pod_fields.filter(|(name, _)| is_created || *name != SET_BY_SUITE);
    let of_spec = pod_fields
        .find_map(|(name, found)| added(&wanted[name.as_str()], found, &format!("spec.{name}"), declared));
    if of_spec.is_some() || !is_created {
        return of_spec;
    }
    let mut of_metadata = ["labels", "annotations"].into_iter();
    of_metadata.find_map(|field| {
        added(&clique[field], &pod["metadata"][field], &format!("metadata.{field}"), declared)
    })
}

/// Returns the path of the first value that `wanted` lacks. Empty strings, lists and objects are no values.
fn added(wanted: &Value, found: &Value, path: &str, declared: &[PodAddition]) -> Option<String> {
    if wanted.is_null() && is_documented(path, found, declared) {
        return None;
    }
    match found {
        Value::Object(fields) => {
            let is_default = |name: &str, value: &Value| {
                let image = match name {
                    "imagePullPolicy" => &found["image"],
                    // The field of an image volume.
                    "pullPolicy" => &found["reference"],
                    _ => return false,
                };
                wanted[name].is_null() && *value == pull_policy(text(image))
            };
            let mut fields = fields.iter().filter(|(name, value)| !is_default(name, value));
            fields.find_map(|(name, value)| {
                let selector = (name == "labelSelector").then(|| own_selector(found));
                let value = selector.as_ref().unwrap_or(value);
                added(&wanted[name.as_str()], value, &format!("{path}.{name}"), declared)
            })
        }
        Value::Array(entries) => added_entry(list(wanted), entries, path, declared),
        Value::Null => None,
        Value::String(value) if value.is_empty() => None,
        _ => wanted.is_null().then(|| path.to_owned()),
    }
}

/// The label selector of an affinity term or, since Kubernetes 1.34, of a spread constraint, without the
/// expressions that the API server derives from the label keys next to it (`applyLabelKeysToLabelSelector` in
/// `pkg/registry/core/pod/strategy.go`).
fn own_selector(term: &Value) -> Value {
    let mut selector = term["labelSelector"].clone();
    if let Some(expressions) = selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        expressions.retain(|expression| !is_derived(term, expression));
    }
    selector
}

fn is_derived(term: &Value, expression: &Value) -> bool {
    let keys = match text(&expression["operator"]) {
        "In" => "matchLabelKeys",
        "NotIn" => "mismatchLabelKeys",
        _ => return false,
    };
    list(&term[keys]).contains(&expression["key"]) && list(&expression["values"]).len() == 1
}

fn pull_policy(image: &str) -> &'static str {
    let tag = image.rsplit('/').next().and_then(|name| name.split_once(':')).map(|(_, tag)| tag);
    let is_fixed = image.contains('@') || tag.is_some_and(|tag| tag != "latest");
    if is_fixed { "IfNotPresent" } else { "Always" }
}

fn added_entry(wanted: &[Value], found: &[Value], path: &str, declared: &[PodAddition]) -> Option<String> {
    let mut rest: Vec<&Value> = wanted.iter().collect();
    for entry in found {
        let path = format!("{path}[{}]", label(entry));
        match rest.iter().position(|wanted| is_same_entry(wanted, entry)) {
            Some(place) => {
                let in_entry = added(rest.remove(place), entry, &path, declared);
                if in_entry.is_some() {
                    return in_entry;
                }
            }
            None if is_documented(&path, entry, declared) => {}
            None => return Some(path),
        }
    }
    None
}

/// Whether two list entries are the same: by name or, without names, by content.
fn is_same_entry(wanted: &Value, found: &Value) -> bool {
    match found["name"].as_str() {
        Some(name) => wanted["name"] == name,
        None => differs(wanted, found).is_none(),
    }
}

fn label(entry: &Value) -> String {
    let known = entry["name"].as_str().or_else(|| entry["key"].as_str());
    known.map_or_else(|| entry.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn clique() -> Value {
        json!({
            "name": "a",
            "labels": {"team": "t"},
            "spec": {"podSpec": {
                "schedulingGates": [{"name": "example.com/own"}],
                "tolerations": [{"key": "x", "operator": "Exists"}],
                "containers": [{
                    "name": "main", "image": "registry.example.com:5000/i:1",
                    "env": [{"name": "OWN", "value": "1"}, {"name": "GROVE_PCSG_NAME", "value": "mine"}],
                    "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}],
                }],
                "volumes": [{"name": "labels", "projected": {"sources": [{"downwardAPI": {"items": [
                    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}}],
            }},
        })
    }

    fn pod() -> Value {
        let container = json!({
            "name": "main", "image": "registry.example.com:5000/i:1", "imagePullPolicy": "IfNotPresent",
            "env": [
                {"name": "GROVE_PCS_NAME", "value": "w"},
                {"name": "GROVE_PCSG_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "OWN", "value": "1"},
            ],
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]},
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [{"name": "kube-api-access-x", "mountPath": "/var/run/secrets", "readOnly": true}],
        });
        let labels =
            json!({"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}});
        let volumes = json!([
            {"name": "labels", "projected": {"defaultMode": 420, "sources": [{"downwardAPI": {"items": [labels]}}]}},
            {"name": "kube-api-access-x", "projected": {"sources": []}},
            {"name": "pod-info-vol", "downwardAPI": {"items": []}},
        ]);
        let rack = json!({"matchExpressions": [{"key": "rack", "operator": "Exists"}]});
        let affinity =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [rack]}});
        json!({
            "metadata": {
                "labels": {"team": "t", "grove.io/podclique": "w-0-a", "app.kubernetes.io/name": "w-0-a"},
                "annotations": {"scheduling.k8s.io/group-name": "w-0"},
            },
            "spec": {
                "hostname": "w-0-a-0", "subdomain": "w-0", "schedulerName": "default-scheduler", "nodeName": "n",
                "schedulingGates": [{"name": "grove.io/podgang-pending-creation"}],
                "schedulingGroup": {"podGroupName": "w-0"}, "priority": 1000, "priorityClassName": "high",
                "preemptionPolicy": "PreemptLowerPriority",
                "serviceAccountName": "default", "serviceAccount": "default",
                "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
                "enableServiceLinks": true, "securityContext": {},
                "affinity": {"nodeAffinity": affinity},
                "tolerations": [
                    {"key": "x", "operator": "Exists"},
                    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
                ],
                "initContainers": [{"name": "grove-initc", "image": "initc", "args": ["--podcliques=w-0-b:1"]}],
                "containers": [container],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "w-0-gpu"}],
                "volumes": volumes,
            },
        })
    }

    fn found(pod: &Value, is_created: bool, declared: &[PodAddition]) -> Option<String> {
        path(&json!({"priorityClassName": "high"}), &clique(), pod, is_created, declared)
    }

    #[test]
    fn documented_additions_are_allowed() {
        assert_eq!(found(&pod(), true, &[]), None);
    }

    #[rstest::rstest]
    #[case::volume_of_an_image(
        json!({"volumes": [{"name": "model", "image": {"reference": "registry.example.com/m:v1"}}]}),
        json!({"volumes": [{"name": "model", "image": {"reference": "registry.example.com/m:v1", "pullPolicy": "IfNotPresent"}}]}),
        None
    )]
    #[case::another_policy(
        json!({"volumes": [{"name": "model", "image": {"reference": "registry.example.com/m:v1"}}]}),
        json!({"volumes": [{"name": "model", "image": {"reference": "registry.example.com/m:v1", "pullPolicy": "Never"}}]}),
        Some("spec.volumes[model].image.pullPolicy")
    )]
    #[case::interface(
        json!({"volumes": [{"name": "disk", "iscsi": {"iqn": "q"}}]}),
        json!({"volumes": [{"name": "disk", "iscsi": {"iqn": "q", "iscsiInterface": "default"}}]}),
        None
    )]
    #[case::former_field(
        json!({"serviceAccount": "trainer"}),
        json!({"serviceAccount": "trainer", "serviceAccountName": "trainer"}),
        None
    )]
    #[case::pod_level_request(
        json!({"containers": [{"name": "main", "resources": {"requests": {"memory": "1Gi"}}}], "resources": {"limits": {"cpu": "2"}}}),
        json!({"containers": [{"name": "main", "resources": {"requests": {"memory": "1Gi"}}}],
            "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2", "memory": "1Gi"}}}),
        None
    )]
    fn what_the_api_server_derives_from_the_template_is_no_addition(
        #[case] template: Value,
        #[case] stored: Value,
        #[case] wanted: Option<&str>,
    ) {
        let clique = json!({"name": "a", "spec": {"podSpec": template}});
        let pod = json!({"metadata": {}, "spec": stored});
        assert_eq!(path(&json!({}), &clique, &pod, true, &[]).as_deref(), wanted);
    }

    #[rstest::rstest]
    #[case::of_a_key("revision", "In", &["r"], true)]
    #[case::of_a_mismatched_key("team", "NotIn", &["t"], true)]
    #[case::another_key("zone", "In", &["r"], false)]
    #[case::key_with_another_operator("revision", "NotIn", &["r"], false)]
    #[case::mismatched_key_with_another_operator("team", "In", &["t"], false)]
    #[case::without_values("revision", "Exists", &[], false)]
    #[case::two_values("revision", "In", &["r", "s"], false)]
    fn only_an_expression_of_a_label_key_is_derived(
        #[case] key: &str,
        #[case] operator: &str,
        #[case] values: &[&str],
        #[case] is_derived: bool,
    ) {
        let mut term = json!({
            "topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "a"}},
            "matchLabelKeys": ["revision"], "mismatchLabelKeys": ["team"],
        });
        let spec = |term: &Value| {
            let terms = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
            json!({"affinity": {"podAntiAffinity": terms}})
        };
        let clique = json!({"name": "a", "spec": {"podSpec": spec(&term)}});
        let own = json!({"metadata": {}, "spec": spec(&term)});
        assert_eq!(path(&json!({}), &clique, &own, true, &[]), None);
        let expression = json!({"key": key, "operator": operator, "values": values});
        term["labelSelector"]["matchExpressions"] = json!([expression]);
        let pod = json!({"metadata": {}, "spec": spec(&term)});
        let found = path(&json!({}), &clique, &pod, true, &[]);
        assert_eq!(found.is_none(), is_derived, "{found:?}");
        let at = format!("].labelSelector.matchExpressions[{key}]");
        assert!(found.is_none_or(|found| found.ends_with(&at)));
    }

    #[rstest::rstest]
    #[case::of_a_key("revision", true)]
    #[case::another_key("zone", false)]
    fn a_spread_constraint_may_have_derived_expressions(#[case] key: &str, #[case] is_derived: bool) {
        let mut constraint = json!({
            "topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "a"}},
            "matchLabelKeys": ["revision"],
        });
        let spec = |constraint: &Value| json!({"topologySpreadConstraints": [constraint]});
        let clique = json!({"name": "a", "spec": {"podSpec": spec(&constraint)}});
        let expression = json!({"key": key, "operator": "In", "values": ["r"]});
        constraint["labelSelector"]["matchExpressions"] = json!([expression]);
        let pod = json!({"metadata": {}, "spec": spec(&constraint)});
        let found = path(&json!({}), &clique, &pod, true, &[]);
        assert_eq!(found.is_none(), is_derived, "{found:?}");
    }

    #[rstest::rstest]
    #[case::field("/spec/shareProcessNamespace", json!(true), "spec.shareProcessNamespace")]
    #[case::default_of_another_value("/spec/dnsPolicy", json!("Default"), "spec.dnsPolicy")]
    #[case::class("/spec/priorityClassName", json!("higher"), "")]
    #[case::pull_policy("/spec/containers/0/imagePullPolicy", json!("Always"), "spec.containers[main].imagePullPolicy")]
    #[case::limit("/spec/containers/0/resources/limits/memory", json!("1Gi"), "spec.containers[main].resources.limits.memory")]
    #[case::variable(
        "/spec/containers/0/env", json!([{"name": "OTHER", "value": "1"}, {"name": "OWN", "value": "1"}]),
        "spec.containers[main].env[OTHER]"
    )]
    #[case::variable_twice(
        "/spec/containers/0/env", json!([{"name": "OWN", "value": "1"}, {"name": "OWN", "value": "1"}]),
        "spec.containers[main].env[OWN]"
    )]
    #[case::toleration(
        "/spec/tolerations", json!([{"key": "x", "operator": "Exists"}, {"key": "y", "operator": "Exists"}]),
        "spec.tolerations[y]"
    )]
    #[case::wider_toleration(
        "/spec/tolerations", json!([{"key": "x", "operator": "Exists", "tolerationSeconds": 5}]),
        "spec.tolerations[x].tolerationSeconds"
    )]
    #[case::pod_affinity(
        "/spec/affinity/podAffinity", json!({"preferred": [{"weight": 1}]}),
        r#"spec.affinity.podAffinity.preferred[{"weight":1}]"#
    )]
    #[case::init_container("/spec/initContainers", json!([{"name": "other", "image": "i"}]), "spec.initContainers[other]")]
    #[case::volume("/spec/volumes", json!([{"name": "other", "emptyDir": {}}]), "spec.volumes[other]")]
    #[case::label("/metadata/labels/team2", json!("t"), "metadata.labels.team2")]
    #[case::annotation("/metadata/annotations/note", json!("n"), "metadata.annotations.note")]
    fn an_addition_is_reported_with_its_path(#[case] at: &str, #[case] value: Value, #[case] wanted: &str) {
        let mut pod = pod();
        let (parent, field) = at.rsplit_once('/').unwrap();
        pod.pointer_mut(parent).unwrap()[field] = value;
        // A changed value is a loss, which GANG-16 covers.
        assert_eq!(found(&pod, true, &[]).unwrap_or_default(), wanted);
    }

    #[test]
    fn labels_and_deadlines_that_are_added_later_are_allowed() {
        let mut pod = pod();
        pod["metadata"]["labels"]["team2"] = json!("t");
        pod["spec"]["activeDeadlineSeconds"] = json!(1);
        assert_eq!(found(&pod, false, &[]), None);
        assert_eq!(found(&pod, true, &[]).as_deref(), Some("spec.activeDeadlineSeconds"));
    }

    #[test]
    fn an_operator_may_declare_additions() {
        let mut pod = pod();
        pod["spec"]["volumes"][2]["name"] = json!("vendor-cache");
        assert_eq!(found(&pod, true, &[]).as_deref(), Some("spec.volumes[vendor-cache]"));
        let at = "spec.volumes[vendor-*]".to_owned();
        let declared = [PodAddition { at, link: "https://example.com/docs".to_owned() }];
        assert_eq!(found(&pod, true, &declared), None);
    }

    #[rstest::rstest]
    #[case("i", "Always")]
    #[case("i:latest", "Always")]
    #[case("host:5000/i", "Always")]
    #[case("host:5000/i:1", "IfNotPresent")]
    #[case("i@sha256:0", "IfNotPresent")]
    fn the_pull_policy_depends_on_the_tag(#[case] image: &str, #[case] wanted: &str) {
        assert_eq!(pull_policy(image), wanted);
    }
}
