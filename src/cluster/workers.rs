//! Real nodes, leased to one case at a time.
//!
//! What a case asks for is written on the node: its labels and taint; the number of GPUs, which the fake GPU plugin
//! reads from a label and the kubelet then advertises; and, where the number of pods matters, an extended resource
//! [`SLOTS`], because a kubelet's own `pods` cannot be set from outside. When a case ends, its pods must be gone
//! from the node before the next case gets it, and everything is restored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::nodes::NodeSpec;
use super::{ClusterError, deploy};

/// Node label that the fake GPU plugin reads the number of its GPUs from.
pub const GPUS: &str = "conformance.grove.io/gpus";
/// Extended resource that represents a node's `pods`.
pub const SLOTS: &str = "conformance.grove.io/pods";
/// The GPUs' resource.
const GPU: &str = "nvidia.com/gpu";
/// A plugin reacts and a kubelet tells the API server.
const ADVERTISED: Duration = Duration::from_secs(30);
/// The pods of an ended case go.
const EMPTIED: Duration = Duration::from_secs(60);
/// Between two looks at what is still on a node; a watch on all pods would cost more than these few.
const PAUSE: Duration = Duration::from_millis(200);

/// A node as it is when no case has it.
#[derive(Debug, Clone)]
struct Worker {
    name: String,
    labels: BTreeMap<String, String>,
    taints: Value,
}

/// What a pool has.
#[derive(Debug)]
struct Lent {
    _permits: OwnedSemaphorePermit,
    workers: Vec<(Worker, BTreeSet<String>)>,
}

/// The workers of a cluster.
pub struct Workers {
    client: Client,
    size: usize,
    seats: Arc<Semaphore>,
    free: Mutex<Vec<Worker>>,
    lent: Mutex<BTreeMap<String, Lent>>,
}

impl Workers {
    /// The nodes that carry `label`, as they are now.
    ///
    /// # Errors
    /// [`ClusterError::Api`].
    pub async fn with_label(client: Client, label: &str) -> Result<Self, ClusterError> {
        let nodes: Api<Node> = Api::all(client.clone());
        let found = nodes
            .list(&ListParams::default().labels(label))
            .await
            .map_err(|source| ClusterError::api(format!("list the nodes with {label}"), source))?;
        let free: Vec<_> = found
            .into_iter()
            .map(|node| Worker {
                name: node.name_any(),
                labels: node.labels().clone(),
                taints: serde_json::to_value(node.spec.and_then(|spec| spec.taints)).unwrap_or_default(),
            })
            .collect();
        let size = free.len();
        Ok(Self {
            client,
            size,
            seats: Arc::new(Semaphore::new(size)),
            free: Mutex::new(free),
            lent: Mutex::default(),
        })
    }

    /// A client of the cluster that they are in.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Waits until so many are free and keeps them for a pool. First come, first served: a case that asks for many is
    /// not passed by those that ask for few.
    ///
    /// # Errors
    /// [`ClusterError::Name`] if there never will be so many.
    pub async fn reserve(&self, pool: &str, count: usize) -> Result<(), ClusterError> {
        let wanted = u32::try_from(count).ok().filter(|_| count <= self.size);
        let too_many = || ClusterError::Name(format!("{count} nodes are needed, there are {}", self.size));
        let seats = self.seats.clone();
        // The semaphore is never closed.
        let permits = seats.acquire_many_owned(wanted.ok_or_else(too_many)?).await.map_err(|_| too_many())?;
        lock(&self.lent).insert(pool.into(), Lent { _permits: permits, workers: Vec::new() });
        Ok(())
    }

    /// Lends a pool nodes that it has reserved, with [`SLOTS`] where their pods are `scarce`.
    ///
    /// # Errors
    /// [`ClusterError::Api`]; [`ClusterError::NotReady`]; [`ClusterError::Name`] for more than were reserved.
    pub async fn add(
        &self,
        pool: &str,
        nodes: Vec<NodeSpec>,
        scarce: bool,
    ) -> Result<Vec<NodeSpec>, ClusterError> {
        let mut taken = Vec::new();
        for node in nodes {
            let worker = lock(&self.free).pop();
            let Some(worker) = worker else {
                return Err(ClusterError::Name(format!("{pool} has not reserved so many nodes")));
            };
            if let Some(lent) = lock(&self.lent).get_mut(pool) {
                lent.workers.push((worker.clone(), node.labels.keys().cloned().collect()));
            }
            taken.push((worker, node));
        }
        let made = taken.into_iter().map(|(worker, node)| self.dress(worker, node, scarce));
        try_join_all(made).await
    }

    async fn dress(&self, worker: Worker, node: NodeSpec, scarce: bool) -> Result<NodeSpec, ClusterError> {
        // A domain that the case does not know must not be on its nodes.
        let mut labels: Map<String, Value> = worker
            .labels
            .keys()
            .filter(|key| key.starts_with("topology.kubernetes.io/"))
            .map(|key| (key.clone(), Value::Null))
            .collect();
        labels.extend(node.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        labels.insert(GPUS.into(), node.gpus.to_string().into());
        let taints: Vec<_> = node
            .taint
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}))
            .collect();
        if scarce {
            self.slots(&worker.name, Some(node.pods)).await?;
        }
        self.patch(&worker.name, json!({"metadata": {"labels": labels}, "spec": {"taints": taints}})).await?;
        self.advertised(&worker.name, GPU, node.gpus).await?;
        if scarce {
            self.advertised(&worker.name, SLOTS, node.pods).await?;
        }
        Ok(NodeSpec { name: worker.name, ..node })
    }

    /// Waits until a kubelet says that it has so much of a resource.
    async fn advertised(&self, node: &str, resource: &str, amount: u32) -> Result<(), ClusterError> {
        let has = |node: Option<&Node>| {
            let status = node.and_then(|node| node.status.as_ref());
            let allocatable = status.and_then(|status| status.allocatable.as_ref()?.get(resource));
            allocatable.map_or("0", |quantity| quantity.0.as_str()) == amount.to_string()
        };
        let what = format!("{amount} {resource} on node {node}");
        let last = "its kubelet advertises another number; look at the fake GPU plugin's log on it";
        deploy::await_node(&self.client, node, ADVERTISED, what, last, has).await
    }

    /// Lets each of these nodes take so many pods.
    ///
    /// # Errors
    /// [`ClusterError::Api`], [`ClusterError::NotReady`].
    pub async fn set_pods(&self, nodes: &[NodeSpec], pods: u32) -> Result<(), ClusterError> {
        for node in nodes {
            self.slots(&node.name, Some(pods)).await?;
            self.advertised(&node.name, SLOTS, pods).await?;
        }
        Ok(())
    }

    async fn slots(&self, node: &str, amount: Option<u32>) -> Result<(), ClusterError> {
        let amount = json!({(SLOTS): amount.map(|amount| amount.to_string())});
        let status = json!({"status": {"capacity": amount, "allocatable": amount}});
        deploy::patch_node_status(&self.client, node, &status).await
    }

    async fn patch(&self, node: &str, patch: Value) -> Result<(), ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        nodes
            .patch(node, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .map(drop)
            .map_err(|source| ClusterError::api(format!("patch node {node}"), source))
    }

    /// Takes a pool's nodes back once no pod of a case is on them.
    ///
    /// # Errors
    /// [`ClusterError::Api`]; [`ClusterError::NotReady`] if pods stay: such a node is lent to nobody any more.
    pub async fn release(&self, pool: &str) -> Result<(), ClusterError> {
        let Some(lent) = lock(&self.lent).remove(pool) else { return Ok(()) };
        let emptied = try_join_all(lent.workers.iter().map(|(worker, labels)| async move {
            self.emptied(&worker.name, pool).await?;
            self.undress(worker, labels).await
        }));
        emptied.await?;
        lock(&self.free).extend(lent.workers.into_iter().map(|(worker, _)| worker));
        Ok(())
    }

    async fn emptied(&self, node: &str, namespace: &str) -> Result<(), ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let begin = std::time::Instant::now();
        loop {
            let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
            let left = pods
                .list(&on_node)
                .await
                .map_err(|source| ClusterError::api(format!("list the pods on {node}"), source))?;
            if left.items.is_empty() {
                return Ok(());
            }
            if begin.elapsed() > EMPTIED {
                return Err(ClusterError::NotReady {
                    what: format!("an empty node {node}"),
                    seconds: EMPTIED.as_secs(),
                    last: left.iter().map(ResourceExt::name_any).collect::<Vec<_>>().join(", "),
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn undress(&self, worker: &Worker, added: &BTreeSet<String>) -> Result<(), ClusterError> {
        let mut labels: Map<String, Value> = added.iter().map(|key| (key.clone(), Value::Null)).collect();
        labels.insert(GPUS.into(), "0".into());
        labels.extend(worker.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        self.patch(&worker.name, json!({"metadata": {"labels": labels}, "spec": {"taints": worker.taints}}))
            .await?;
        self.slots(&worker.name, None).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
