//! Finds the PersistentVolumeClaims that pods wait for after their scheduler has chosen a node, up to ten
//! minutes. No condition of the pod reports this wait, so the PodGang does (STAT-16). Claims are listed only
//! for gangs that wait: a watch of every claim in the cluster would cost more.

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

/// `None` also if claims cannot be listed, so that the rest of the status is still written.
pub(super) async fn message(context: &Context, pod_gang: &PodGang, view: &GangView) -> Option<String> {
    let claims_of_pods = claims_of_pods(context, pod_gang, view);
    if claims_of_pods.is_empty() {
        return None;
    }
    let namespace = pod_gang.namespace().unwrap_or_default();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(context.client.clone(), &namespace);
    match claims.list(&ListParams::default()).await {
        Ok(found) => message_about(claims_of_pods, &found.items),
        Err(error) => {
            tracing::warn!(namespace, %error, "cannot list PersistentVolumeClaims, so the PodGang does not \
                                               report unbound claims");
            None
        }
    }
}

/// Pairs of pod and claim, for pods for which a scheduler may have chosen a node.
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

fn message_about(claims_of_pods: Vec<(String, String)>, found: &[PersistentVolumeClaim]) -> Option<String> {
    let unbound = found.iter().filter(|claim| {
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        phase != Some("Bound") && claim.annotations().contains_key(SELECTED_NODE)
    });
    let class = |claim: &PersistentVolumeClaim| claim.spec.as_ref()?.storage_class_name.clone();
    let classes: BTreeMap<_, _> =
        unbound.map(|claim| (claim.name_any(), class(claim).unwrap_or_default())).collect();
    let waits = claims_of_pods.into_iter().filter_map(|(pod, claim)| {
        let class = classes.get(&claim)?;
        Some(format!("pod {pod} waits for claim {claim} of storage class {class}"))
    });
    let mut waits: Vec<_> = waits.collect();
    if fault!("report-first-claim") {
        waits.truncate(1);
    }
    (!waits.is_empty()).then(|| {
        let listed = shortened(&waits, LISTED);
        format!("the scheduler chose nodes for pods whose claims have no volume yet: {listed}")
    })
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

    fn reported(pairs: &[(&str, &str)], found: &[PersistentVolumeClaim]) -> Option<String> {
        let pairs = pairs.iter().map(|(pod, claim)| ((*pod).to_owned(), (*claim).to_owned())).collect();
        let message = message_about(pairs, found)?;
        let prefix = "the scheduler chose nodes for pods whose claims have no volume yet: ";
        Some(message.strip_prefix(prefix).unwrap().to_owned())
    }

    #[rstest::rstest]
    #[case::waiting("Pending", true, true)]
    #[case::no_node_chosen("Pending", false, false)]
    #[case::bound("Bound", true, false)]
    fn only_a_claim_with_a_node_and_without_a_volume_is_reported(
        #[case] phase: &str,
        #[case] is_node_chosen: bool,
        #[case] is_reported: bool,
    ) {
        let found = [claim("data", phase, is_node_chosen), claim("unused", "Pending", true)];
        let message = reported(&[("w-0", "other"), ("w-1", "data")], &found);
        let wanted = "pod w-1 waits for claim data of storage class fast";
        assert_eq!(message.as_deref(), is_reported.then_some(wanted));
    }

    #[test]
    fn every_unbound_claim_of_every_pod_is_reported_in_a_short_message() {
        let found = ["a", "b", "c"].map(|name| claim(name, "Pending", true));
        let two_pods = reported(&[("w-0", "a"), ("w-0", "b"), ("w-1", "c")], &found).unwrap();
        let wanted = [("w-0", "a"), ("w-0", "b"), ("w-1", "c")]
            .map(|(pod, claim)| format!("pod {pod} waits for claim {claim} of storage class fast"));
        assert_eq!(two_pods, wanted.join(", "));
        let many = reported(&[("w-0", "a"); 40], &found).unwrap();
        assert!(many.ends_with(" and 35 more"), "{many}");
    }
}
