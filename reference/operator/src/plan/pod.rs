//! Builds the pod of a PodClique from the template's JSON, so that no user field is lost.

use std::collections::BTreeSet;

use grove_api::{PodClique, PodCliqueSet, PodSpecJson, names};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Map, Value, json};

use super::resource_sharing;
use super::startup_order::Parent;
use crate::cache::ownership::owner_reference;
use crate::faults::fault;

pub(crate) fn pod(
    pcs: &PodCliqueSet,
    pclq: &PodClique,
    (name, index): (&str, i32),
    parents: &[Parent],
    init_image: &str,
) -> DynamicObject {
    let pcs_name = pcs.name_any();
    let label = |key| pclq.labels().get(key).cloned();
    let replica = label(names::LABEL_PCS_REPLICA_INDEX).and_then(|replica| replica.parse().ok()).unwrap_or(0);
    let namespace = pclq.namespace().unwrap_or_default();

    let mut pod = DynamicObject::new(name, &ApiResource::erase::<Pod>(&())).within(&namespace);
    let mut labels = names::managed_labels(&pcs_name);
    labels.extend(pclq.labels().clone());
    labels.insert(names::LABEL_POD_CLIQUE.to_owned(), pclq.name_any());
    labels.insert(names::LABEL_POD_INDEX.to_owned(), index.to_string());
    pod.metadata.labels = Some(labels);
    pod.metadata.annotations = pclq.metadata.annotations.clone();
    pod.annotations_mut().remove(names::ANNOTATION_PREVIOUS_TEMPLATE);
    pod.metadata.owner_references = owner_reference(pclq).map(|owner| vec![owner]);

    let PodSpecJson(spec) = &pclq.spec.pod_spec;
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    // Grove's gate must be the only one (GANG-05). As in upstream, the template's gates are dropped.
    spec.insert("schedulingGates".to_owned(), json!([{ "name": names::POD_GANG_GATE }]));
    spec.insert("hostname".to_owned(), json!(names::pod_hostname(&pclq.name_any(), index)));
    spec.insert("subdomain".to_owned(), json!(names::headless_service(&pcs_name, replica)));
    let environment = environment(pcs, pclq, replica, &namespace);
    for field in ["containers", "initContainers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            prepend_environment(container, &environment);
        }
    }
    add_claims(&mut spec, &resource_sharing::claim_names(pcs, pclq, index));
    if !parents.is_empty() {
        add_init_container(&mut spec, &pcs_name, parents, init_image);
    }
    pod.data = json!({ "spec": spec });
    pod
}

fn add_claims(spec: &mut Map<String, Value>, claims: &[String]) {
    if claims.is_empty() {
        return;
    }
    let pod_claims = claims.iter().map(|name| json!({"name": name, "resourceClaimName": name}));
    append(spec, "resourceClaims", pod_claims);
    for field in ["containers", "initContainers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            let resources = container.entry("resources").or_insert_with(|| json!({}));
            if let Some(resources) = resources.as_object_mut() {
                append(resources, "claims", claims.iter().map(|name| json!({ "name": name })));
            }
        }
    }
}

fn append(fields: &mut Map<String, Value>, list: &str, items: impl IntoIterator<Item = Value>) {
    let list = fields.entry(list).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.extend(items);
    }
}

/// Adds Grove's init container after the user's init containers. No other container mounts its volumes.
fn add_init_container(spec: &mut Map<String, Value>, pcs: &str, parents: &[Parent], image: &str) {
    let ((token, token_path), (info, info_path)) = (names::INIT_TOKEN_VOLUME, names::INIT_POD_INFO_VOLUME);
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path, "readOnly": true});
    let args: Vec<_> = parents
        .iter()
        .map(|parent| format!("{}={}:{}", names::INIT_PARENT, parent.name, parent.ready))
        .collect();
    let container = json!({
        "name": names::INIT_CONTAINER, "image": image, "imagePullPolicy": "IfNotPresent", "args": args,
        "volumeMounts": [mount(info, info_path), mount(token, token_path)],
    });
    let item = |path: &str, field: String| json!({"path": path, "fieldRef": {"fieldPath": field}});
    let items = [
        item("namespace", "metadata.namespace".to_owned()),
        item("podgangname", format!("metadata.labels['{}']", names::LABEL_POD_GANG)),
    ];
    let volumes = [
        json!({"name": token, "secret": {"secretName": names::init_token(pcs), "defaultMode": 0o644}}),
        json!({"name": info, "downwardAPI": {"items": items}}),
    ];
    append(spec, "initContainers", [container]);
    append(spec, "volumes", volumes);
}

fn environment(pcs: &PodCliqueSet, pclq: &PodClique, replica: i32, namespace: &str) -> Vec<Value> {
    let pcs_name = pcs.name_any();
    let value = |name: &str, value: String| json!({"name": name, "value": value});
    let from_label = |name: &str, label: &str| {
        let path = format!("metadata.labels['{label}']");
        json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
    };
    let mut variables = vec![
        value(names::ENV_PCS_NAME, pcs_name.clone()),
        value(names::ENV_PCS_INDEX, replica.to_string()),
        value(names::ENV_PCLQ_NAME, pclq.name_any()),
        value(names::ENV_HEADLESS_SERVICE, names::headless_service_address(&pcs_name, replica, namespace)),
        from_label(names::ENV_PCLQ_POD_INDEX, names::LABEL_POD_INDEX),
    ];
    if let Some(pcsg) = pclq.labels().get(names::LABEL_SCALING_GROUP) {
        variables.push(from_label(names::ENV_PCSG_NAME, names::LABEL_SCALING_GROUP));
        variables
            .push(value(names::ENV_PCSG_TEMPLATE_NUM_PODS, template_pods(pcs, pcsg, replica).to_string()));
        variables.push(from_label(names::ENV_PCSG_INDEX, names::LABEL_SCALING_GROUP_REPLICA_INDEX));
    }
    variables
}

fn template_pods(pcs: &PodCliqueSet, pcsg: &str, replica: i32) -> i32 {
    let template = &pcs.spec.template;
    let mut groups = template.pod_clique_scaling_groups.iter();
    let group = groups.find(|group| names::scaling_group(&pcs.name_any(), replica, &group.name) == pcsg);
    let members = group.map(|group| group.clique_names.as_slice()).unwrap_or_default();
    let members = if fault!("group-of-one-clique") { &members[..members.len().min(1)] } else { members };
    template
        .cliques
        .iter()
        .filter(|clique| members.contains(&clique.name))
        .map(|clique| clique.spec.replicas)
        .sum()
}

fn prepend_environment(container: &mut Map<String, Value>, variables: &[Value]) {
    let names: BTreeSet<_> = variables.iter().map(|variable| variable["name"].as_str()).collect();
    let users = container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
    let kept = users.into_iter().filter(|variable| !names.contains(&variable["name"].as_str()));
    let mut all: Vec<_> = variables.iter().cloned().chain(kept).collect();
    if fault!("variables-after-template") {
        all.rotate_left(variables.len());
    }
    container.insert("env".to_owned(), Value::Array(all));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_of_a_scaling_group() {
        let pcs = json!({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"replicas": 1, "template": {
            "cliques": [
                {"name": "a", "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 2}},
                {"name": "b", "spec": {"podSpec": {}, "replicas": 3, "minAvailable": 3}},
                {"name": "c", "spec": {"podSpec": {}, "replicas": 5, "minAvailable": 5}},
            ],
            "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["a", "b"]}],
        }}});
        let pclq = json!({
            "metadata": {
                "name": "wl-0-sg-1-a", "namespace": "ns", "uid": "uid-of-pclq", "annotations": {"note": "x"},
                "labels": {
                    "team": "t",
                    names::LABEL_PCS_REPLICA_INDEX: "0",
                    names::LABEL_SCALING_GROUP: "wl-0-sg",
                    names::LABEL_SCALING_GROUP_REPLICA_INDEX: "1",
                    names::LABEL_POD_GANG: "wl-0-sg-0",
                },
            },
            "spec": {"replicas": 2, "podSpec": {
                "schedulingGates": [{"name": "users.own/gate"}],
                "containers": [{
                    "name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}},
                    "env": [{"name": "OWN", "value": "1"}, {"name": "GROVE_PCS_NAME", "value": "overridden"}],
                }],
            }},
        });
        let (pcs, pclq) = (serde_json::from_value(pcs).unwrap(), serde_json::from_value(pclq).unwrap());
        insta::assert_snapshot!(
            grove_yaml::write(&pod(&pcs, &pclq, ("wl-0-sg-1-a-xxxxx", 1), &[], "initc:test")).unwrap()
        );
    }

    #[test]
    fn a_shared_claim_is_added_to_the_users_containers_only() {
        let pcs = json!({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": "CliqueStartupTypeInOrder",
            "resourceSharing": [{"name": "nic", "scope": "PerReplica"}],
            "cliques": [
                {"name": "a", "spec": {"podSpec": {}, "replicas": 1}},
                {"name": "b", "spec": {"podSpec": {}, "replicas": 1}},
            ],
        }}});
        let own = json!([{"name": "own", "resourceClaimTemplateName": "x"}]);
        let pclq = json!({
            "metadata": {"name": "wl-0-b", "namespace": "ns", "labels": {names::LABEL_PCS_REPLICA_INDEX: "0"}},
            "spec": {"replicas": 1, "podSpec": {
                "resourceClaims": own, "initContainers": [{"name": "own"}],
                "containers": [{"name": "main", "resources": {"claims": [{"name": "own"}]}}],
            }},
        });
        let (pcs, pclq) = (serde_json::from_value(pcs).unwrap(), serde_json::from_value(pclq).unwrap());
        let parents = crate::plan::pod_clique_object::parents_of(&pcs, &pclq);
        let spec = pod(&pcs, &pclq, ("wl-0-b-xxxxx", 0), &parents, "initc:test").data["spec"].clone();
        let shared = json!({"name": "wl-0-nic", "resourceClaimName": "wl-0-nic"});
        assert_eq!(spec["resourceClaims"], json!([own[0], shared]));
        assert_eq!(
            spec["containers"][0]["resources"]["claims"],
            json!([{"name": "own"}, {"name": "wl-0-nic"}])
        );
        assert_eq!(spec["initContainers"][0]["resources"]["claims"], json!([{"name": "wl-0-nic"}]));
        assert_eq!(spec["initContainers"][1]["resources"], Value::Null);
    }

    #[rstest::rstest]
    #[case::any("CliqueStartupTypeAnyOrder", false)]
    #[case::in_order("CliqueStartupTypeInOrder", true)]
    fn a_pod_waits_for_the_previous_clique_in_order_only(#[case] order: &str, #[case] waits: bool) {
        let pcs = json!({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": order,
            "cliques": [
                {"name": "a", "spec": {"podSpec": {}, "replicas": 3, "minAvailable": 2}},
                {"name": "b", "spec": {"podSpec": {}, "replicas": 1}},
            ],
        }}});
        let pclq = json!({
            "metadata": {"name": "wl-0-b", "namespace": "ns", "labels": {names::LABEL_PCS_REPLICA_INDEX: "0"}},
            "spec": {"replicas": 1, "podSpec": {
                "initContainers": [{"name": "own"}], "containers": [{"name": "main"}], "volumes": [{"name": "own"}],
            }},
        });
        let (pcs, pclq) = (serde_json::from_value(pcs).unwrap(), serde_json::from_value(pclq).unwrap());
        let parents = crate::plan::pod_clique_object::parents_of(&pcs, &pclq);
        let pod = pod(&pcs, &pclq, ("wl-0-b-xxxxx", 0), &parents, "initc:test");
        let names = |field: &str| -> Vec<Value> {
            pod.data["spec"][field].as_array().unwrap().iter().map(|item| item["name"].clone()).collect()
        };
        let (containers, volumes) = (names("initContainers"), names("volumes"));
        if !waits {
            assert_eq!((containers, volumes), (vec![json!("own")], vec![json!("own")]));
            return;
        }
        assert_eq!(containers, ["own", "grove-initc"]);
        assert_eq!(volumes, ["own", "sa-token-secret-vol", "pod-info-vol"]);
        insta::assert_snapshot!(grove_yaml::write(&pod.data["spec"]["initContainers"][1]).unwrap());
        assert_eq!(pod.data["spec"]["volumes"][1]["secret"]["secretName"], "wl-ic-sat");
    }
}
