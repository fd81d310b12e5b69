//! Finds the PersistentVolumeClaims that pods wait for after their scheduler has chosen a node, up to ten
//! minutes. No condition of the pod reports this wait, so the PodGang does (STAT-16). Claims are listed only
//! for gangs that wait: a watch of every claim in the cluster would cost more.

use std::collections::BTreeMap;

use grove_api::PodGang;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

use crate::cache::gang_view::{GangView, PodGroupView};
use crate::cache::pods::is_bound;
use crate::context::Context;

/// Annotation in which a scheduler passes the chosen node to the provisioner of a claim.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnboundClaim {
    pod: String,
    claim: String,
    class: String,
}

impl UnboundClaim {
    pub(super) fn message(&self) -> String {
        let Self { pod, claim, class } = self;
        format!(
            "the scheduler chose a node for pod {pod}, but claim {claim} of storage class {class} has no \
             volume yet"
        )
    }
}

/// `None` also if claims cannot be listed, so that the rest of the status is still written.
pub(super) async fn first(context: &Context, pod_gang: &PodGang, view: &GangView) -> Option<UnboundClaim> {
    let claims_of_pods = claims_of_pods(context, pod_gang, view);
    if claims_of_pods.is_empty() {
        return None;
    }
    let namespace = pod_gang.namespace().unwrap_or_default();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(context.client.clone(), &namespace);
    match claims.list(&ListParams::default()).await {
        Ok(found) => first_unbound(claims_of_pods, &found.items),
        Err(error) => {
            tracing::warn!(namespace, %error, "cannot list PersistentVolumeClaims, so the PodGang does not \
                                               report an unbound claim");
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

fn first_unbound(
    claims_of_pods: Vec<(String, String)>,
    found: &[PersistentVolumeClaim],
) -> Option<UnboundClaim> {
    let unbound = found.iter().filter(|claim| {
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        phase != Some("Bound") && claim.annotations().contains_key(SELECTED_NODE)
    });
    let class = |claim: &PersistentVolumeClaim| claim.spec.as_ref()?.storage_class_name.clone();
    let unbound: BTreeMap<_, _> =
        unbound.map(|claim| (claim.name_any(), class(claim).unwrap_or_default())).collect();
    claims_of_pods.into_iter().find_map(|(pod, claim)| {
        let class = unbound.get(&claim)?.clone();
        Some(UnboundClaim { pod, claim, class })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::waiting("Pending", true, true)]
    #[case::no_node_chosen("Pending", false, false)]
    #[case::bound("Bound", true, false)]
    fn only_a_claim_with_a_node_and_without_a_volume_is_reported(
        #[case] phase: &str,
        #[case] chosen: bool,
        #[case] reported: bool,
    ) {
        let annotations = if chosen { json!({(SELECTED_NODE): "n"}) } else { json!({}) };
        let claim = |name: &str| {
            serde_json::from_value(json!({
                "metadata": {"name": name, "annotations": annotations},
                "spec": {"storageClassName": "fast"}, "status": {"phase": phase},
            }))
            .unwrap()
        };
        let pairs = vec![("w-0".to_owned(), "other".to_owned()), ("w-1".to_owned(), "data".to_owned())];
        let found = first_unbound(pairs, &[claim("data"), claim("unused")]);
        let message =
            "the scheduler chose a node for pod w-1, but claim data of storage class fast has no volume yet";
        assert_eq!(found.map(|found| found.message()), reported.then(|| message.to_owned()));
    }
}
