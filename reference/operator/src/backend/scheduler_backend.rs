//! The interface to one scheduler. A backend decides how a pod joins the gang, when it is released, and which
//! PodCliqueSets are refused. It never creates, deletes or scales pods, nor writes PodGang status.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use grove_api::{ClusterTopologyBinding, PodCliqueSet, PodGang};
use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement};
use kube::api::{ApiResource, DynamicObject};

use super::Validation;
use crate::cache::observed_pod::Pod;

#[async_trait]
pub trait SchedulerBackend: Send + Sync {
    /// The `schedulerName` of the backend's pods.
    fn name(&self) -> &str;

    /// Called once at start. [`readiness`](Self::readiness) reports a missing API (ADM-19).
    async fn init(&self) -> Result<(), BackendError> {
        match self.readiness().await {
            Ok(()) => tracing::info!(backend = self.name(), "ready"),
            Err(reason) => tracing::warn!(backend = self.name(), %reason, "gangs cannot be scheduled"),
        }
        Ok(())
    }

    /// The error names what is missing. After a negative answer the API server is queried again, so that an
    /// API installed later is found without a restart (KUBE-06). Must return within seconds even if the API
    /// server hangs: probes, admission and reconciles wait for it.
    async fn readiness(&self) -> Result<(), String>;

    /// A backend must not write to an API that is missing, or that is too old and would drop required fields.
    async fn ready(&self) -> Result<(), BackendError> {
        let ready = self.readiness().await;
        ready.map_err(|reason| BackendError::NotReady { backend: self.name().to_owned(), reason })
    }

    /// Refuses a PodCliqueSet that the scheduler cannot serve as requested (ADM-06, ADM-09).
    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation;

    /// Adds the backend's own `grove.io/` labels and annotations. After an error the PodGang is not written.
    async fn prepare_pod_gang(
        &self,
        _pod_gang: &mut PodGang,
        _pcs: &PodCliqueSet,
    ) -> Result<(), BackendError> {
        Ok(())
    }

    /// Sets schedulerName and membership on a pod before its creation (GANG-05).
    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError>;

    /// The caller watches these kinds, and syncs the PodGang after a change (GANG-12).
    fn gang_resources(&self) -> Vec<ApiResource> {
        Vec::new()
    }

    /// Creates the gang resources, parents first. Idempotent. Called after every change of the PodGang or its
    /// gang resources, and of the set of its live or released pods. `existing` are the gang resources that
    /// the PodGang owns, from a cache that may lag. Any error except [`BackendError::Refused`] is retried.
    async fn sync_pod_gang(
        &self,
        _gang: &GangState<'_>,
        _existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        Ok(Synced::default())
    }

    /// Called for a gated pod whose PodGang is initialized and synced.
    async fn release_pod(&self, _pod: &Pod, _gang: &GangState<'_>) -> Result<Release, BackendError> {
        Ok(Release::Now(Vec::new()))
    }

    /// Labels that the request that removes the gate also sets, because the scheduler would try to bind a
    /// gated pod that has them. All other labels are set when the pod is created.
    fn release_labels(&self, _pod_gang: &PodGang, _pod: &Pod) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Whether the hard gang has the lowest pod indexes. A scale-in then deletes these pods last (AUTO-07).
    fn has_fixed_members(&self, _pod_gang: &PodGang) -> bool {
        false
    }

    /// Whether an idle podgroup may leave this PodGang. It must return as a whole or not at all (AUTO-14).
    fn allows_idle(&self, _pod_gang: &PodGang) -> bool {
        false
    }

    /// The reason for not binding the gang, if a gang resource reports it (STAT-09).
    fn refusal(&self, _gang_resource: &DynamicObject) -> Option<String> {
        None
    }

    /// The scheduler's report on all domains that it tried, if its message on a pod covers only one of them.
    fn domains_tried(&self, _gang_resource: &DynamicObject) -> Option<String> {
        None
    }

    fn topology(&self) -> Option<&dyn TopologyBackend> {
        None
    }
}

#[async_trait]
pub trait TopologyBackend: Send + Sync {
    /// The caller watches these kinds and the nodes, and calls the other methods after a change.
    fn topology_resources(&self) -> Vec<ApiResource>;

    /// The binding controls the resources, so garbage collection deletes them with it (DEL-09). Idempotent.
    async fn sync_topology(
        &self,
        binding: &ClusterTopologyBinding,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError>;

    /// Compares `binding` with the topology resource that its `schedulerTopologyBindings` references, and
    /// that has another owner. May delete the resources that the backend has created for the binding.
    async fn compare_topology(
        &self,
        binding: &ClusterTopologyBinding,
        reference: &str,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError>;
}

/// Objects from the caller's caches, which may lag.
#[derive(Clone, Copy, Debug)]
pub struct TopologyView<'a> {
    /// All bindings: a scheduler that supports only one uses the oldest.
    pub bindings: &'a [Arc<ClusterTopologyBinding>],
    pub nodes: &'a [Arc<Node>],
    /// Topology resources of any owner, each with its `types`.
    pub existing: &'a [Arc<DynamicObject>],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyState {
    InSync,
    Drift(String),
    NotFound(String),
    /// A retry does not help. For example, another owner has created the scheduler's only topology.
    Refused(String),
}

#[derive(Clone, Copy, Debug)]
pub struct Membership<'a> {
    pub pod_gang: &'a PodGang,
    pub pod_clique: &'a str,
    pub pod_index: i32,
}

impl Membership<'_> {
    pub fn min_replicas(&self) -> Option<i32> {
        let mut podgroups = self.pod_gang.spec.podgroups.iter();
        podgroups.find(|podgroup| podgroup.name == self.pod_clique).map(|podgroup| podgroup.min_replicas)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct GangState<'a> {
    pub pod_gang: &'a PodGang,
    /// Pods of the current generation that are neither finished nor being deleted.
    pub pods: &'a [Arc<Pod>],
    /// Pods of former generations that still exist, and evicted pods that are being deleted.
    pub former: &'a [Arc<Pod>],
    /// `None` if the cache lacks the ClusterTopologyBinding, although it may exist.
    pub topology: Option<&'a ClusterTopologyBinding>,
}

impl<'a> GangState<'a> {
    pub fn without_pods(pod_gang: &'a PodGang) -> Self {
        Self { pod_gang, pods: &[], former: &[], topology: None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// The pod stays gated. The text is logged. A change to any pod of the gang triggers another call.
    Hold(String),
    /// The API server dropped the pod's membership. The caller replaces the gated pod (KUBE-16).
    Replace(String),
    /// The request that removes the gate adds these requirements to the pod's required node affinity.
    Now(Vec<NodeSelectorRequirement>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Problems that the backend cannot repair through the API; each becomes a Warning event (GANG-12).
    pub warnings: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("scheduler backend {backend:?} is not ready: {reason}")]
    NotReady { backend: String, reason: String },
    /// The scheduler can never express the gang; its pods stay gated.
    #[error("{0}")]
    Refused(String),
    /// An object of another owner has the name of a gang resource. A retry may succeed.
    #[error("{0} exists and is not controlled by this PodGang: delete it, or rename the PodCliqueSet")]
    NameTaken(String),
    /// Only the owner of the finalizer, or a user, can free the name of the gang resource.
    #[error("{object} is being deleted, but the finalizer {finalizer} keeps it: remove the finalizer")]
    Kept { object: String, finalizer: String },
    /// An object of a deleted PodGang of the same name must be deleted first (DEL-08).
    #[error("waiting: {0}")]
    Waiting(String),
    /// Pods that name the object keep it alive. The caller deletes the gated ones, to avoid a deadlock.
    #[error("waiting: {0}")]
    HeldByPods(String),
    #[error("cannot {action}: {source}")]
    Api { action: String, source: kube::Error },
}
