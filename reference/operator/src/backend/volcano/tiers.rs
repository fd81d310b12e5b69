//! Maps the node-label keys of a PodGang's constraints to tiers of HyperNodes.
//!
//! Volcano adds a root one tier above the highest HyperNode, and does not constrain a gang whose highest
//! allowed tier is the root's tier. So a constrained gang waits until a HyperNode of its highest allowed tier
//! exists (ADM-09). A gang whose PodGroup exists keeps its tiers regardless of the HyperNodes.

use std::sync::Arc;

use grove_api::names::ANNOTATION_TOPOLOGY_NAME;
use grove_api::{ClusterTopologyBinding, PodGang, PodGangTopologyConstraint, TopologyLevel};
use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::VOLCANO;
use super::api::{LABEL_TIER, LABEL_TOPOLOGY, hyper_nodes, pod_groups};
use super::hyper_tree::topology_label;
use super::plan::{self, GangTiers};
use crate::backend::{BackendError, GangState, domain, gang_objects};

/// The tiers of a ClusterTopologyBinding's levels. The narrowest level is tier 1.
#[derive(Debug, Default)]
pub(super) struct Tiers(Vec<TopologyLevel>);

impl Tiers {
    pub(super) fn new(levels: &[TopologyLevel]) -> Self {
        Self(levels.to_vec())
    }

    pub(super) fn tier_of(&self, key: &str) -> Option<usize> {
        let place = self.0.iter().position(|level| level.key == key)?;
        Some(self.0.len() - place)
    }

    pub(super) fn level(&self, tier: usize) -> Option<&TopologyLevel> {
        self.0.len().checked_sub(tier).and_then(|place| self.0.get(place))
    }

    pub(super) fn highest(&self) -> usize {
        self.0.len()
    }
}

/// If the HyperNodes of a gang do not exist, returns the tiers of its existing PodGroup and a warning.
/// Without a PodGroup, a missing binding, level or HyperNode is [`BackendError::NotReady`].
pub(super) async fn of_gang(
    client: &Client,
    gang: &GangState<'_>,
    existing: &[Arc<DynamicObject>],
) -> Result<(GangTiers, Option<String>), BackendError> {
    let pod_gang = gang.pod_gang;
    let podgroups = pod_gang.spec.podgroups.iter();
    let own = podgroups.flat_map(|podgroup| domain::required_keys(pod_gang, &podgroup.name));
    let keys: Vec<_> = domain::required_keys(pod_gang, "").chain(own).collect();
    let Some(first) = keys.first() else { return Ok(Default::default()) };
    let Some(topology) = pod_gang.annotations().get(ANNOTATION_TOPOLOGY_NAME) else {
        let gang = pod_gang.name_any();
        let reason = format!("PodGang {gang}: no topologyName is known for the topology key {first}");
        return Err(BackendError::Refused(reason));
    };
    let (resource, names) = (pod_groups(), [plan::name(pod_gang)]);
    let current = gang_objects::read_current(client, pod_gang, &resource, names, existing).await?;
    let written = current.first().and_then(|found| written(pod_gang, found));
    match (of_binding(client, gang, topology, &keys, written.as_ref()).await, written) {
        (Err(error), Some(written)) => {
            Ok((written, Some(format!("{error}; PodGroup {} keeps its tiers", pod_gang.name_any()))))
        }
        (found, _) => Ok((found?, None)),
    }
}

fn written(pod_gang: &PodGang, pod_group: &DynamicObject) -> Option<GangTiers> {
    let spec = &pod_group.data["spec"];
    let policies = spec["subGroupPolicy"].as_array().map(Vec::as_slice).unwrap_or_default();
    let key =
        |constraint: Option<&PodGangTopologyConstraint>| domain::pack_keys(constraint).0.map(str::to_owned);
    let whole = key(pod_gang.spec.topology_constraint.as_ref()).map(|key| (key, spec));
    let own = pod_gang.spec.podgroups.iter().filter_map(|podgroup| {
        let policy = policies.iter().find(|policy| policy["name"] == podgroup.name.as_str());
        Some((key(podgroup.topology_constraint.as_ref())?, policy.unwrap_or(&Value::Null)))
    });
    let mut tiers = GangTiers::new();
    for (key, place) in whole.into_iter().chain(own) {
        let tier = place["networkTopology"]["highestTierAllowed"].as_u64();
        let tier = usize::try_from(tier?).ok()?;
        if *tiers.entry(key).or_insert(tier) != tier {
            return None;
        }
    }
    Some(tiers)
}

async fn of_binding(
    client: &Client,
    gang: &GangState<'_>,
    name: &str,
    keys: &[&str],
    written: Option<&GangTiers>,
) -> Result<GangTiers, BackendError> {
    let binding = domain::binding(client, gang, name).await?;
    let binding =
        binding.ok_or_else(|| not_ready(format!("ClusterTopologyBinding {name} does not exist")))?;
    let levels = Tiers::new(&binding.spec.levels);
    let tier = |key: &&str| {
        let tier = levels.tier_of(key).map(|tier| ((*key).to_owned(), tier));
        tier.ok_or_else(|| not_ready(format!("ClusterTopologyBinding {name} has no level {key}")))
    };
    let tiers = keys.iter().map(tier).collect::<Result<GangTiers, _>>()?;
    let highest = tiers.values().copied().max().unwrap_or_default();
    match written == Some(&tiers) || has_tier(client, &binding, highest).await? {
        true => Ok(tiers),
        false => {
            Err(not_ready(format!("no HyperNode of tier {highest} of ClusterTopologyBinding {name} exists")))
        }
    }
}

async fn has_tier(
    client: &Client,
    binding: &ClusterTopologyBinding,
    tier: usize,
) -> Result<bool, BackendError> {
    let api = Api::<DynamicObject>::all_with(client.clone(), &hyper_nodes());
    if let Some(reference) = binding.spec.reference(VOLCANO) {
        let root = api.get_opt(reference).await;
        let root = root.map_err(|source| failed(format!("get HyperNode {reference}"), source))?;
        let reached = root.and_then(|root| root.data["spec"]["tier"].as_u64());
        return Ok(reached.and_then(|reached| usize::try_from(reached).ok()) >= Some(tier));
    }
    let (topology, uid) = (topology_label(&binding.name_any()), binding.uid());
    let selector = format!("{LABEL_TOPOLOGY}={topology},{LABEL_TIER}={tier}");
    let found = api.list(&ListParams::default().labels(&selector).limit(1)).await;
    let found = found.map_err(|source| failed(format!("list HyperNodes of tier {tier}"), source))?;
    let is_controlled = |found: &DynamicObject| {
        found
            .owner_references()
            .iter()
            .any(|owner| owner.controller == Some(true) && Some(&owner.uid) == uid.as_ref())
    };
    Ok(found.items.iter().any(is_controlled))
}

fn not_ready(reason: String) -> BackendError {
    BackendError::NotReady { backend: VOLCANO.to_owned(), reason }
}

fn failed(action: String, source: kube::Error) -> BackendError {
    BackendError::Api { action, source }
}

#[cfg(test)]
#[path = "tiers_tests.rs"]
mod tests;
