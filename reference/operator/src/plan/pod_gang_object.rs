//! Plans a PodGang. It gets the labels and annotations of the PodCliqueSet, except keys of Grove. Annotations
//! of kubectl are not copied: `last-applied-configuration` contains the whole PodCliqueSet, so each apply
//! would change every PodGang (GANG-24). The plan keeps the pod references, which `reconcile::pod_gang`
//! writes.

use std::collections::BTreeMap;

use grove_api::{PodCliqueSet, PodGang, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::gang_composition::GangShape;
use super::json_diff::merge_patch;
use super::topology_translation::topology_name;
use crate::backend::{BackendError, SchedulerBackend, idle};
use crate::cache::ownership::owner_reference;
use crate::faults::fault;

const KUBECTL_PREFIX: &str = "kubectl.kubernetes.io/";

pub(crate) async fn pod_gang(
    pcs: &PodCliqueSet,
    shape: GangShape,
    backend: &dyn SchedulerBackend,
    existing: Option<&PodGang>,
) -> Result<PodGang, BackendError> {
    let constrained = shape.is_constrained();
    let none = BTreeMap::new();
    let mut labels = mirrored(existing.map_or(&none, |pod_gang| pod_gang.labels()), pcs.labels());
    labels.extend(names::object_labels(&pcs.name_any(), &shape.name, names::COMPONENT_POD_GANG));
    labels.insert(names::LABEL_SCHEDULER_NAME.to_owned(), backend.name().to_owned());
    let mut annotations =
        mirrored(existing.map_or(&none, |pod_gang| pod_gang.annotations()), pcs.annotations());
    annotations.retain(|key, _| fault!("kubectl-annotations-copied") || !key.starts_with(KUBECTL_PREFIX));
    if fault!("generation-copied") {
        let generation = pcs.metadata.generation.unwrap_or_default();
        annotations.insert("example.com/generation".to_owned(), generation.to_string());
    }
    match topology_name(&pcs.spec.template).filter(|_| constrained) {
        Some(name) => annotations.insert(names::ANNOTATION_TOPOLOGY_NAME.to_owned(), name.to_owned()),
        None => annotations.remove(names::ANNOTATION_TOPOLOGY_NAME),
    };
    let mut spec = shape.spec;
    for podgroup in &mut spec.podgroups {
        let known = existing
            .and_then(|pod_gang| pod_gang.spec.podgroups.iter().find(|old| old.name == podgroup.name));
        podgroup.pod_references = known.map(|known| known.pod_references.clone()).unwrap_or_default();
    }
    let idle = shape.idle;
    let owner = owner_reference(pcs).filter(|_| !fault!("no-owner-references"));
    let metadata = ObjectMeta {
        name: Some(shape.name),
        namespace: pcs.namespace(),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    let mut pod_gang = PodGang { metadata, spec, status: None };
    idle::record(&mut pod_gang, &idle, existing.filter(|_| !fault!("idle-resources-reused")));
    backend.prepare_pod_gang(&mut pod_gang, pcs).await?;
    Ok(pod_gang)
}

/// Patches only this version of `existing`: it replaces all podgroups, with their pod references.
pub(crate) fn change(existing: &PodGang, wanted: &PodGang) -> serde_json::Result<Option<Value>> {
    let part = |pod_gang: &PodGang| {
        Ok::<_, serde_json::Error>(json!({
            "metadata": {"labels": pod_gang.labels(), "annotations": pod_gang.annotations()},
            "spec": serde_json::to_value(&pod_gang.spec)?,
        }))
    };
    Ok(merge_patch(&part(existing)?, &part(wanted)?).map(|mut patch| {
        patch["metadata"]["resourceVersion"] = json!(existing.metadata.resource_version);
        patch
    }))
}

fn mirrored(existing: &BTreeMap<String, String>, pcs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_grove = |key: &String| key.starts_with(names::GROVE_PREFIX);
    let kept = existing.iter().filter(|(key, _)| is_grove(key));
    let copied = pcs.iter().filter(|(key, _)| !is_grove(key));
    kept.chain(copied).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_keys_outside_grove_are_mirrored() {
        let existing = map(&[("grove.io/kept", "1"), ("stale", "1"), ("scheduling.grove.io/stale", "1")]);
        let pcs =
            map(&[("team", "a"), ("grove.io/ignored", "1"), ("scheduling.grove.io/gang-scope", "PodGang")]);
        let expected =
            map(&[("grove.io/kept", "1"), ("team", "a"), ("scheduling.grove.io/gang-scope", "PodGang")]);
        assert_eq!(mirrored(&existing, &pcs), expected);
    }

    #[test]
    fn a_change_applies_only_to_the_version_that_it_was_computed_from() {
        let mut existing = PodGang::default();
        existing.metadata.resource_version = Some("7".into());
        existing.labels_mut().insert("stale".into(), "1".into());
        let mut wanted = existing.clone();
        assert_eq!(change(&existing, &wanted).unwrap(), None);
        wanted.labels_mut().clear();
        let patch = json!({"metadata": {"labels": {"stale": null}, "resourceVersion": "7"}});
        assert_eq!(change(&existing, &wanted).unwrap(), Some(patch));
    }
}
