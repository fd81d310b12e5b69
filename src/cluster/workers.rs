//! Real nodes, leased to one case at a time.
//!
//! The harness writes to the node what a case requests: labels, a taint, and the number of GPUs. The fake GPU
//! plugin reads that number from a label, and the kubelet then advertises it. If the number of pods matters,
//! the harness also writes an extended resource [`SLOTS`], because a kubelet's own `pods` cannot be set from
//! outside.
//!
//! The state of a node before its first lease is recorded once ([`NodeState`]). When a case ends, its pods
//! must be deleted from the node. The harness then restores every field of the record and reads it back. A
//! node that cannot be restored is never leased again. If a node differs from its record when it is leased,
//! the case ends in an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::node_state::{NodeState, Owner};
use super::nodes::NodeSpec;
use super::polling::{names_left, until_complete};
use super::real_nodes::RealNodes;
use super::{ClusterError, deploy};
use crate::real_nodes::LentNodes;

/// The node label from which the fake GPU plugin reads its number of GPUs.
pub const GPUS: &str = "conformance.grove.io/gpus";
/// Extended resource that represents a node's `pods`.
pub const SLOTS: &str = "conformance.grove.io/pods";
const GPU: &str = "nvidia.com/gpu";
/// How long the plugin may take to react and the kubelet to update the node.
const ADVERTISED: Duration = Duration::from_secs(30);
/// How long a kubelet that a case stopped may take to report, until the node's conditions and taints follow.
const RESTORED: Duration = Duration::from_secs(60);
/// How long a kubelet that is late on a busy machine may take to report.
const UNCHANGED: Duration = Duration::from_secs(10);
/// Kubelets and controllers write to nodes too. A patch that conflicts with their writes is tried this many
/// times.
const TRIES: u32 = 5;
/// How long the pods of an ended case may take to be deleted.
const EMPTIED: Duration = Duration::from_secs(60);
/// How long other cases may take to release enough nodes: many times the duration of the longest case.
const FREED: Duration = Duration::from_secs(30 * 60);

/// A node and its state without a lease.
#[derive(Debug, Clone)]
struct Worker {
    name: String,
    before: NodeState,
}

/// The nodes of a pool.
#[derive(Debug)]
struct Lent {
    permits: OwnedSemaphorePermit,
    workers: Vec<Worker>,
}

pub struct Workers {
    client: Client,
    /// Set for nodes of someone else's cluster, which have their own capacity.
    real: Option<Box<RealNodes>>,
    /// The number of nodes that can be leased. It shrinks when a node is lost.
    size: watch::Sender<usize>,
    seats: Arc<Semaphore>,
    free: Mutex<Vec<Worker>>,
    lent: Mutex<BTreeMap<String, Lent>>,
}

impl Workers {
    /// The nodes with `label`, once each advertises the GPUs that its own label requests.
    pub async fn with_label(client: Client, label: &str) -> Result<Self, ClusterError> {
        let mut workers = Self::new(client.clone(), None, []);
        let nodes: Api<Node> = Api::all(client);
        let list = async || {
            let found = nodes.list(&ListParams::default().labels(label)).await;
            found.map_err(|source| ClusterError::api(format!("list the nodes with {label}"), source))
        };
        let advertised = list().await?.into_iter().map(|node| {
            let gpus = node.labels().get(GPUS).and_then(|gpus| gpus.parse().ok()).unwrap_or_default();
            let workers = &workers;
            async move { workers.advertised(&node.name_any(), GPU, gpus).await }
        });
        try_join_all(advertised).await?;
        let found = list().await?;
        workers = Self::new(workers.client, None, found);
        Ok(workers)
    }

    /// These nodes of someone else's cluster, with their own capacity. One of them is for canaries.
    pub async fn of_somebody_else(
        client: Client,
        lent: &LentNodes,
        run: (&str, &str),
    ) -> Result<Self, ClusterError> {
        let (real, lent) = RealNodes::take(client.clone(), lent, run).await?;
        Ok(Self::new(client, Some(Box::new(real)), lent))
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
            seats: Arc::new(Semaphore::new(size)),
            free: Mutex::new(free),
            lent: Mutex::default(),
        }
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// How many GPUs each node can have; `None` without a limit.
    pub fn gpus(&self) -> Option<u32> {
        self.real.as_ref().map(|real| real.gpus)
    }

    pub fn size(&self) -> usize {
        *self.size.borrow()
    }

    /// Waits until `count` nodes are free and reserves them for a pool. Reservations are served in order, so
    /// a large one cannot starve. Fails if the cluster does not have enough nodes, even if some are lost
    /// during the wait.
    pub async fn reserve(&self, pool: &str, count: usize) -> Result<(), ClusterError> {
        let mut size = self.size.subscribe();
        let wanted = u32::try_from(count).unwrap_or(u32::MAX);
        let permits = tokio::select! {
            biased;
            _ = size.wait_for(|size| *size < count) => {
                return Err(ClusterError::TooFewNodes { wanted: count, there: self.size() });
            }
            freed = tokio::time::timeout(FREED, self.seats.clone().acquire_many_owned(wanted)) => freed,
        };
        // The semaphore is never closed.
        let Ok(Ok(permits)) = permits else {
            let lent = lock(&self.lent);
            let pools: Vec<_> =
                lent.iter().map(|(pool, lent)| format!("{pool} has {}", lent.workers.len())).collect();
            return Err(ClusterError::NotReady {
                what: format!("{count} free nodes of {}", self.size()),
                seconds: FREED.as_secs(),
                last: format!("{} are free, {}", self.seats.available_permits(), pools.join(", ")),
            });
        };
        lock(&self.lent).insert(pool.into(), Lent { permits, workers: Vec::new() });
        Ok(())
    }

    /// Leases reserved nodes to a pool, with [`SLOTS`] if their pods are `scarce`.
    pub async fn add(
        &self,
        pool: &str,
        nodes: Vec<NodeSpec>,
        scarce: bool,
    ) -> Result<Vec<NodeSpec>, ClusterError> {
        let mut taken = Vec::new();
        {
            let (mut all, mut free) = (lock(&self.lent), lock(&self.free));
            let reserved = all.get_mut(pool).filter(|lent| {
                lent.workers.len() + nodes.len() <= lent.permits.num_permits() && nodes.len() <= free.len()
            });
            let Some(lent) = reserved else {
                return Err(ClusterError::NotReserved { pool: pool.into() });
            };
            for node in nodes {
                let Some(worker) = free.pop() else { break };
                lent.workers.push(worker.clone());
                taken.push((worker, node));
            }
        }
        let made = taken.into_iter().map(|(worker, node)| self.dress(worker, node, scarce));
        try_join_all(made).await
    }

    async fn dress(&self, worker: Worker, node: NodeSpec, scarce: bool) -> Result<NodeSpec, ClusterError> {
        self.until_as_before(&worker, UNCHANGED).await?;
        let taints: Vec<_> = node
            .taint
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}))
            .collect();
        if scarce {
            self.slots(&worker.name, Some(node.pods)).await?;
            self.advertised(&worker.name, SLOTS, node.pods).await?;
        }
        // The taint that admits the case's pods comes last: pods that wait already would otherwise be bound to
        // GPUs that the node is about to lose.
        if let Some(real) = &self.real {
            let labels = node.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
            real.leave(&worker.name, node.gpus).await?;
            real.dress(&worker.name, labels, taints.into()).await?;
        } else {
            self.dress_ours(&worker, &node).await?;
            self.patch(&worker.name, json!({"spec": {"taints": taints}})).await?;
        }
        Ok(NodeSpec { name: worker.name, ..node })
    }

    /// Labels a node of the harness's own cluster, and waits until the fake GPU plugin's number of GPUs is
    /// advertised.
    async fn dress_ours(&self, worker: &Worker, node: &NodeSpec) -> Result<(), ClusterError> {
        // The case's nodes must have no topology domains that the case does not know.
        let mut labels: Map<String, Value> = worker
            .before
            .labels
            .keys()
            .filter(|key| key.starts_with("topology.kubernetes.io/"))
            .map(|key| (key.clone(), Value::Null))
            .collect();
        labels.extend(node.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        labels.insert(GPUS.into(), node.gpus.to_string().into());
        self.patch(&worker.name, json!({"metadata": {"labels": labels}})).await?;
        self.advertised(&worker.name, GPU, node.gpus).await
    }

    /// Waits until a kubelet advertises this amount of a resource.
    async fn advertised(&self, node: &str, resource: &str, amount: u32) -> Result<(), ClusterError> {
        let has = |node: Option<&Node>| {
            let status = node.and_then(|node| node.status.as_ref());
            let allocatable = status.and_then(|status| status.allocatable.as_ref()?.get(resource));
            allocatable.map_or("0", |quantity| quantity.0.as_str()) == amount.to_string()
        };
        let what = format!("{amount} {resource} on node {node}");
        let last = "its kubelet advertises another number; see the log of the fake GPU plugin on the node";
        deploy::await_node(&self.client, node, ADVERTISED, what, last, has).await
    }

    /// Sets how many pods each of these nodes takes.
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

    /// Takes back a pool's nodes, each independently, once no pod of the case runs on it. A node that cannot
    /// be restored is never leased again. Returns the first error.
    pub async fn release(&self, pool: &str) -> Result<(), ClusterError> {
        let Some(Lent { permits, workers }) = lock(&self.lent).remove(pool) else { return Ok(()) };
        let mut out =
            Returning { to: self, permits, left: workers.iter().map(|of| of.name.clone()).collect() };
        let coming = workers.into_iter().map(|worker| async move {
            let empty = self.emptied(&worker.name, pool).await;
            let restored = match empty {
                Ok(()) => self.undress(&worker).await,
                stays => stays,
            };
            (worker, restored)
        });
        let mut coming: FuturesUnordered<_> = coming.collect();
        let mut outcome = Ok(());
        while let Some((worker, restored)) = coming.next().await {
            match restored {
                Ok(()) => out.is_back(worker),
                Err(error) => {
                    tracing::warn!(node = worker.name, pool, %error, "failed to restore a leased node");
                    outcome = outcome.and(Err(error));
                }
            }
        }
        outcome
    }

    async fn emptied(&self, node: &str, namespace: &str) -> Result<(), ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        until_complete(format!("the deletion of all pods on node {node}"), EMPTIED, || async {
            // A watch on all pods would cost more than these few requests.
            let found = pods.list(&on_node).await;
            found
                .map(|found| names_left(&found))
                .map_err(|source| ClusterError::api(format!("list the pods on {node}"), source))
        })
        .await
    }

    /// Restores a node and reads it back.
    async fn undress(&self, worker: &Worker) -> Result<(), ClusterError> {
        match &self.real {
            Some(real) => {
                self.slots(&worker.name, None).await?;
                real.undress(&worker.name).await?;
            }
            None => self.restore(worker).await?,
        }
        self.until_as_before(worker, RESTORED).await
    }

    /// Writes the fields of a node's record that the harness may write.
    async fn restore(&self, worker: &Worker) -> Result<(), ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let failed = |source| ClusterError::api(format!("restore node {}", worker.name), source);
        for left in (0..TRIES).rev() {
            let node = nodes.get(&worker.name).await.map_err(failed)?;
            let patch = Patch::Merge(worker.before.restoring(&node));
            match nodes.patch(&worker.name, &PatchParams::default(), &patch).await {
                Err(kube::Error::Api(status)) if status.is_conflict() && left > 0 => {}
                Err(error) => return Err(failed(error)),
                Ok(node) => {
                    let Some(status) = worker.before.restoring_status(&node) else { break };
                    return deploy::patch_node_status(&self.client, &worker.name, &status).await;
                }
            }
        }
        Ok(())
    }

    /// Waits until a node matches its record. The error names each field that differs.
    async fn until_as_before(&self, worker: &Worker, limit: Duration) -> Result<(), ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let owner = if self.real.is_some() { Owner::User } else { Owner::Harness };
        until_complete(format!("the restored state of node {}", worker.name), limit, || async {
            let found = nodes.get(&worker.name).await;
            found
                .map(|node| worker.before.difference(&NodeState::of(&node), owner))
                .map_err(|source| ClusterError::api(format!("read node {}", worker.name), source))
        })
        .await
    }
}

/// Nodes that are being restored. If this is dropped early, by an error or a cancelled future, the remaining
/// nodes are lost. Their permits are lost too, so there are never more permits than nodes.
struct Returning<'a> {
    to: &'a Workers,
    permits: OwnedSemaphorePermit,
    left: BTreeSet<String>,
}

impl Returning<'_> {
    fn is_back(&mut self, worker: Worker) {
        self.left.remove(&worker.name);
        lock(&self.to.free).push(worker);
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
        tracing::warn!(nodes, left = self.to.size(), "nodes could not be restored and are no longer leased");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, Response};
    use kube::client::Body;
    use tower_test::mock;

    use super::*;

    /// Workers of a fake API server. Pods never leave the `occupied` nodes, and writes to the `broken` nodes
    /// fail.
    fn workers(
        names: &[&str],
        occupied: &'static [&'static str],
        broken: &'static [&'static str],
    ) -> Workers {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
                let name = path.rsplit('/').next().unwrap_or_default();
                let node = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}});
                let (code, body) = if request.method() == Method::GET && path.contains("/nodes/") {
                    (200, node)
                } else if request.method() == Method::GET {
                    let left =
                        occupied.iter().any(|node| query.ends_with(&format!("spec.nodeName%3D{node}")));
                    let items: &[Value] = if left { &[json!({"metadata": {"name": "p"}})] } else { &[] };
                    (200, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
                } else if broken.iter().any(|node| path.contains(node)) {
                    (500, json!({"kind": "Status", "status": "Failure", "code": 500, "message": "broken"}))
                } else {
                    (200, node)
                };
                let body = Body::from(body.to_string().into_bytes());
                send.send_response(Response::builder().status(code).body(body).unwrap());
            }
        });
        let worker = |name: &&str| Worker { name: (*name).into(), before: NodeState::default() };
        Workers {
            client: Client::new(service, "default"),
            real: None,
            size: watch::Sender::new(names.len()),
            seats: Arc::new(Semaphore::new(names.len())),
            free: Mutex::new(names.iter().map(worker).collect()),
            lent: Mutex::default(),
        }
    }

    /// Gives a pool `count` of its reserved nodes, without configuring them.
    fn lend(workers: &Workers, pool: &str, count: usize) {
        for _ in 0..count {
            let worker = lock(&workers.free).pop().unwrap();
            lock(&workers.lent).get_mut(pool).unwrap().workers.push(worker);
        }
    }

    fn free(workers: &Workers) -> Vec<String> {
        let mut names: Vec<_> = lock(&workers.free).iter().map(|worker| worker.name.clone()).collect();
        names.sort();
        names
    }

    #[rstest::rstest]
    #[case::all(&[], &[], &["a", "b", "c"])]
    #[case::one_cannot_be_restored(&[], &["b"], &["a", "c"])]
    #[case::pods_stay_on_one(&["c"], &[], &["a", "b"])]
    #[tokio::test]
    async fn each_node_comes_back_for_itself(
        #[case] occupied: &'static [&'static str],
        #[case] broken: &'static [&'static str],
        #[case] back: &[&str],
    ) {
        let workers = workers(&["a", "b", "c"], occupied, broken);
        workers.reserve("ns", 3).await.unwrap();
        lend(&workers, "ns", 3);
        if !occupied.is_empty() {
            tokio::time::pause();
        }
        assert_eq!(workers.release("ns").await.is_ok(), back.len() == 3);
        assert_eq!(
            (free(&workers), workers.size()),
            (back.iter().map(|name| (*name).to_owned()).collect(), back.len())
        );
        assert_eq!(workers.seats.available_permits(), back.len(), "a permit for each node, and no more");
        workers.reserve("next", back.len()).await.unwrap();
        if back.len() < 3 {
            assert!(workers.reserve("more", 3).await.is_err(), "there never will be so many");
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_nodes_that_are_lost() {
        let workers = workers(&["a", "b"], &[], &["a", "b"]);
        workers.reserve("ns", 2).await.unwrap();
        lend(&workers, "ns", 2);
        let (waits, _) = futures::join!(workers.reserve("next", 2), workers.release("ns"));
        assert_eq!(waits.unwrap_err().to_string(), "2 nodes are needed, 0 exist");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_for_nodes_has_a_limit() {
        let workers = workers(&["a", "b"], &[], &[]);
        workers.reserve("ns", 1).await.unwrap();
        lend(&workers, "ns", 1);
        let late = workers.reserve("next", 2).await.unwrap_err().to_string();
        assert_eq!(late, "timed out after 1800 s waiting for 2 free nodes of 2: 1 are free, ns has 1");
    }

    #[tokio::test]
    async fn what_was_not_reserved_is_not_lent() {
        let workers = workers(&["a", "b"], &[], &[]);
        let node = || NodeSpec { name: "n".into(), labels: BTreeMap::new(), taint: None, gpus: 0, pods: 1 };
        assert!(workers.add("ns", vec![node()], false).await.is_err());
        workers.reserve("ns", 1).await.unwrap();
        assert!(workers.add("ns", vec![node(), node()], false).await.is_err());
        assert_eq!(free(&workers).len(), 2, "none is lost for it");
    }

    #[tokio::test]
    async fn who_stops_waiting_for_nodes_to_come_back_loses_them() {
        let workers = workers(&["a", "b"], &["a"], &[]);
        workers.reserve("ns", 2).await.unwrap();
        lend(&workers, "ns", 2);
        let soon = tokio::time::timeout(Duration::from_millis(100), workers.release("ns")).await;
        assert!(soon.is_err());
        assert_eq!((free(&workers), workers.size()), (vec!["b".to_owned()], 1));
        assert_eq!(workers.seats.available_permits(), 1);
    }
}
