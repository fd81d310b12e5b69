//! Operations on what runs in a kind cluster, for cases about it: a node's kubelet, and the controller's replicas.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use serde_json::json;

use super::OperatorPlace;
use super::{KindCluster, in_cluster};
use crate::docker::docker;
use crate::{ClusterError, deploy};

/// A kubelet that was started talks to the API server, and the node's taints go.
const NODE_BACK: Duration = Duration::from_secs(90);
/// A pod that was deleted ends.
const POD_END: Duration = Duration::from_secs(60);
/// Annotation of a pod template that says nothing but is another one each time.
const ROLLED_AT: &str = "conformance.grove.io/rolled-at";

impl KindCluster {
    /// Runs a command on a node; what it wrote to standard output.
    ///
    /// # Errors
    /// [`ClusterError::Command`] with what it said.
    pub async fn on_node(&self, node: &str, words: &[&str]) -> Result<String, ClusterError> {
        docker(["exec", "--privileged", node].into_iter().chain(words.iter().copied())).await
    }

    /// Restarts a node's kubelet; its containers go on.
    ///
    /// # Errors
    /// [`ClusterError::Command`].
    pub async fn restart_kubelet(&self, node: &str) -> Result<(), ClusterError> {
        self.on_node(node, &["systemctl", "restart", "kubelet"]).await.map(drop)
    }

    /// Stops a node's kubelet: the node stops talking to the API server.
    ///
    /// # Errors
    /// [`ClusterError::Command`].
    pub async fn stop_kubelet(&self, node: &str) -> Result<(), ClusterError> {
        self.on_node(node, &["systemctl", "stop", "kubelet"]).await.map(drop)
    }

    /// Starts a node's kubelet again.
    ///
    /// # Errors
    /// [`ClusterError::Command`].
    pub async fn start_kubelet(&self, node: &str) -> Result<(), ClusterError> {
        self.on_node(node, &["systemctl", "start", "kubelet"]).await.map(drop)
    }

    /// Waits until a node is Ready, and no longer tainted for not having been.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`].
    pub async fn node_ready(&self, node: &str) -> Result<(), ClusterError> {
        let takes_pods = |found: Option<&Node>| {
            let conditions = found.and_then(|node| node.status.as_ref()?.conditions.as_ref());
            let taints = found.and_then(|node| node.spec.as_ref()?.taints.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            let mut taints = taints.into_iter().flatten();
            conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
                && !taints.any(|taint| taint.key.starts_with("node.kubernetes.io/"))
        };
        let last = "its kubelet was started; `journalctl --unit kubelet` in its container says more";
        deploy::await_node(&self.client(), node, NODE_BACK, format!("node {node}"), last, takes_pods).await
    }

    /// Replaces the controller's replicas as a new version of it would; returns when the last of the former ones has
    /// gone.
    ///
    /// # Errors
    /// [`ClusterError::Api`], [`ClusterError::NotReady`].
    pub async fn roll_controller(&self) -> Result<(), ClusterError> {
        let OperatorPlace { namespace, deployment: name, .. } = self.operator();
        let pods: Api<Pod> = Api::namespaced(self.client(), namespace);
        let replicas = ListParams::default().labels(&format!("app.kubernetes.io/name={name}"));
        let former = pods.list(&replicas).await;
        let former =
            former.map_err(|source| ClusterError::api(format!("list the pods of {name}"), source))?;
        let deployments: Api<Deployment> = Api::namespaced(self.client(), namespace);
        let now = jiff::Timestamp::now().to_string();
        let template = json!({"metadata": {"annotations": {(ROLLED_AT): now}}});
        let patch = Patch::Merge(json!({"spec": {"template": template}}));
        deployments
            .patch(name, &PatchParams::default(), &patch)
            .await
            .map_err(|source| ClusterError::api(format!("patch Deployment {name}"), source))?;
        in_cluster::deployment_ready(&self.client(), namespace, name).await?;
        for pod in former {
            let (pod_name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
            let gone = await_condition(pods.clone(), &pod_name, is_deleted(&uid));
            if !matches!(tokio::time::timeout(POD_END, gone).await, Ok(Ok(_))) {
                return Err(ClusterError::NotReady {
                    what: format!("the end of pod {pod_name}"),
                    seconds: POD_END.as_secs(),
                    last: "it was deleted and is still there".into(),
                });
            }
        }
        Ok(())
    }
}
