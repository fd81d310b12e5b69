//! The contract between Grove's reconcilers and one scheduler.
//!
//! A backend turns a PodGang into its scheduler's gang resources, determines how a pod joins, when a pod may be
//! released to the scheduler, and which PodCliqueSets it cannot serve. It never creates, deletes or scales pods and
//! never writes PodGang status: that is up to the reconcilers. Differences between schedulers exist only behind
//! this trait.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use grove_api::{ClusterTopologyBinding, PodCliqueSet, PodGang};
use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement};
use kube::api::{ApiResource, DynamicObject};

use super::Validation;
use crate::observed_pod::Pod;

/// One scheduler that Grove can hand gangs to.
#[async_trait]
pub trait SchedulerBackend: Send + Sync {
    /// The `schedulerName` of its pods, such as `default-scheduler`.
    fn name(&self) -> &str;

    /// Looks for the scheduler's API once at start. That it is missing is remembered and shown by
    /// [`readiness`](Self::readiness); it is no error (ADM-19).
    ///
    /// # Errors
    /// The API server could not be asked.
    async fn init(&self) -> Result<(), BackendError> {
        match self.readiness().await {
            Ok(()) => tracing::info!(backend = self.name(), "ready"),
            Err(reason) => tracing::warn!(backend = self.name(), %reason, "gangs cannot be scheduled"),
        }
        Ok(())
    }

    /// Whether gangs can be served now; asks the API server again where the last answer was no, so that an
    /// API installed later is found without a restart (KUBE-06). Answers in seconds, whatever the API server does:
    /// probes, admission and reconciles wait for it.
    ///
    /// # Errors
    /// What is missing, by name.
    async fn readiness(&self) -> Result<(), String>;

    /// [`readiness`](Self::readiness) as an error: an API that is missing, or too old and would drop what a gang needs, is
    /// not written to.
    ///
    /// # Errors
    /// [`BackendError::NotReady`].
    async fn ready(&self) -> Result<(), BackendError> {
        let ready = self.readiness().await;
        ready.map_err(|reason| BackendError::NotReady { backend: self.name().to_owned(), reason })
    }

    /// Refuses what the scheduler cannot express, as early as admission can (ADM-06, ADM-09). `old` is the
    /// stored object on an update.
    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation;

    /// Adds the backend's own `grove.io/` labels and annotations to a PodGang that is about to be written.
    ///
    /// # Errors
    /// The API server could not be asked for what they depend on; the PodGang is not written.
    async fn prepare_pod_gang(
        &self,
        _pod_gang: &mut PodGang,
        _pcs: &PodCliqueSet,
    ) -> Result<(), BackendError> {
        Ok(())
    }

    /// Sets schedulerName and membership on a pod that is about to be created (GANG-05).
    ///
    /// # Errors
    /// The pod cannot be a member of this gang.
    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError>;

    /// The kinds of its gang resources. The caller watches them and calls
    /// [`sync_pod_gang`](Self::sync_pod_gang) when one that a PodGang owns changes or goes (GANG-12).
    fn gang_resources(&self) -> Vec<ApiResource>;

    /// Brings the scheduler's gang resources into being, parents first. Idempotent: writes nothing if nothing
    /// is missing. Called for every change of the PodGang, of its gang resources, and of its pods' being there, live and
    /// released. `existing` are the gang resources that the PodGang owns as the caller's cache has them, possibly a
    /// little late, each with its `types`.
    ///
    /// # Errors
    /// [`BackendError::Refused`] if they can never exist as asked, else what failed and is worth a retry.
    async fn sync_pod_gang(
        &self,
        gang: &GangState<'_>,
        existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError>;

    /// Whether a gated pod, whose PodGang is initialized and synced, may be released, and with what.
    ///
    /// # Errors
    /// The API server could not be asked.
    async fn release_pod(&self, pod: &Pod, gang: &GangState<'_>) -> Result<Release, BackendError>;

    /// Labels that a pod gets in the very request that takes its gate off: membership for a scheduler that would take a
    /// gated pod for one that it may bind. Everything else a pod needs it has from its creation on.
    fn release_labels(&self, _pod_gang: &PodGang, _pod: &Pod) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Whether the hard gang of this PodGang is the pods of the lowest indexes, and no others can take their places: one of
    /// them is not given up while others run (AUTO-07).
    fn keeps_places(&self, _pod_gang: &PodGang) -> bool {
        false
    }

    /// Whether podgroups of this PodGang may leave it, scaled to 0, and come back: its gang resources can follow, and a podgroup
    /// that comes back is bound whole or not at all (AUTO-14).
    fn lets_idle(&self, _pod_gang: &PodGang) -> bool {
        false
    }

    /// Why the scheduler does not bind the gang, in its own words, where it says so on one of the gang resources (STAT-09). What
    /// it says on pods the caller sees by itself.
    fn refusal(&self, _gang_resource: &DynamicObject) -> Option<String> {
        None
    }

    /// What the scheduler reports about all domains that it tried, where its message on a pod is about one of them.
    fn domains_tried(&self, _gang_resource: &DynamicObject) -> Option<String> {
        None
    }

    /// The backend's topology resources, where the scheduler has such (TOPO-09).
    fn topology(&self) -> Option<&dyn TopologyBackend> {
        None
    }
}

/// A scheduler with a topology resource of its own that follows a ClusterTopologyBinding (TOPO-09).
#[async_trait]
pub trait TopologyBackend: Send + Sync {
    /// The kinds of its topology resources. The caller watches them, and the nodes, and calls the other two
    /// again when one changes.
    fn topology_resources(&self) -> Vec<ApiResource>;

    /// Brings the topology resources of `binding` into being, controlled by it, so that they go with it
    /// (DEL-09). Idempotent: writes nothing if nothing differs.
    ///
    /// # Errors
    /// What failed and is worth a retry.
    async fn sync_topology(
        &self,
        binding: &ClusterTopologyBinding,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError>;

    /// Compares `binding` with the topology resource that its `schedulerTopologyBindings` refers to, which is
    /// somebody else's. Writes nothing to it; what the backend had made for the binding before may be deleted.
    ///
    /// # Errors
    /// What failed and is worth a retry.
    async fn compare_topology(
        &self,
        binding: &ClusterTopologyBinding,
        reference: &str,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError>;
}

/// What topology resources are made from, as the caller's caches have it, possibly a little late.
#[derive(Clone, Copy, Debug)]
pub struct TopologyView<'a> {
    /// Every ClusterTopologyBinding: where a scheduler can hold only one, who came first holds it.
    pub bindings: &'a [Arc<ClusterTopologyBinding>],
    /// Every node; of each the metadata only.
    pub nodes: &'a [Arc<Node>],
    /// Every topology resource of the backend's kinds, whoever owns it, each with its `types`.
    pub existing: &'a [Arc<DynamicObject>],
}

/// How a scheduler's topology resources stand to a ClusterTopologyBinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyState {
    /// They say the same.
    InSync,
    /// They differ; in what.
    Drift(String),
    /// The one referred to does not exist; which.
    NotFound(String),
    /// They cannot be had, and a retry does not help: why, such as another owner or another binding that
    /// holds the only place.
    Refused(String),
}

/// The place in a gang that a pod is created for.
#[derive(Clone, Copy, Debug)]
pub struct Membership<'a> {
    /// The PodGang.
    pub pod_gang: &'a PodGang,
    /// Name of the podgroup, which is the name of the pod's PodClique.
    pub pod_clique: &'a str,
    /// The pod's index in its PodClique, from 0.
    pub pod_index: i32,
}

impl Membership<'_> {
    /// `minReplicas` of the pod's podgroup, if the PodGang has that podgroup.
    pub fn min_replicas(&self) -> Option<i32> {
        let mut podgroups = self.pod_gang.spec.podgroups.iter();
        podgroups.find(|podgroup| podgroup.name == self.pod_clique).map(|podgroup| podgroup.min_replicas)
    }
}

/// A PodGang, its live pods and its topology, as the caller's caches have them.
#[derive(Clone, Copy, Debug)]
pub struct GangState<'a> {
    /// The PodGang.
    pub pod_gang: &'a PodGang,
    /// Every pod of its generation that is neither finished nor being deleted.
    pub pods: &'a [Arc<Pod>],
    /// Every pod of its former generations that is there still.
    pub former: &'a [Arc<Pod>],
    /// The ClusterTopologyBinding that it names. One that the cache lacks may be there all the same.
    pub topology: Option<&'a ClusterTopologyBinding>,
}

impl<'a> GangState<'a> {
    /// A PodGang that has no pods yet, and none knows its topology.
    pub fn without_pods(pod_gang: &'a PodGang) -> Self {
        Self { pod_gang, pods: &[], former: &[], topology: None }
    }
}

/// Whether a gated pod goes to the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// Not yet; why, for the log. A change to any pod of the gang asks again.
    Hold(String),
    /// Never: the API server dropped its membership, which cannot be set later. It is deleted, still gated, and another
    /// one is created in its place (KUBE-16).
    Replace(String),
    /// Now, with these requirements added to the pod's required node affinity in the same request.
    Now(Vec<NodeSelectorRequirement>),
}

/// What a sync of gang resources found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Things that are wrong and that the API does not let a backend put right; each becomes a Warning event
    /// (GANG-12).
    pub warnings: Vec<String>,
}

/// Why a backend could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The scheduler's API is not there.
    #[error("scheduler backend {backend:?} is not ready: {reason}")]
    NotReady {
        /// schedulerName.
        backend: String,
        /// What is missing.
        reason: String,
    },
    /// The gang can never be expressed; pods stay gated.
    #[error("{0}")]
    Refused(String),
    /// An object of another owner has the name of a gang resource; a retry may find it gone.
    #[error("{0} exists and is not controlled by this PodGang")]
    NameTaken(String),
    /// Something of a deleted PodGang of the same name has to go first (DEL-08).
    #[error("waiting: {0}")]
    Waiting(String),
    /// As [`Waiting`](Self::Waiting), and what has to go is kept by the pods that name it: those that are still gated are
    /// deleted, or the one would wait for the others for ever.
    #[error("waiting: {0}")]
    HeldByPods(String),
    /// A request failed.
    #[error("cannot {action}: {source}")]
    Api {
        /// What was tried, such as `create Workload ns/name`.
        action: String,
        /// The answer.
        source: kube::Error,
    },
}
