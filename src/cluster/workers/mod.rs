//! Real nodes, each leased to one case at a time. After a case, the harness restores the recorded state of a
//! node ([`NodeState`]) and verifies it. A node that cannot be restored is never leased again. If a node
//! differs from its record when it is leased, the case ends in an error.

mod configuration;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::ClusterError;
use crate::node_state::NodeState;
use crate::nodes::NodeSpec;
use crate::real_nodes::{LeasedNodes, RealNodes};

/// The node label from which the fake GPU plugin reads its number of GPUs.
pub const GPUS: &str = "conformance.grove.io/gpus";
/// Extended resource that replaces a node's `pods` as the limit.
pub const SLOTS: &str = "conformance.grove.io/pods";
const GPU: &str = "nvidia.com/gpu";
/// How long a case may wait until other cases release enough nodes. Ten cases may want all nodes, and some
/// wait for a scheduler's timeout of 5 min.
const RELEASED: Duration = Duration::from_secs(2 * 60 * 60);

#[derive(Debug, Clone)]
struct Worker {
    name: String,
    before: NodeState,
}

#[derive(Debug)]
struct Lease {
    /// One permit for each reserved node.
    permits: OwnedSemaphorePermit,
    workers: Vec<Worker>,
}

pub struct Workers {
    client: Client,
    /// `Some` for nodes of an existing cluster, whose capacity is fixed.
    real: Option<Box<RealNodes>>,
    /// The number of nodes that can be leased. It decreases when a node cannot be restored.
    size: watch::Sender<usize>,
    /// One permit for each node that can be reserved.
    permits: Arc<Semaphore>,
    free: Mutex<Vec<Worker>>,
    leases: Mutex<BTreeMap<String, Lease>>,
}

impl Workers {
    /// Takes the nodes with this label, and waits until each advertises the GPUs of its label [`GPUS`].
    pub async fn with_label(client: Client, label: &str) -> Result<Self, ClusterError> {
        let workers = Self::new(client.clone(), None, []);
        let nodes: Api<Node> = Api::all(client);
        let list = async || {
            let found = nodes.list(&ListParams::default().labels(label)).await;
            found.map_err(ClusterError::during(format!("list the nodes with {label}")))
        };
        let advertised = list().await?.into_iter().map(|node| {
            let gpus = node.labels().get(GPUS).and_then(|gpus| gpus.parse().ok()).unwrap_or_default();
            let workers = &workers;
            async move { workers.advertised(&node.name_any(), GPU, gpus).await }
        });
        try_join_all(advertised).await?;
        let found = list().await?;
        Ok(Self::new(workers.client(), None, found))
    }

    /// Takes the nodes of an existing cluster that `nodes` selects, except the node for canaries.
    pub async fn in_existing_cluster(
        client: Client,
        nodes: &LeasedNodes,
        run: (&str, &str),
    ) -> Result<Self, ClusterError> {
        let (real, nodes) = RealNodes::take(client.clone(), nodes, run).await?;
        Ok(Self::new(client, Some(Box::new(real)), nodes))
    }

    fn new(client: Client, real: Option<Box<RealNodes>>, nodes: impl IntoIterator<Item = Node>) -> Self {
        let free: Vec<_> = nodes
            .into_iter()
            .map(|node| Worker { name: node.name_any(), before: NodeState::of(&node) })
            .collect();
        let size = free.len();
        Self {
            client,
            real,
            size: watch::Sender::new(size),
            permits: Arc::new(Semaphore::new(size)),
            free: Mutex::new(free),
            leases: Mutex::default(),
        }
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub fn gpus(&self) -> Option<u32> {
        self.real.as_ref().map(|real| real.gpus)
    }

    pub fn size(&self) -> usize {
        *self.size.borrow()
    }

    /// Reserves nodes, in the order of the requests, so that a large one cannot starve.
    pub async fn reserve(&self, pool: &str, count: usize) -> Result<(), ClusterError> {
        let mut size = self.size.subscribe();
        let wanted = u32::try_from(count).unwrap_or(u32::MAX);
        let permits = tokio::select! {
            biased;
            _ = size.wait_for(|size| *size < count) => {
                return Err(ClusterError::TooFewNodes { wanted: count, existing: self.size() });
            }
            permits = tokio::time::timeout(RELEASED, self.permits.clone().acquire_many_owned(wanted)) => permits,
        };
        // A failure is always a timeout, because the semaphore is never closed.
        let Ok(Ok(permits)) = permits else {
            let mut last = format!("{} are free", self.permits.available_permits());
            for (pool, lease) in &*self.leases.lock() {
                last.push_str(&format!(", {pool} has {}", lease.workers.len()));
            }
            return Err(ClusterError::NotReady {
                what: format!("{count} free nodes of {}", self.size()),
                seconds: RELEASED.as_secs(),
                last,
            });
        };
        self.leases.lock().insert(pool.into(), Lease { permits, workers: Vec::new() });
        Ok(())
    }

    /// Leases reserved nodes to a pool. They have [`SLOTS`] if their pods are `scarce`.
    pub async fn add(
        &self,
        pool: &str,
        nodes: Vec<NodeSpec>,
        scarce: bool,
    ) -> Result<Vec<NodeSpec>, ClusterError> {
        let leased = self.lease(pool, nodes)?;
        let configured = leased.into_iter().map(|(worker, node)| self.configure(worker, node, scarce));
        try_join_all(configured).await
    }

    fn lease(&self, pool: &str, nodes: Vec<NodeSpec>) -> Result<Vec<(Worker, NodeSpec)>, ClusterError> {
        let (mut leases, mut free) = (self.leases.lock(), self.free.lock());
        let reserved = leases.get_mut(pool).filter(|lease| {
            lease.workers.len() + nodes.len() <= lease.permits.num_permits() && nodes.len() <= free.len()
        });
        let Some(lease) = reserved else {
            return Err(ClusterError::NotReserved { pool: pool.into() });
        };
        let mut leased = Vec::new();
        for node in nodes {
            let Some(worker) = free.pop() else { break };
            lease.workers.push(worker.clone());
            leased.push((worker, node));
        }
        Ok(leased)
    }

    /// Returns the nodes of a pool. Waits until no pod of the case runs on them, and restores each node
    /// independently. A node that cannot be restored is never leased again.
    pub async fn release(&self, pool: &str) -> Result<(), ClusterError> {
        let Some(Lease { permits, workers }) = self.leases.lock().remove(pool) else { return Ok(()) };
        let left = workers.iter().map(|worker| worker.name.clone()).collect();
        let mut returning = Returning { to: self, permits, left };
        let restored = workers.into_iter().map(|worker| async move {
            let restored = match self.until_without_pods(&worker.name, pool).await {
                Ok(()) => self.restore(&worker).await,
                Err(error) => Err(error),
            };
            (worker, restored)
        });
        let mut restored: FuturesUnordered<_> = restored.collect();
        let mut outcome = Ok(());
        while let Some((worker, restored)) = restored.next().await {
            match restored {
                Ok(()) => returning.add(worker),
                Err(error) => {
                    tracing::warn!(node = worker.name, pool, %error, "failed to restore a leased node");
                    outcome = outcome.and(Err(error));
                }
            }
        }
        outcome
    }
}

/// Nodes that are being returned. If this value is dropped early, the nodes in `left` are never leased again.
struct Returning<'a> {
    to: &'a Workers,
    permits: OwnedSemaphorePermit,
    left: BTreeSet<String>,
}

impl Returning<'_> {
    fn add(&mut self, worker: Worker) {
        self.left.remove(&worker.name);
        self.to.free.lock().push(worker);
    }
}

impl Drop for Returning<'_> {
    fn drop(&mut self) {
        if self.left.is_empty() {
            return;
        }
        if let Some(lost) = self.permits.split(self.left.len()) {
            lost.forget();
        }
        self.to.size.send_modify(|size| *size = size.saturating_sub(self.left.len()));
        let nodes = self.left.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        tracing::warn!(
            nodes,
            left = self.to.size(),
            "failed to restore nodes; the run no longer leases them"
        );
    }
}
