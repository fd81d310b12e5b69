use std::time::Duration;

use conformance_programs::docker::docker;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use serde_json::json;

use super::OperatorPlace;
use super::{KindCluster, rollout};
use crate::{ClusterError, deploy};

const NODE_READY: Duration = Duration::from_secs(90);
const POD_DELETED: Duration = Duration::from_secs(60);
/// Annotation that each rollout changes in the pod template.
const ROLLED_AT: &str = "conformance.grove.io/rolled-at";

impl KindCluster {
    pub async fn on_node(&self, node: &str, words: &[&str]) -> Result<String, ClusterError> {
        Ok(docker(["exec", "--privileged", node].into_iter().chain(words.iter().copied())).await?)
    }

    /// Restarts the kubelet. The containers on the node keep running.
    pub async fn restart_kubelet(&self, node: &str) -> Result<(), ClusterError> {
        self.on_node(node, &["systemctl", "restart", "kubelet"]).await.map(drop)
    }

    pub async fn stop_kubelet(&self, node: &str) -> Result<(), ClusterError> {
        self.on_node(node, &["systemctl", "stop", "kubelet"]).await.map(drop)
    }

    pub async fn start_kubelet(&self, node: &str) -> Result<(), ClusterError> {
        self.on_node(node, &["systemctl", "start", "kubelet"]).await.map(drop)
    }

    pub async fn node_ready(&self, node: &str) -> Result<(), ClusterError> {
        let takes_pods = |found: Option<&Node>| {
            let conditions = found.and_then(|node| node.status.as_ref()?.conditions.as_ref());
            let taints = found.and_then(|node| node.spec.as_ref()?.taints.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            let mut taints = taints.into_iter().flatten();
            conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
                && !taints.any(|taint| taint.key.starts_with("node.kubernetes.io/"))
        };
        let last = "its kubelet was started; see `journalctl --unit kubelet` in its container";
        deploy::await_node(&self.client(), node, NODE_READY, format!("node {node}"), last, takes_pods).await
    }

    /// Replaces the operator's pods, as a rollout would. Returns when all old pods are deleted.
    pub async fn roll_controller(&self) -> Result<(), ClusterError> {
        let OperatorPlace { namespace, deployment: name, .. } = self.operator();
        let pods: Api<Pod> = Api::namespaced(self.client(), namespace);
        let replicas = ListParams::default().labels(&format!("app.kubernetes.io/name={name}"));
        let former = pods.list(&replicas).await;
        let former = former.map_err(ClusterError::during(format!("list the pods of {name}")))?;
        let deployments: Api<Deployment> = Api::namespaced(self.client(), namespace);
        let now = jiff::Timestamp::now().to_string();
        let template = json!({"metadata": {"annotations": {(ROLLED_AT): now}}});
        let patch = Patch::Merge(json!({"spec": {"template": template}}));
        deployments
            .patch(name, &PatchParams::default(), &patch)
            .await
            .map_err(ClusterError::during(format!("patch Deployment {name}")))?;
        rollout::deployment_ready(&self.client(), namespace, name, rollout::ROLLOUT).await?;
        for pod in former {
            let (pod_name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
            let deleted = await_condition(pods.clone(), &pod_name, is_deleted(&uid));
            if !matches!(tokio::time::timeout(POD_DELETED, deleted).await, Ok(Ok(_))) {
                return Err(ClusterError::NotReady {
                    what: format!("the deletion of pod {pod_name}"),
                    seconds: POD_DELETED.as_secs(),
                    last: "the pod still exists".into(),
                });
            }
        }
        Ok(())
    }
}
