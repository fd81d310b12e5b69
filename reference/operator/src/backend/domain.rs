//! Some schedulers choose a domain only for the pods that exist. Later pods get it as a node affinity.

use std::borrow::Cow;

use grove_api::{ClusterTopologyBinding, PodGang, PodGangTopologyConstraint};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt};

use super::{BackendError, GangState, Release, affinity};
use crate::cache::observed_pod::Pod;

pub(super) fn pack_keys(constraint: Option<&PodGangTopologyConstraint>) -> (Option<&str>, Option<&str>) {
    let pack = constraint.and_then(|constraint| constraint.pack_constraint.as_ref());
    pack.map_or((None, None), |pack| (pack.required.as_deref(), pack.preferred.as_deref()))
}

pub(super) fn required_keys<'a>(pod_gang: &'a PodGang, podgroup: &str) -> impl Iterator<Item = &'a str> {
    let spec = &pod_gang.spec;
    let own = spec.podgroups.iter().find(|found| found.name == podgroup);
    let constraints =
        [spec.topology_constraint.as_ref(), own.and_then(|own| own.topology_constraint.as_ref())];
    constraints.into_iter().filter_map(|constraint| pack_keys(constraint).0)
}

pub(super) struct Level<'a> {
    pub key: &'a str,
    pub podgroups: Vec<&'a str>,
}

pub(super) fn levels<'a>(pod_gang: &'a PodGang, podgroup: &str) -> Vec<Level<'a>> {
    let spec = &pod_gang.spec;
    let all = spec.podgroups.iter().map(|found| found.name.as_str()).collect();
    let mut levels = vec![(spec.topology_constraint.as_ref(), all)];
    for config in &spec.topology_constraint_group_configs {
        let names: Vec<_> = config.pod_group_names.iter().map(String::as_str).collect();
        if names.contains(&podgroup) {
            levels.push((config.topology_constraint.as_ref(), names));
        }
    }
    if let Some(own) = spec.podgroups.iter().find(|found| found.name == podgroup) {
        levels.push((own.topology_constraint.as_ref(), vec![own.name.as_str()]));
    }
    let level = |(constraint, podgroups)| Some(Level { key: pack_keys(constraint).0?, podgroups });
    levels.into_iter().filter_map(level).collect()
}

/// Queries the API server if the caller's cache lacks the binding, which may be new.
pub(super) async fn binding<'a>(
    client: &Client,
    gang: &GangState<'a>,
    name: &str,
) -> Result<Option<Cow<'a, ClusterTopologyBinding>>, BackendError> {
    if let Some(known) = gang.topology.filter(|known| known.name_any() == name) {
        return Ok(Some(Cow::Borrowed(known)));
    }
    let found = Api::<ClusterTopologyBinding>::all(client.clone()).get_opt(name).await;
    let failed = |source| BackendError::Api { action: format!("get ClusterTopologyBinding {name}"), source };
    Ok(found.map_err(failed)?.map(Cow::Owned))
}

/// Releases the pod into the domains of `node`. Holds the pod if the node has lost a label.
pub(super) async fn release_into_domains_of(
    client: &Client,
    node: &str,
    keys: impl Iterator<Item = &str>,
) -> Result<Release, BackendError> {
    let mut keys = keys.peekable();
    if keys.peek().is_none() {
        return Ok(Release::Now(Vec::new()));
    }
    let found = Api::<Node>::all(client.clone()).get(node).await;
    let found = found.map_err(|source| BackendError::Api { action: format!("get Node {node}"), source })?;
    let mut requirements = Vec::new();
    for key in keys {
        match found.labels().get(key) {
            Some(domain) => requirements.push(affinity::in_domain(key, domain)),
            None => return Ok(Release::Hold(format!("node {node} of the gang has lost its label {key}"))),
        }
    }
    Ok(Release::Now(requirements))
}

pub(super) fn node_name(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}
