use async_trait::async_trait;
use grove_api::{ClusterTopologyBinding, PodCliqueSet, PodGang};
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

use super::{
    BackendError, Membership, SchedulerBackend, TopologyBackend, TopologyState, TopologyView, Validation,
};

pub(crate) struct FakeBackend {
    pub name: &'static str,
    pub readiness: Result<(), String>,
    pub rules: fn(&PodCliqueSet, Option<&PodCliqueSet>) -> Validation,
    /// Result of every topology sync; `None` if the backend has no topology resources.
    pub topology: Option<TopologyState>,
    pub allows_idle: bool,
}

impl FakeBackend {
    pub(crate) fn ready(name: &'static str) -> Self {
        Self {
            name,
            readiness: Ok(()),
            rules: |_, _| Validation::default(),
            topology: None,
            allows_idle: false,
        }
    }
}

#[async_trait]
impl SchedulerBackend for FakeBackend {
    fn name(&self) -> &str {
        self.name
    }

    async fn init(&self) -> Result<(), BackendError> {
        Ok(())
    }

    async fn readiness(&self) -> Result<(), String> {
        self.readiness.clone()
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        (self.rules)(pcs, old)
    }

    fn prepare_pod(&self, _pod: &mut DynamicObject, _member: &Membership<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    fn allows_idle(&self, _pod_gang: &PodGang) -> bool {
        self.allows_idle
    }

    fn topology(&self) -> Option<&dyn TopologyBackend> {
        self.topology.is_some().then_some(self as &dyn TopologyBackend)
    }
}

/// Topology resources have the kind `Topology`. A Topology that a binding references is in sync if it exists.
#[async_trait]
impl TopologyBackend for FakeBackend {
    fn topology_resources(&self) -> Vec<ApiResource> {
        vec![ApiResource::from_gvk(&GroupVersionKind::gvk("fake", "v1", "Topology"))]
    }

    async fn sync_topology(
        &self,
        _binding: &ClusterTopologyBinding,
        _cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        self.topology.clone().ok_or_else(|| BackendError::Waiting("for the test".to_owned()))
    }

    async fn compare_topology(
        &self,
        _binding: &ClusterTopologyBinding,
        reference: &str,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        let exists = cluster.existing.iter().any(|object| object.name_any() == reference);
        let missing = || TopologyState::NotFound(format!("Topology {reference:?} not found"));
        Ok(if exists { TopologyState::InSync } else { missing() })
    }
}
