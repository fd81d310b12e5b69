//! Changes to real nodes and their kubelets, and facts about them that no API object shows. The nodes are
//! kind containers. [`nodes_repaired`] undoes all changes, because the next case uses the same nodes.

use conformance_cluster::ClusterError;
use conformance_cluster::kind::KindCluster;
use conformance_contract::names;
use conformance_expect::Gang;
use conformance_facts::kubelets::{gpus, not_running};
use conformance_history::{Live, SharedMark};
use conformance_programs::ProgramError;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::limits;
use crate::context::{Awaited, Stop, TestContext};

/// Runs `change`, and then repairs the case's nodes, regardless of the outcome.
pub async fn nodes_repaired(
    test: &mut TestContext,
    change: for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>,
) -> Result<(), Stop> {
    let outcome = change(test).await;
    test.mark(SharedMark::Restored, Value::Null);
    let mut repaired: Result<(), Stop> = Ok(());
    for node in &test.nodes {
        let kubelet = test.start_kubelet(&node.name).await;
        let gpus = test.repair_gpus(&node.name).await;
        repaired = repaired.and(kubelet).and(gpus);
    }
    repaired?;
    outcome
}

impl TestContext {
    pub async fn until_running(&self, gangs: &[Gang]) -> Result<(), Stop> {
        let names: Vec<_> = gangs.iter().map(|gang| gang.name.as_str()).collect();
        let condition = Awaited::demanded_by("KLT-01", format!("all pods of {} running", names.join(", ")));
        let all_run = |live: &Live| not_running(live, gangs).next().is_none();
        self.until(condition, limits::CONTAINERS, all_run).await
    }

    /// Marks fake GPUs of a node as unhealthy. `which` is a list of indices, such as `0,3`, or `all`.
    pub async fn break_gpus(&self, node: &str, which: &str) -> Result<(), Stop> {
        let patch = json!({"metadata": {"annotations": {(names::UNHEALTHY_GPUS): which}}});
        self.patch("Node", node, patch).await.map(drop)
    }

    pub async fn repair_gpus(&self, node: &str) -> Result<(), Stop> {
        let patch = json!({"metadata": {"annotations": {(names::UNHEALTHY_GPUS): null}}});
        self.patch("Node", node, patch).await.map(drop)
    }

    pub async fn set_gpus(&self, node: &str, count: u64) -> Result<(), Stop> {
        let label = json!({"metadata": {"labels": {(names::GPUS): count.to_string()}}});
        self.patch("Node", node, label).await.map(drop)
    }

    pub async fn until_allocatable(&self, node: &str, count: u64) -> Result<(), Stop> {
        let condition = format!("{count} GPUs of node {node} allocatable");
        let is_reported = |live: &Live| gpus(live, node) == Some(count);
        self.until_in_cluster(&condition, limits::DEVICES, is_reported).await
    }

    pub async fn start_kubelet(&self, node: &str) -> Result<(), Stop> {
        let kind = self.kind()?;
        kind.start_kubelet(node).await?;
        Ok(kind.node_ready(node).await?)
    }

    /// Records which devices the runtimes gave to the case's containers, as [`SharedMark::Allocated`].
    pub async fn read_allocations(&self) -> Result<(), Stop> {
        let kind = self.kind()?;
        let of_namespace = format!("io.kubernetes.pod.namespace={}", self.namespace);
        let mut all = Vec::new();
        for node in &self.nodes {
            let running = crictl(kind, &node.name, &["ps", "--quiet", "--label", &of_namespace]).await?;
            for id in running.lines().map(str::trim).filter(|id| !id.is_empty()) {
                let output = crictl(kind, &node.name, &["inspect", id]).await?;
                let container: Value = serde_json::from_str(&output).map_err(|e| {
                    ClusterError::from(ProgramError::Command {
                        command: format!("crictl inspect {id} on {}", node.name),
                        reason: e.to_string(),
                    })
                })?;
                all.push(allocation(&node.name, &container));
            }
        }
        self.mark(SharedMark::Allocated, all.into());
        Ok(())
    }
}

/// The default timeout of crictl, 2 s, is too short on a busy machine.
async fn crictl(kind: &KindCluster, node: &str, words: &[&str]) -> Result<String, ClusterError> {
    let words = [&["crictl", "--timeout", "20s"][..], words].concat();
    kind.on_node(node, &words).await
}

fn allocation(node: &str, container: &Value) -> Value {
    let labels = &container["status"]["labels"];
    json!({
        "node": node,
        "pod": labels["io.kubernetes.pod.name"],
        "container": labels["io.kubernetes.container.name"],
        "devices": devices(&container["info"]),
    })
}

/// Returns the ids of the fake GPUs in a container's environment. The environment is read from the runtime
/// spec or, if that has none, from the container configuration.
fn devices(info: &Value) -> Vec<&str> {
    let running = info["runtimeSpec"]["process"]["env"].as_array().into_iter().flatten();
    let running = running.filter_map(|entry| entry.as_str()?.split_once('='));
    let wanted = info["config"]["envs"].as_array().into_iter().flatten();
    let wanted = wanted.filter_map(|entry| Some((entry["key"].as_str()?, entry["value"].as_str()?)));
    let found = running.chain(wanted).find(|(name, _)| *name == names::GPU_DEVICES);
    let ids = found.map_or("", |(_, ids)| ids);
    ids.split(',').map(str::trim).filter(|id| !id.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspected(info: Value) -> Value {
        let labels =
            json!({"io.kubernetes.pod.name": "p", "io.kubernetes.container.name": "c", "other": "label"});
        json!({"status": {"labels": labels}, "info": info})
    }

    #[rstest::rstest]
    #[case::running(
        json!({"runtimeSpec": {"process": {"env": ["PATH=/bin", "FAKE_GPU_DEVICES=fake-gpu-0,fake-gpu-3"]}}}),
        &["fake-gpu-0", "fake-gpu-3"]
    )]
    #[case::not_started(
        json!({"config": {"envs": [{"key": "FAKE_GPU_DEVICES", "value": "fake-gpu-1"}]}}),
        &["fake-gpu-1"]
    )]
    #[case::none(json!({"runtimeSpec": {"process": {"env": ["PATH=/bin"]}}}), &[])]
    #[case::empty(json!({"runtimeSpec": {"process": {"env": ["FAKE_GPU_DEVICES="]}}}), &[])]
    fn devices_are_read_from_the_environment_of_a_container(#[case] info: Value, #[case] devices: &[&str]) {
        let wanted = json!({"node": "n", "pod": "p", "container": "c", "devices": devices});
        assert_eq!(allocation("n", &inspected(info)), wanted);
    }
}
