//! Finds the unbound PersistentVolumeClaims of waiting pods, so that the PodGang names them (STAT-16). A pod
//! may wait for its claim after its scheduler has chosen a node, up to ten minutes. No condition of the pod
//! reports this wait. Before that, the scheduler's message reports missing volumes, but names no claim.
//! Claims are listed only for gangs that wait: a watch of every claim in the cluster would cost more.

use std::collections::BTreeMap;

use grove_api::PodGang;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::shortened;
use crate::cache::gang_view::{GangView, PodGroupView};
use crate::cache::pods::is_bound;
use crate::context::Context;
use crate::faults::fault;

/// Annotation in which a scheduler passes the chosen node to the provisioner of a claim.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The message names only this many claims.
const LISTED: usize = 5;

/// Messages about the claims, each `None` without such a claim.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnboundClaims {
    pub with_node: Option<String>,
    pub without_node: Option<String>,
}

/// Empty also if claims cannot be listed, so that the rest of the status is still written.
pub(super) async fn find(context: &Context, pod_gang: &PodGang, view: &GangView) -> UnboundClaims {
    let claims_of_pods = claims_of_pods(context, pod_gang, view);
    if claims_of_pods.is_empty() {
        return UnboundClaims::default();
    }
    let namespace = pod_gang.namespace().unwrap_or_default();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(context.client.clone(), &namespace);
    match claims.list(&ListParams::default()).await {
        Ok(found) => unbound(&claims_of_pods, &found.items),
        Err(error) => {
            tracing::warn!(namespace, %error, "cannot list PersistentVolumeClaims, so the PodGang does not \
                                               report unbound claims");
            UnboundClaims::default()
        }
    }
}

/// Pairs of pod and claim, for ungated pods without a node.
fn claims_of_pods(context: &Context, pod_gang: &PodGang, view: &GangView) -> Vec<(String, String)> {
    let pairs_of = |podgroup: &PodGroupView| {
        let clique = context.caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name)?;
        let waiting = podgroup.pods.iter().filter(|pod| !is_bound(pod) && pod.gates().next().is_none());
        let pairs = waiting.flat_map(|pod| {
            let claims = clique.spec.pod_spec.claims(&pod.name_any());
            claims.into_iter().map(move |claim| (pod.name_any(), claim))
        });
        Some(pairs.collect::<Vec<_>>())
    };
    view.podgroups.iter().filter_map(pairs_of).flatten().collect()
}

fn unbound(claims_of_pods: &[(String, String)], found: &[PersistentVolumeClaim]) -> UnboundClaims {
    let is_unbound = |claim: &&PersistentVolumeClaim| {
        claim.status.as_ref().and_then(|status| status.phase.as_deref()) != Some("Bound")
    };
    let unbound: BTreeMap<_, _> =
        found.iter().filter(is_unbound).map(|claim| (claim.name_any(), claim)).collect();
    let listed = |has_node: bool| {
        let waits = claims_of_pods.iter().filter_map(|(pod, name)| {
            let claim = unbound.get(name)?;
            let class = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
            let wait =
                format!("pod {pod} waits for claim {name} of storage class {:?}", class.unwrap_or_default());
            (claim.annotations().contains_key(SELECTED_NODE) == has_node).then_some(wait)
        });
        let mut waits: Vec<_> = waits.collect();
        if fault!("report-first-claim") {
            waits.truncate(1);
        }
        (!waits.is_empty()).then(|| shortened(&waits, LISTED))
    };
    let prefix = "the scheduler chose nodes for pods whose claims have no volume yet";
    UnboundClaims {
        with_node: listed(true).map(|listed| format!("{prefix}: {listed}")),
        without_node: listed(false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(name: &str, phase: &str, is_node_chosen: bool) -> PersistentVolumeClaim {
        let annotations = if is_node_chosen { json!({(SELECTED_NODE): "n"}) } else { json!({}) };
        serde_json::from_value(json!({
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"storageClassName": "fast"}, "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn reported(pairs: &[(&str, &str)], found: &[PersistentVolumeClaim]) -> UnboundClaims {
        let pairs: Vec<_> =
            pairs.iter().map(|(pod, claim)| ((*pod).to_owned(), (*claim).to_owned())).collect();
        let found = unbound(&pairs, found);
        let prefix = "the scheduler chose nodes for pods whose claims have no volume yet: ";
        let without_prefix = |message: String| message.strip_prefix(prefix).unwrap().to_owned();
        UnboundClaims { with_node: found.with_node.map(without_prefix), ..found }
    }

    #[rstest::rstest]
    #[case::waiting("Pending", true, (true, false))]
    #[case::no_node_chosen("Pending", false, (false, true))]
    #[case::bound("Bound", true, (false, false))]
    fn only_a_claim_without_a_volume_is_reported(
        #[case] phase: &str,
        #[case] is_node_chosen: bool,
        #[case] reported_as: (bool, bool),
    ) {
        let claims = [claim("data", phase, is_node_chosen), claim("unused", "Pending", true)];
        let found = reported(&[("w-0", "other"), ("w-1", "data")], &claims);
        let wanted = "pod w-1 waits for claim data of storage class \"fast\"".to_owned();
        let wanted = UnboundClaims {
            with_node: reported_as.0.then(|| wanted.clone()),
            without_node: reported_as.1.then_some(wanted),
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn every_unbound_claim_of_every_pod_is_reported_in_a_short_message() {
        let claims = ["a", "b", "c"].map(|name| claim(name, "Pending", true));
        let pairs = [("w-0", "a"), ("w-0", "b"), ("w-1", "c")];
        let wanted =
            pairs.map(|(pod, claim)| format!("pod {pod} waits for claim {claim} of storage class \"fast\""));
        assert_eq!(reported(&pairs, &claims).with_node, Some(wanted.join(", ")));
        let many = reported(&[("w-0", "a"); 40], &claims).with_node.unwrap();
        assert!(many.ends_with(" and 35 more"), "{many}");
    }
}
