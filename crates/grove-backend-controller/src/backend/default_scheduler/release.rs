//! When a gated pod is released to kube-scheduler.
//!
//! A member of a PodGroup, including surplus of a tree, is released as soon as the caller permits: the scheduler
//! holds it back until its gang is complete; one that comes later, into the domain of the gang. A surplus pod of the `PodGang` scope is in no PodGroup, so only its
//! gate keeps it from taking the place of a member: it waits until the hard gang is bound, then goes to the gang's
//! domain (KUBE-08).

use grove_api::PodGang;
use kube::Client;

use super::scope::GangScope;
use crate::backend::domain::{self, node_name};
use crate::backend::{BackendError, GangState, Release, excess_pods};
use crate::observed_pod::Pod;

/// Releases a member of a PodGroup. In `PodGang` scope the scheduler does not know that surplus is of the same gang: a
/// replacement goes where the gang's bound pods are, which may all be surplus.
///
/// # Errors
/// The node of a bound pod could not be read.
pub(super) async fn member(
    client: &Client,
    gang: &GangState<'_>,
    scope: GangScope,
) -> Result<Release, BackendError> {
    let bound = gang.pods.iter().find_map(|pod| node_name(pod)).filter(|_| scope == GangScope::PodGang);
    match bound {
        Some(node) => domain::release_beside(client, node, required_key(gang).into_iter()).await,
        None => Ok(Release::Now(Vec::new())),
    }
}

/// Releases a surplus pod of `gang` if the hard gang is bound.
///
/// # Errors
/// The node of a bound member could not be read.
pub(super) async fn surplus_pod(client: &Client, gang: &GangState<'_>) -> Result<Release, BackendError> {
    if let Some(reason) = excess_pods::unbound(gang) {
        return Ok(Release::Hold(reason));
    }
    let member = gang.pods.iter().find_map(|pod| node_name(pod).filter(|_| is_member(pod)));
    match member {
        Some(node) => domain::release_beside(client, node, required_key(gang).into_iter()).await,
        None => Ok(Release::Hold("the hard gang is not bound".to_owned())),
    }
}

/// A pod of a former generation in the same PodGroup that is bound: kube-scheduler counts it to the quorum until it is gone,
/// and would let the others through one by one. A recycled PodGang has PodGroups of its own; a replica of a scaling group
/// that is recycled within its PodGang comes back to the PodGroup that it had.
pub(super) fn counted_still<'a>(pod: &Pod, gang: &GangState<'a>) -> Option<&'a Pod> {
    let group = |pod: &Pod| {
        let spec = pod.spec.as_ref()?;
        spec.scheduling_group.as_ref()?.pod_group_name.clone()
    };
    let own = group(pod)?;
    gang.former
        .iter()
        .find(|former| node_name(former).is_some() && group(former).as_ref() == Some(&own))
        .map(AsRef::as_ref)
}

/// Whether the pod joined the PodGroup of its gang.
pub(super) fn is_member(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.scheduling_group.is_some())
}

/// Whether the pod belongs to no PodGroup by its place: beyond the minimum, in `PodGang` scope (KUBE-08).
pub(super) fn is_surplus(pod: &Pod, pod_gang: &PodGang, scope: GangScope) -> bool {
    scope == GangScope::PodGang && excess_pods::is_surplus(pod, pod_gang)
}

/// The hard gang has the PodGang's level and no other (KUBE-07).
fn required_key<'a>(gang: &GangState<'a>) -> Option<&'a str> {
    domain::pack_keys(gang.pod_gang.spec.topology_constraint.as_ref()).0
}
