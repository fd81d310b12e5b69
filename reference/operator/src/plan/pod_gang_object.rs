//! Plans a PodGang. It gets the labels and annotations of the PodCliqueSet, except keys of Grove and of the
//! tools that apply manifests. `kubectl.kubernetes.io/last-applied-configuration` contains the whole
//! PodCliqueSet, and Helm's chart label the version of the chart. So each apply would change every PodGang
//! (GANG-24). The plan keeps the pod references, which `reconcile::pod_gang` writes.

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

const KUBECTL: &str = "kubectl.kubernetes.io";
/// Domains, with subdomains, of the keys with which Argo CD, Helm, Flux and others track what they apply.
const OTHER_TOOLS: [&str; 7] = [
    "argocd.argoproj.io",
    "helm.sh",
    "fluxcd.io",
    "kapp.k14s.io",
    "objectset.rio.cattle.io",
    "config.kubernetes.io",
    "config.k8s.io",
];
/// `kubectl --record` stores the command here. Clients use it as a description of the last change.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

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
    let copied = pcs.iter().filter(|(key, _)| !is_grove(key) && !is_of_tool(key));
    kept.chain(copied).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn is_of_tool(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_of =
        |tool: &str| domain.strip_suffix(tool).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    if is_of(KUBECTL) {
        return !fault!("kubectl-annotations-copied");
    }
    (OTHER_TOOLS.into_iter().any(is_of) || key == CHANGE_CAUSE) && !fault!("tool-keys-copied")
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

    #[rstest::rstest]
    #[case("kubectl.kubernetes.io/last-applied-configuration", false)]
    #[case("kubernetes.io/change-cause", false)]
    #[case("argocd.argoproj.io/tracking-id", false)]
    #[case("meta.helm.sh/release-name", false)]
    #[case("helm.sh/chart", false)]
    #[case("kustomize.toolkit.fluxcd.io/checksum", false)]
    #[case("kapp.k14s.io/original", false)]
    #[case("objectset.rio.cattle.io/applied", false)]
    #[case("config.k8s.io/owning-inventory", false)]
    #[case("app.kubernetes.io/instance", true)]
    #[case("kubernetes.io/description", true)]
    #[case("myhelm.sh/team", true)]
    #[case("helm.sh", true)]
    fn keys_of_tools_that_apply_manifests_are_not_mirrored(#[case] key: &str, #[case] is_copied: bool) {
        let found = mirrored(&map(&[(key, "before")]), &map(&[(key, "now")]));
        assert_eq!(found.get(key).map(String::as_str), is_copied.then_some("now"));
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
