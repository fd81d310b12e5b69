//! A KAI Topology per ClusterTopologyBinding, with the same name (KAI-13, TOPO-09). KAI puts a node that
//! lacks the label of one level into no domain of any level.

use async_trait::async_trait;
use grove_api::ClusterTopologyBinding;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams, Preconditions};
use kube::{Resource, ResourceExt};
use serde_json::json;

use super::Kai;
use super::api::topologies;
use crate::backend::{BackendError, SchedulerBackend, TopologyBackend, TopologyState, TopologyView};

#[async_trait]
impl TopologyBackend for Kai {
    fn topology_resources(&self) -> Vec<ApiResource> {
        vec![topologies()]
    }

    /// If the levels differ, the Topology is deleted and recreated, because its levels are immutable.
    async fn sync_topology(
        &self,
        binding: &ClusterTopologyBinding,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        self.ready().await?;
        let name = binding.name_any();
        let Some(found) = named(cluster, &name) else { return self.create(binding).await };
        let controller = found.owner_references().iter().find(|owner| owner.controller == Some(true));
        match controller {
            Some(owner) if Some(&owner.uid) == binding.meta().uid.as_ref() => {}
            Some(owner) if owner.kind == ClusterTopologyBinding::kind(&()) && owner.name == name => {
                let what = format!(
                    "KAI Topology {name} of a deleted ClusterTopologyBinding with the same name must be \
                     deleted first"
                );
                return Err(BackendError::Waiting(what));
            }
            _ => {
                let what = format!(
                    "KAI Topology {name} exists and is not controlled by this ClusterTopologyBinding: \
                     delete it, or rename the binding"
                );
                return Ok(TopologyState::Refused(what));
            }
        }
        if found.metadata.deletion_timestamp.is_some() {
            return Err(BackendError::Waiting(format!("KAI Topology {name} is being deleted")));
        }
        if keys(found).eq(wanted_keys(binding)) {
            return Ok(TopologyState::InSync);
        }
        self.delete(found).await?;
        self.create(binding).await
    }

    async fn compare_topology(
        &self,
        binding: &ClusterTopologyBinding,
        reference: &str,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        self.ready().await?;
        Ok(match named(cluster, reference) {
            None => TopologyState::NotFound(format!("KAI Topology {reference:?} not found")),
            Some(found) if keys(found).eq(wanted_keys(binding)) => TopologyState::InSync,
            Some(_) => {
                let what = "KAI Topology levels differ from ClusterTopologyBinding levels";
                TopologyState::Drift(what.to_owned())
            }
        })
    }
}

impl Kai {
    async fn create(&self, binding: &ClusterTopologyBinding) -> Result<TopologyState, BackendError> {
        let name = binding.name_any();
        let levels: Vec<_> = wanted_keys(binding).map(|key| json!({"nodeLabel": key})).collect();
        let mut topology = DynamicObject::new(&name, &topologies()).data(json!({"spec": {"levels": levels}}));
        topology.metadata.owner_references = binding.controller_owner_ref(&()).map(|owner| vec![owner]);
        match self.topologies().create(&PostParams::default(), &topology).await {
            Ok(_) => Ok(TopologyState::InSync),
            // The creation or deletion of the Topology is an event that triggers another sync.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                Err(BackendError::Waiting(format!("KAI Topology {name} exists")))
            }
            // KAI refuses, for example, more than 16 levels, or a hostname level that is not the last one.
            Err(kube::Error::Api(status)) if status.is_invalid() => {
                Ok(TopologyState::Refused(status.message))
            }
            Err(source) => Err(BackendError::Api { action: format!("create KAI Topology {name}"), source }),
        }
    }

    async fn delete(&self, found: &DynamicObject) -> Result<(), BackendError> {
        let name = found.name_any();
        let precondition = Preconditions { uid: found.uid(), resource_version: None };
        match self.topologies().delete(&name, &DeleteParams::background().preconditions(precondition)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                Err(BackendError::Waiting(format!("KAI Topology {name} was deleted or recreated")))
            }
            Err(source) => Err(BackendError::Api { action: format!("delete KAI Topology {name}"), source }),
        }
    }

    fn topologies(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &topologies())
    }
}

fn named<'a>(cluster: &TopologyView<'a>, name: &str) -> Option<&'a DynamicObject> {
    cluster.existing.iter().map(|found| &**found).find(|found| found.name_any() == name)
}

fn wanted_keys(binding: &ClusterTopologyBinding) -> impl Iterator<Item = &str> {
    binding.spec.levels.iter().map(|level| level.key.as_str())
}

/// Returns the node-label keys of the levels. Topologies that differ only in aliases of levels are equal.
fn keys(topology: &DynamicObject) -> impl Iterator<Item = &str> {
    let levels = topology.data["spec"]["levels"].as_array().map(Vec::as_slice).unwrap_or_default();
    levels.iter().map(|level| level["nodeLabel"].as_str().unwrap_or_default())
}

#[cfg(test)]
#[path = "topology_tests.rs"]
mod tests;
