//! Decides when the gate of a pod is removed. A member of a PodGroup is released at once: the scheduler binds
//! only complete gangs. In the scopes `PodGang` and `Tree`, a surplus pod is in no PodGroup and could take a
//! member's place. So it is released into the gang's domains after the hard gang is bound (KUBE-18).

use grove_api::PodGang;
use grove_api::names::LABEL_POD_CLIQUE;
use kube::{Client, ResourceExt};

use super::scope::GangScope;
use crate::backend::domain::{self, Level, node_name};
use crate::backend::{BackendError, GangState, Release, excess_pods};
use crate::cache::observed_pod::Pod;

/// A replacement gets the domains of the gang's bound pods, even if all of them are surplus.
pub(super) async fn member(
    client: &Client,
    pod: &Pod,
    gang: &GangState<'_>,
    scope: GangScope,
) -> Result<Release, BackendError> {
    match scope.leaves_surplus_out() {
        true => release_into_domains(client, pod, gang).await,
        false => Ok(Release::Now(Vec::new())),
    }
}

pub(super) async fn surplus_pod(
    client: &Client,
    pod: &Pod,
    gang: &GangState<'_>,
) -> Result<Release, BackendError> {
    match excess_pods::unbound(gang) {
        Some(reason) => Ok(Release::Hold(reason)),
        None => release_into_domains(client, pod, gang).await,
    }
}

async fn release_into_domains(
    client: &Client,
    pod: &Pod,
    gang: &GangState<'_>,
) -> Result<Release, BackendError> {
    let pod_clique = pod.labels().get(LABEL_POD_CLIQUE).map_or("", String::as_str);
    let mut requirements = Vec::new();
    for level in domain::levels(gang.pod_gang, pod_clique) {
        let Some(node) = node_within(gang, &level) else { continue };
        match domain::release_into_domains_of(client, node, std::iter::once(level.key)).await? {
            Release::Now(more) => requirements.extend(more),
            other => return Ok(other),
        }
    }
    Ok(Release::Now(requirements))
}

/// Members of PodGroups take precedence over surplus pods, because the scheduler considers only members.
fn node_within<'a>(gang: &GangState<'a>, level: &Level<'_>) -> Option<&'a str> {
    let is_within = |pod: &Pod| {
        pod.labels().get(LABEL_POD_CLIQUE).is_some_and(|clique| level.podgroups.contains(&clique.as_str()))
    };
    let bound = || gang.pods.iter().filter(|pod| is_within(pod) && node_name(pod).is_some());
    let chosen = bound().find(|pod| is_member(pod)).or_else(|| bound().next());
    chosen.and_then(|pod| node_name(pod))
}

/// Until the former pod is deleted, kube-scheduler counts it towards the quorum (observation
/// `members/terminating-pods`) and would bind the new pods one by one. This affects only an evicted gang, and
/// a scaling-group replica that is terminated alone: a terminated PodGang gets new PodGroups.
pub(super) fn former_pod_in_group<'a>(pod: &Pod, gang: &GangState<'a>) -> Option<&'a Pod> {
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

pub(super) fn is_member(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.scheduling_group.is_some())
}

pub(super) fn is_surplus(pod: &Pod, pod_gang: &PodGang, scope: GangScope) -> bool {
    scope.leaves_surplus_out() && excess_pods::is_surplus(pod, pod_gang)
}
