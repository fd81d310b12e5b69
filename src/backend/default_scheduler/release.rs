//! When a gated pod goes to kube-scheduler.
//!
//! A member of a PodGroup goes as soon as the caller lets it: the scheduler holds it until its gang is
//! complete. A surplus pod of the `PodGang` scope is in no PodGroup, so nothing but its gate keeps it from
//! taking the place of a member: it waits until the hard gang is bound, then goes to the gang's domain
//! (KUBE-08).

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, Client, ResourceExt};

use super::scope::GangScope;
use crate::api::PodGang;
use crate::api::names::{LABEL_POD_CLIQUE, LABEL_POD_INDEX};
use crate::backend::{BackendError, GangState, Release, affinity};

/// Releases a surplus pod of `gang` if the hard gang is bound.
///
/// # Errors
/// The node of a bound member could not be read.
pub(super) async fn surplus_pod(client: &Client, gang: &GangState<'_>) -> Result<Release, BackendError> {
    if let Some(reason) = unbound(gang) {
        return Ok(Release::Hold(reason));
    }
    let Some(key) = required_key(gang) else { return Ok(Release::Now(Vec::new())) };
    let member = gang.pods.iter().find(|pod| is_member(pod) && node_name(pod).is_some());
    let Some(node_name) = member.and_then(|pod| node_name(pod)) else {
        return Ok(Release::Hold("the hard gang is not bound".to_owned()));
    };
    let node = Api::<Node>::all(client.clone()).get(node_name).await;
    let node =
        node.map_err(|source| BackendError::Api { action: format!("get Node {node_name}"), source })?;
    Ok(match node.labels().get(key) {
        Some(domain) => Release::Now(vec![affinity::in_domain(key, domain)]),
        None => Release::Hold(format!("node {node_name} of the gang has lost its label {key}")),
    })
}

/// Whether the pod joined the PodGroup of its gang.
pub(super) fn is_member(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.scheduling_group.is_some())
}

/// Whether the pod belongs to no PodGroup by its place: beyond the minimum, in `PodGang` scope (KUBE-08).
pub(super) fn is_surplus(pod: &Pod, pod_gang: &PodGang, scope: GangScope) -> bool {
    let podgroups = &pod_gang.spec.podgroups;
    let podgroup =
        podgroups.iter().find(|podgroup| pod.labels().get(LABEL_POD_CLIQUE) == Some(&podgroup.name));
    match (podgroup, index(pod)) {
        (Some(podgroup), Some(index)) => {
            scope.pod_group_of("", &podgroup.name, index, Some(podgroup.min_replicas)).is_none()
        }
        // No podgroup of the PodGang, or no index: whoever made it, it is no member.
        _ => scope == GangScope::PodGang,
    }
}

/// Why the hard gang does not count as bound.
fn unbound(gang: &GangState<'_>) -> Option<String> {
    gang.pod_gang.spec.podgroups.iter().find_map(|podgroup| {
        let bound = gang.pods.iter().filter(|pod| {
            pod.labels().get(LABEL_POD_CLIQUE) == Some(&podgroup.name)
                && index(pod).is_some_and(|index| index < podgroup.min_replicas)
                && node_name(pod).is_some()
        });
        let (bound, wanted) = (bound.count(), podgroup.min_replicas);
        (bound < usize::try_from(wanted).unwrap_or(0))
            .then(|| format!("{bound} of the {wanted} pods of {} in the hard gang are bound", podgroup.name))
    })
}

fn required_key<'a>(gang: &GangState<'a>) -> Option<&'a str> {
    gang.pod_gang.spec.topology_constraint.as_ref()?.pack_constraint.as_ref()?.required.as_deref()
}

fn index(pod: &Pod) -> Option<i32> {
    pod.labels().get(LABEL_POD_INDEX)?.parse().ok()
}

fn node_name(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::api::{PodGang, PodGangSpec, PodGroup};

    fn pod(clique: &str, index: i32, node: Option<&str>) -> Arc<Pod> {
        let pod = json!({
            "metadata": {"labels": {LABEL_POD_CLIQUE: clique, LABEL_POD_INDEX: index.to_string()}},
            "spec": {"containers": [], "nodeName": node},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[rstest::rstest]
    #[case::all_bound(&[("a", 0, true), ("a", 1, true), ("b", 0, true)], None)]
    #[case::one_missing(&[("a", 0, true), ("b", 0, true)], Some("1 of the 2 pods of a in the hard gang are bound"))]
    #[case::one_pending(
        &[("a", 0, true), ("a", 1, true), ("b", 0, false)],
        Some("0 of the 1 pods of b in the hard gang are bound")
    )]
    #[case::surplus_does_not_count(
        &[("a", 0, true), ("a", 2, true), ("b", 0, true)],
        Some("1 of the 2 pods of a in the hard gang are bound")
    )]
    fn surplus_waits_for_the_hard_gang(#[case] pods: &[(&str, i32, bool)], #[case] reason: Option<&str>) {
        let podgroup =
            |name: &str, min_replicas| PodGroup { name: name.into(), min_replicas, ..PodGroup::default() };
        let spec =
            PodGangSpec { podgroups: vec![podgroup("a", 2), podgroup("b", 1)], ..PodGangSpec::default() };
        let pods: Vec<_> =
            pods.iter().map(|(clique, i, bound)| pod(clique, *i, bound.then_some("n1"))).collect();
        let gang = GangState { pod_gang: &PodGang::new("wl-0", spec), pods: &pods };
        assert_eq!(unbound(&gang).as_deref(), reason);
    }
}
