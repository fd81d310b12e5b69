//! Configures a leased node for a case, and restores it afterwards. No API client can set the `pods` capacity
//! that a kubelet advertises. If the number of pods matters, the extended resource [`SLOTS`] replaces it.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::{GPU, GPUS, SLOTS, Worker, Workers};
use crate::node_state::{NodeState, Owner};
use crate::nodes::NodeSpec;
use crate::polling::{names_left, until_complete};
use crate::{ClusterError, deploy};

/// How long the device plugin may take to react and the kubelet to update the node.
const ADVERTISED: Duration = Duration::from_secs(30);
/// Limit of the restoration. A case may have stopped the kubelet, which also changes conditions and taints.
const RESTORED: Duration = Duration::from_secs(60);
/// How long a kubelet on a busy machine may take to report.
const UNCHANGED: Duration = Duration::from_secs(10);
/// How often a conflicting patch is tried. Kubelets and controllers write to nodes too.
const TRIES: u32 = 5;
/// How long the pods of an ended case may take to be deleted.
const PODS_DELETED: Duration = Duration::from_secs(60);

impl Workers {
    /// Configures a worker for a case. The node has [`SLOTS`] if its pods are `scarce`.
    pub(super) async fn configure(
        &self,
        worker: Worker,
        node: NodeSpec,
        scarce: bool,
    ) -> Result<NodeSpec, ClusterError> {
        self.until_restored(&worker, UNCHANGED).await?;
        let taints: Vec<_> = node
            .taint
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}))
            .collect();
        if scarce {
            self.set_slots(&worker.name, Some(node.pods)).await?;
            self.advertised(&worker.name, SLOTS, node.pods).await?;
        }
        // Replace the taint last, so that waiting pods cannot be bound to GPUs that the node will lose.
        if let Some(real) = &self.real {
            let labels = node.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
            real.limit_free_gpus(&worker.name, node.gpus).await?;
            real.configure(&worker.name, labels, taints.into()).await?;
        } else {
            self.set_labels(&worker, &node).await?;
            deploy::patch_node(&self.client, &worker.name, &json!({"spec": {"taints": taints}})).await?;
        }
        Ok(NodeSpec { name: worker.name, ..node })
    }

    /// Labels a node of the harness's own cluster, and waits until its kubelet advertises the requested GPUs.
    async fn set_labels(&self, worker: &Worker, node: &NodeSpec) -> Result<(), ClusterError> {
        let mut labels: Map<String, Value> = worker
            .before
            .labels
            .keys()
            .filter(|key| key.starts_with("topology.kubernetes.io/"))
            .map(|key| (key.clone(), Value::Null))
            .collect();
        labels.extend(node.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())));
        labels.insert(GPUS.into(), node.gpus.to_string().into());
        deploy::patch_node(&self.client, &worker.name, &json!({"metadata": {"labels": labels}})).await?;
        self.advertised(&worker.name, GPU, node.gpus).await
    }

    pub(super) async fn advertised(
        &self,
        node: &str,
        resource: &str,
        amount: u32,
    ) -> Result<(), ClusterError> {
        let has = |node: Option<&Node>| {
            let status = node.and_then(|node| node.status.as_ref());
            let allocatable = status.and_then(|status| status.allocatable.as_ref()?.get(resource));
            allocatable.map_or("0", |quantity| quantity.0.as_str()) == amount.to_string()
        };
        let what = format!("{amount} {resource} on node {node}");
        let last = "its kubelet advertises another number; see the log of the fake GPU plugin on the node";
        deploy::await_node(&self.client, node, ADVERTISED, what, last, has).await
    }

    pub async fn set_pods(&self, nodes: &[NodeSpec], pods: u32) -> Result<(), ClusterError> {
        for node in nodes {
            self.set_slots(&node.name, Some(pods)).await?;
            self.advertised(&node.name, SLOTS, pods).await?;
        }
        Ok(())
    }

    async fn set_slots(&self, node: &str, amount: Option<u32>) -> Result<(), ClusterError> {
        let amount = json!({(SLOTS): amount.map(|amount| amount.to_string())});
        let status = json!({"status": {"capacity": amount, "allocatable": amount}});
        deploy::patch_node_status(&self.client, node, &status).await.map(drop)
    }

    pub(super) async fn until_without_pods(&self, node: &str, namespace: &str) -> Result<(), ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        until_complete(format!("the deletion of all pods on node {node}"), PODS_DELETED, || async {
            // Poll, because a watch on all pods would cost more than a few requests.
            let found = pods.list(&on_node).await;
            found
                .map(|found| names_left(&found))
                .map_err(ClusterError::during(format!("list the pods on {node}")))
        })
        .await
    }

    pub(super) async fn restore(&self, worker: &Worker) -> Result<(), ClusterError> {
        match &self.real {
            Some(real) => {
                self.set_slots(&worker.name, None).await?;
                real.restore(&worker.name).await?;
            }
            None => self.restore_record(worker).await?,
        }
        self.until_restored(worker, RESTORED).await
    }

    /// Restores a node of the harness's own cluster, except for the fields that Kubernetes itself writes.
    async fn restore_record(&self, worker: &Worker) -> Result<(), ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let failed = |source| ClusterError::api(format!("restore node {}", worker.name), source);
        for retries_left in (0..TRIES).rev() {
            let node = nodes.get(&worker.name).await.map_err(failed)?;
            let patch = Patch::Merge(worker.before.restoring(&node));
            match nodes.patch(&worker.name, &PatchParams::default(), &patch).await {
                Err(kube::Error::Api(status)) if status.is_conflict() && retries_left > 0 => {}
                Err(error) => return Err(failed(error)),
                Ok(node) => {
                    let Some(status) = worker.before.restoring_status(&node) else { break };
                    return deploy::patch_node_status(&self.client, &worker.name, &status).await.map(drop);
                }
            }
        }
        Ok(())
    }

    /// Waits until the node has its recorded state. A timeout reports each field that differs.
    async fn until_restored(&self, worker: &Worker, limit: Duration) -> Result<(), ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let owner = if self.real.is_some() { Owner::User } else { Owner::Harness };
        until_complete(format!("the restored state of node {}", worker.name), limit, || async {
            let found = nodes.get(&worker.name).await;
            found
                .map(|node| worker.before.difference(&NodeState::of(&node), owner))
                .map_err(ClusterError::during(format!("read node {}", worker.name)))
        })
        .await
    }
}
