//! Volcano treats all HyperNodes of a cluster as one tree, and tiers are just numbers. So only the oldest
//! ClusterTopologyBinding is applied, and only after the tree of another one is deleted (VOL-05, TOPO-09).
//! HyperNodes of other owners are reported, but never written.
//!
//! The scheduler fails on a HyperNode with a deleted member: create members first, delete them last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, StreamExt, TryStreamExt};
use grove_api::ClusterTopologyBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use kube::{Client, Resource, ResourceExt};

use super::VOLCANO;
use super::api::hyper_nodes;
use super::hyper_tree::{tree, without_taken};
use super::tiers::Tiers;
use crate::backend::objects::{self, Created, Target};
use crate::backend::{BackendError, TopologyBackend, TopologyState, TopologyView};

/// Concurrent writes of HyperNodes of one tier, which do not depend on each other.
const CONCURRENCY: usize = 16;

pub(super) struct HyperNodes {
    client: Client,
}

/// The oldest binding that references no HyperNodes of another owner. Of equally old ones, the one that
/// already has `hyper_nodes`.
pub(super) fn applied_binding<'a>(
    bindings: impl IntoIterator<Item = &'a ClusterTopologyBinding>,
    hyper_nodes: impl Iterator<Item = &'a ObjectMeta>,
) -> Option<&'a ClusterTopologyBinding> {
    let candidates = bindings.into_iter().filter(|binding| {
        binding.spec.reference(VOLCANO).is_none() && binding.metadata.deletion_timestamp.is_none()
    });
    let controllers: BTreeSet<_> = hyper_nodes.filter_map(controller).map(|owner| &owner.uid).collect();
    candidates.min_by_key(|binding| {
        let has_tree = binding.metadata.uid.as_ref().is_some_and(|uid| controllers.contains(uid));
        (binding.creation_timestamp().map(|created| created.0), !has_tree, binding.name_any())
    })
}

pub(super) fn refusal(applied: &ClusterTopologyBinding) -> String {
    format!(
        "Volcano supports one topology per cluster, and ClusterTopologyBinding {} uses it: delete one of \
         the two bindings",
        applied.name_any()
    )
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

struct ExistingHyperNodes<'a> {
    own: BTreeMap<String, &'a DynamicObject>,
    of_other_bindings: BTreeSet<String>,
    foreign: BTreeSet<String>,
}

impl<'a> ExistingHyperNodes<'a> {
    fn new(binding: &ClusterTopologyBinding, existing: &'a [Arc<DynamicObject>]) -> Self {
        let mut found =
            Self { own: BTreeMap::new(), of_other_bindings: BTreeSet::new(), foreign: BTreeSet::new() };
        for object in existing {
            match controller(&object.metadata) {
                Some(owner) if Some(&owner.uid) == binding.meta().uid.as_ref() => {
                    found.own.insert(object.name_any(), object);
                }
                Some(owner) if owner.kind == ClusterTopologyBinding::kind(&()) => {
                    found.of_other_bindings.insert(object.name_any());
                }
                _ => {
                    found.foreign.insert(object.name_any());
                }
            }
        }
        found
    }
}

impl HyperNodes {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Creates and repairs `wanted`, and deletes all other HyperNodes in `own`.
    async fn write(
        &self,
        wanted: &[DynamicObject],
        own: &BTreeMap<String, &DynamicObject>,
    ) -> Result<(), BackendError> {
        for same_tier in by_tier(wanted.iter()).into_values() {
            let found = |wanted: &DynamicObject| own.get(&wanted.name_any()).copied();
            run_all(same_tier.into_iter().map(|wanted| self.ensure(wanted, found(wanted))).collect()).await?;
        }
        let kept: BTreeSet<_> = wanted.iter().map(ResourceExt::name_any).collect();
        let leftover = own.iter().filter(|(name, _)| !kept.contains(*name)).map(|(_, found)| *found);
        for same_tier in by_tier(leftover).into_values().rev() {
            run_all(same_tier.into_iter().map(|found| self.delete(found)).collect()).await?;
        }
        Ok(())
    }

    async fn ensure(
        &self,
        wanted: &DynamicObject,
        found: Option<&DynamicObject>,
    ) -> Result<(), BackendError> {
        let target = self.target(wanted);
        match found {
            Some(found) if found.metadata.deletion_timestamp.is_some() => {
                Err(BackendError::Waiting(format!("{target} is being deleted")))
            }
            Some(found) => {
                let patch = objects::repair(wanted, found);
                if patch.is_empty() { Ok(()) } else { target.patch(patch).await }
            }
            None => match target.create(wanted).await? {
                Created::New => Ok(()),
                Created::Taken => Err(BackendError::Waiting(format!("{target} exists already"))),
            },
        }
    }

    async fn delete(&self, found: &DynamicObject) -> Result<(), BackendError> {
        match found.metadata.deletion_timestamp {
            Some(_) => Ok(()),
            None => self.target(found).delete(found).await,
        }
    }

    fn target(&self, object: &DynamicObject) -> Target {
        Target::new(&self.client, &hyper_nodes(), object)
    }
}

#[async_trait]
impl TopologyBackend for HyperNodes {
    fn topology_resources(&self) -> Vec<ApiResource> {
        vec![hyper_nodes()]
    }

    async fn sync_topology(
        &self,
        binding: &ClusterTopologyBinding,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        let found = ExistingHyperNodes::new(binding, cluster.existing);
        let hyper_nodes = cluster.existing.iter().map(|found| &found.metadata);
        let bindings = cluster.bindings.iter().map(|binding| &**binding);
        let applied = applied_binding(bindings, hyper_nodes);
        if let Some(applied) = applied.filter(|applied| applied.uid() != binding.uid()) {
            // The binding may have been applied earlier, before it temporarily referenced other HyperNodes.
            self.write(&[], &found.own).await?;
            return Ok(TopologyState::Refused(refusal(applied)));
        }
        // Two trees must not exist at the same time, because Volcano would merge them.
        if let Some(name) = found.of_other_bindings.first() {
            let what = format!("HyperNode {name} of another ClusterTopologyBinding must be deleted first");
            return Err(BackendError::Waiting(what));
        }
        let planned =
            tree(&binding.name_any(), &binding.spec.levels, cluster.nodes.iter().map(|node| &**node));
        let is_planned = |name: &&String| planned.iter().any(|hyper_node| hyper_node.name == **name);
        let taken: Vec<_> = found.foreign.iter().filter(is_planned).cloned().collect();
        let wanted: Vec<_> = without_taken(planned, |name| taken.iter().any(|taken| taken == name))
            .iter()
            .map(|hyper_node| hyper_node.object(binding))
            .collect();
        self.write(&wanted, &found.own).await?;
        if let Some(name) = taken.first() {
            let what = format!(
                "HyperNode {name} exists and is not controlled by this ClusterTopologyBinding: \
                 delete it, or rename the binding"
            );
            return Ok(TopologyState::Refused(what));
        }
        Ok(match found.foreign.first() {
            Some(name) => TopologyState::Drift(format!(
                "HyperNode {name} has another owner, but Volcano treats it as a domain of this ClusterTopologyBinding"
            )),
            None => TopologyState::InSync,
        })
    }

    /// The tree below the referenced HyperNode must contain a HyperNode in the tier of every level. None may
    /// have the tierName of another level. The administrator decides which nodes the HyperNodes contain.
    async fn compare_topology(
        &self,
        binding: &ClusterTopologyBinding,
        reference: &str,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        self.write(&[], &ExistingHyperNodes::new(binding, cluster.existing).own).await?;
        let all: BTreeMap<_, _> = cluster.existing.iter().map(|found| (found.name_any(), &**found)).collect();
        if !all.contains_key(reference) {
            return Ok(TopologyState::NotFound(format!("HyperNode {reference:?} not found")));
        }
        let below = descendants(reference, &all);
        let tiers = Tiers::new(&binding.spec.levels);
        for found in &below {
            let Some(level) = tiers.level(tier(found)) else { continue };
            let tier_name = found.data["spec"]["tierName"].as_str().unwrap_or_default();
            if !tier_name.is_empty() && tier_name != level.domain {
                let (name, domain) = (found.name_any(), &level.domain);
                return Ok(TopologyState::Drift(format!(
                    "HyperNode {name} has tierName {tier_name}, but its tier is the one of domain {domain}"
                )));
            }
        }
        for wanted in (1..=tiers.highest()).rev() {
            let Some(level) = tiers.level(wanted) else { continue };
            if below.iter().all(|found| tier(found) != wanted) {
                let domain = &level.domain;
                return Ok(TopologyState::Drift(format!(
                    "no HyperNode of tier {wanted} ({domain}) is under HyperNode {reference:?}"
                )));
            }
        }
        Ok(TopologyState::InSync)
    }
}

fn descendants<'a>(root: &str, all: &BTreeMap<String, &'a DynamicObject>) -> Vec<&'a DynamicObject> {
    let mut names = vec![root.to_owned()];
    let mut found: BTreeMap<String, &DynamicObject> = BTreeMap::new();
    while let Some(name) = names.pop() {
        let Some(object) = all.get(&name).copied() else { continue };
        if found.insert(name, object).is_some() {
            continue;
        }
        let members = object.data["spec"]["members"].as_array().into_iter().flatten();
        let below = members.filter(|member| member["type"] == "HyperNode");
        names.extend(
            below.filter_map(|member| Some(member["selector"]["exactMatch"]["name"].as_str()?.to_owned())),
        );
    }
    found.into_values().collect()
}

fn by_tier<'a>(
    hyper_nodes: impl Iterator<Item = &'a DynamicObject>,
) -> BTreeMap<usize, Vec<&'a DynamicObject>> {
    let mut tiers: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for hyper_node in hyper_nodes {
        tiers.entry(tier(hyper_node)).or_default().push(hyper_node);
    }
    tiers
}

async fn run_all<F>(writes: Vec<F>) -> Result<(), BackendError>
where
    F: Future<Output = Result<(), BackendError>>,
{
    stream::iter(writes).buffered(CONCURRENCY).try_collect().await
}

fn tier(hyper_node: &DynamicObject) -> usize {
    hyper_node.data["spec"]["tier"].as_u64().and_then(|tier| usize::try_from(tier).ok()).unwrap_or_default()
}

#[cfg(test)]
#[path = "hyper_nodes_tests.rs"]
mod tests;
