//! When Grove's scheduling gate is removed from a pod (GANG-07). All of these are required:
//! - the PodGang references the pod and is initialized;
//! - the backend has synced the PodGang's current generation;
//! - the minimum of the base is bound, if the PodGang is scaled (AON-06);
//! - the backend does not object.

use std::collections::BTreeMap;

use grove_api::PodGang;
use grove_api::names::{CONDITION_INITIALIZED, POD_GANG_GATE};
use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::conditions;
use crate::backend::affinity;
use crate::cache::observed_pod::Pod;

#[derive(Clone, Debug, Default)]
pub(crate) struct GangReadiness {
    pub initialized: bool,
    pub synced: bool,
    /// `None` if the base is bound, or if the PodGang is itself a base PodGang.
    pub base_unbound: Option<String>,
}

impl GangReadiness {
    pub(crate) fn hold(&self) -> Option<String> {
        if !self.initialized {
            return Some("the PodGang is not initialized".to_owned());
        }
        if !self.synced {
            return Some("the backend has not synced the PodGang's current generation".to_owned());
        }
        self.base_unbound.as_ref().map(|reason| format!("the base PodGang is not bound: {reason}"))
    }
}

pub(crate) fn is_initialized(pod_gang: &PodGang) -> bool {
    pod_gang
        .status
        .as_ref()
        .is_some_and(|status| conditions::is_true(&status.conditions, CONDITION_INITIALIZED))
}

pub(crate) fn is_referenced(pod_gang: &PodGang, pod: &str) -> bool {
    let mut references = pod_gang.spec.podgroups.iter().flat_map(|podgroup| &podgroup.pod_references);
    references.any(|reference| reference.name == pod)
}

/// The uid restricts the patch to this pod. `requirements` are added to its required node affinity.
pub(crate) fn release_patch(
    pod: &Pod,
    requirements: &[NodeSelectorRequirement],
    labels: &BTreeMap<String, String>,
) -> Value {
    let mut patch = json!({
        "metadata": {"uid": pod.uid()},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": POD_GANG_GATE}]},
    });
    if !labels.is_empty() {
        patch["metadata"]["labels"] = json!(labels);
    }
    if !requirements.is_empty() {
        let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.clone()).unwrap_or_default();
        patch["spec"]["affinity"] = json!(affinity::with_requirements(*affinity, requirements));
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::ready(true, true, None, true)]
    #[case::not_initialized(false, true, None, false)]
    #[case::not_synced(true, false, None, false)]
    #[case::base_not_bound(true, true, Some("1 of 2"), false)]
    #[case::none(false, false, Some("1 of 2"), false)]
    fn gates_are_removed_only_if_everything_is_ready(
        #[case] initialized: bool,
        #[case] synced: bool,
        #[case] base: Option<&str>,
        #[case] released: bool,
    ) {
        let readiness = GangReadiness { initialized, synced, base_unbound: base.map(str::to_owned) };
        assert_eq!(readiness.hold().is_none(), released, "{:?}", readiness.hold());
    }

    #[test]
    fn the_release_patch_is_limited_to_groves_gate_and_this_pod() {
        let mut pod = Pod::default();
        pod.metadata.uid = Some("u".into());
        let none = BTreeMap::new();
        let plain = release_patch(&pod, &[], &none);
        let gate = json!({"$patch": "delete", "name": "grove.io/podgang-pending-creation"});
        assert_eq!(plain, json!({"metadata": {"uid": "u"}, "spec": {"schedulingGates": [gate]}}));
        let with_domain = release_patch(&pod, &[affinity::in_domain("rack", "r1")], &none);
        let terms =
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
        assert_eq!(with_domain.pointer(terms).and_then(Value::as_array).map(Vec::len), Some(1));
        let joining = release_patch(&pod, &[], &[("group".to_owned(), "g".to_owned())].into());
        assert_eq!(joining["metadata"]["labels"], json!({"group": "g"}));
    }
}
