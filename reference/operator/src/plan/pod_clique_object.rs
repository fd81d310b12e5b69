use std::collections::BTreeMap;

use grove_api::{PodClique, PodCliqueSet, PodCliqueSpec, PodCliqueTemplateSpec, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::startup_order::{Parent, parents};

const HASH_DIGITS: usize = 10;

pub(crate) struct CliquePosition<'a> {
    pub replica: i32,
    pub pod_gang: String,
    pub base_pod_gang: Option<String>,
    pub group: Option<(&'a str, i32)>,
}

/// The caller must keep the `replicas` of an existing PodClique, because other clients scale it.
pub(crate) fn pod_clique(
    pcs: &PodCliqueSet,
    template: &PodCliqueTemplateSpec,
    name: String,
    position: &CliquePosition<'_>,
    owner: Option<OwnerReference>,
) -> PodClique {
    let component = match position.group {
        Some(_) => names::COMPONENT_SCALING_GROUP_POD_CLIQUE,
        None => names::COMPONENT_STANDALONE_POD_CLIQUE,
    };
    let mut labels = template.labels.clone();
    // Grove finds a PodClique by these labels, so a template must not set them.
    labels.retain(|key, _| !names::is_set_by_grove(key));
    labels.extend(names::object_labels(&pcs.name_any(), &name, component));
    let mut label = |key: &str, value: String| labels.insert(key.to_owned(), value);
    label(names::LABEL_PCS_REPLICA_INDEX, position.replica.to_string());
    label(names::LABEL_POD_GANG, position.pod_gang.clone());
    label(names::LABEL_POD_TEMPLATE_HASH, template_hash(pcs, template));
    if let Some(base) = &position.base_pod_gang {
        label(names::LABEL_BASE_POD_GANG, base.clone());
    }
    if let Some((group, j)) = position.group {
        label(names::LABEL_SCALING_GROUP, group.to_owned());
        label(names::LABEL_SCALING_GROUP_REPLICA_INDEX, j.to_string());
    }
    let mut annotations = template.annotations.clone();
    annotations.retain(|key, _| !names::is_operator_state(key));
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: pcs.namespace(),
        labels: Some(labels),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    let parents = parents(pcs, template, position.replica, position.group);
    let starts_after = parents.into_iter().map(|parent| parent.name).collect();
    let spec = PodCliqueSpec { starts_after, ..template.spec.clone() };
    PodClique { metadata, spec, status: None }
}

pub(crate) fn template_of<'a>(pcs: &'a PodCliqueSet, pclq: &PodClique) -> Option<&'a PodCliqueTemplateSpec> {
    let (replica, group) = position_of(pclq);
    let name = |clique: &str| match group {
        Some((group, j)) => names::scaling_group_pod_clique(group, j, clique),
        None => names::standalone_pod_clique(&pcs.name_any(), replica, clique),
    };
    pcs.spec.template.cliques.iter().find(|clique| name(&clique.name) == pclq.name_any())
}

pub(super) fn parents_of(pcs: &PodCliqueSet, pclq: &PodClique) -> Vec<Parent> {
    let (replica, group) = position_of(pclq);
    template_of(pcs, pclq).map(|template| parents(pcs, template, replica, group)).unwrap_or_default()
}

pub(crate) fn position_of(pclq: &PodClique) -> (i32, Option<(&str, i32)>) {
    let index = |key: &str| pclq.labels().get(key).and_then(|index| index.parse().ok());
    let group = pclq.labels().get(names::LABEL_SCALING_GROUP).map(String::as_str);
    let group = group.zip(index(names::LABEL_SCALING_GROUP_REPLICA_INDEX));
    (index(names::LABEL_PCS_REPLICA_INDEX).unwrap_or(0), group)
}

/// Pods with another hash are old, so an update replaces them.
pub(crate) fn template_hash(pcs: &PodCliqueSet, template: &PodCliqueTemplateSpec) -> String {
    let mut pod_spec = Value::clone(&template.spec.pod_spec.0);
    // An empty name counts as unset, as in admission.
    if pod_spec["schedulerName"] == "" {
        pod_spec.as_object_mut().map(|fields| fields.remove("schedulerName"));
    }
    hash(&json!([template.labels, template.annotations, pod_spec, pcs.spec.template.priority_class_name,]))
}

pub(crate) fn generation_hash(pcs: &PodCliqueSet) -> String {
    let hashes: BTreeMap<_, _> =
        pcs.spec.template.cliques.iter().map(|clique| (&clique.name, template_hash(pcs, clique))).collect();
    hash(&json!(hashes))
}

fn hash(value: &serde_json::Value) -> String {
    let digest = Sha256::digest(value.to_string().as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hash[..HASH_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(clique: Value, priority: Option<&str>) -> String {
        let template = json!({"cliques": [clique], "priorityClassName": priority});
        let pcs = json!({"metadata": {"name": "wl"}, "spec": {"replicas": 1, "template": template}});
        generation_hash(&serde_json::from_value(pcs).unwrap())
    }

    fn clique() -> Value {
        json!({"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}, "spec": {
            "replicas": 2, "minAvailable": 1, "podSpec": {"containers": [{"name": "c", "image": "i"}]},
        }})
    }

    #[rstest::rstest]
    #[case::label("/labels/l", json!("2"), true)]
    #[case::annotation("/annotations/n", json!("2"), true)]
    #[case::image("/spec/podSpec/containers/0/image", json!("j"), true)]
    #[case::replicas("/spec/replicas", json!(3), false)]
    #[case::minimum("/spec/minAvailable", json!(2), false)]
    fn only_fields_that_determine_a_pod_change_the_hash(
        #[case] pointer: &str,
        #[case] value: Value,
        #[case] changes: bool,
    ) {
        let mut changed = clique();
        *changed.pointer_mut(pointer).unwrap() = value;
        assert_eq!(hash_of(changed, None) != hash_of(clique(), None), changes);
    }

    #[test]
    fn labels_and_annotations_of_the_operator_cannot_be_set_in_a_template() {
        let mut clique = clique();
        clique["labels"] = json!({"l": "1", names::LABEL_NAME: "mine", names::LABEL_BASE_POD_GANG: "mine"});
        clique["annotations"] = json!({"n": "1", names::ANNOTATION_PREVIOUS_TEMPLATE: "mine"});
        let template = json!({"cliques": [clique]});
        let pcs = json!({"metadata": {"name": "wl"}, "spec": {"replicas": 1, "template": template}});
        let pcs: PodCliqueSet = serde_json::from_value(pcs).unwrap();
        let position =
            CliquePosition { replica: 0, pod_gang: "wl-0".into(), base_pod_gang: None, group: None };
        let template = &pcs.spec.template.cliques[0];
        let found = pod_clique(&pcs, template, "wl-0-a".into(), &position, None);
        let label = |key: &str| found.labels().get(key).map(String::as_str);
        let labels = ["l", names::LABEL_NAME, names::LABEL_BASE_POD_GANG].map(label);
        assert_eq!(labels, [Some("1"), Some("wl-0-a"), None]);
        assert_eq!(found.annotations(), &BTreeMap::from([("n".to_owned(), "1".to_owned())]));
    }

    #[test]
    fn the_priority_class_changes_the_hash_and_an_empty_scheduler_name_does_not() {
        assert_ne!(hash_of(clique(), Some("high")), hash_of(clique(), None));
        let mut unnamed = clique();
        unnamed["spec"]["podSpec"]["schedulerName"] = json!("");
        assert_eq!(hash_of(unnamed, None), hash_of(clique(), None));
    }

    /// If a release computed other hashes, the next change would replace every existing pod.
    #[test]
    fn the_hash_of_a_template_is_stable_across_releases() {
        assert_eq!(hash_of(clique(), None), "3aab418a6d");
    }
}
