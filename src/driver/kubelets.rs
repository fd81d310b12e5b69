//! What cases do to real nodes and their kubelets, and what they read there that no API object shows. Nodes are
//! containers here: nobody would let a test suite stop kubelets elsewhere.
//!
//! Whatever a case does to its nodes is undone by [`mended`], because the next case gets the same nodes.

use conformance_cluster::ClusterError;
use conformance_cluster::kind::KindCluster;
use conformance_contract::names;
use conformance_expect::Gang;
use conformance_history::{Live, SharedMark};
use conformance_judge::kubelets;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::limits;
use crate::context::{Awaited, Stop, TestContext};

/// Runs `change`, which may break the GPUs of the case's nodes and stop their kubelets, and then mends all of them,
/// whatever came of it. The mark [`SharedMark::PutBack`] is where the mending begins.
///
/// # Errors
/// What `change` stopped with; [`Stop::Cluster`] if a node does not become as it was.
pub async fn mended(
    test: &mut TestContext,
    change: for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>,
) -> Result<(), Stop> {
    let outcome = change(test).await;
    test.mark(SharedMark::PutBack, Value::Null);
    let mut mended: Result<(), Stop> = Ok(());
    for node in &test.nodes {
        // Each of them, even if one before it failed.
        let kubelet = test.start_kubelet(&node.name).await;
        let gpus = test.mend_gpus(&node.name).await;
        mended = mended.and(kubelet).and(gpus);
    }
    mended?;
    outcome
}

impl TestContext {
    /// Waits until every pod of these PodGangs runs.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_running(&self, gangs: &[Gang]) -> Result<(), Stop> {
        let names: Vec<_> = gangs.iter().map(|gang| gang.name.as_str()).collect();
        let condition = Awaited::demanded_by("KLT-01", format!("all pods of {} running", names.join(", ")));
        let run = |live: &Live| kubelets::all_run(live, gangs).is_ok();
        self.until(condition, limits::CONTAINERS, run).await
    }

    /// Breaks GPUs of a node: those of these indices, such as `0,3`, or `all`.
    ///
    /// # Errors
    /// [`Stop::Refused`], [`Stop::Cluster`].
    pub async fn break_gpus(&self, node: &str, which: &str) -> Result<(), Stop> {
        let broken = json!({"metadata": {"annotations": {(names::UNHEALTHY_GPUS): which}}});
        self.patch("Node", node, broken).await.map(drop)
    }

    /// Mends all GPUs of a node.
    ///
    /// # Errors
    /// [`Stop::Refused`], [`Stop::Cluster`].
    pub async fn mend_gpus(&self, node: &str) -> Result<(), Stop> {
        let mended = json!({"metadata": {"annotations": {(names::UNHEALTHY_GPUS): null}}});
        self.patch("Node", node, mended).await.map(drop)
    }

    /// Sets the number of GPUs of a node.
    ///
    /// # Errors
    /// [`Stop::Refused`], [`Stop::Cluster`].
    pub async fn set_gpus(&self, node: &str, count: u64) -> Result<(), Stop> {
        let label = json!({"metadata": {"labels": {(names::GPUS): count.to_string()}}});
        self.patch("Node", node, label).await.map(drop)
    }

    /// Waits until a node's kubelet reports that many allocatable GPUs.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_allocatable(&self, node: &str, count: u64) -> Result<(), Stop> {
        let condition = format!("{count} GPUs of {node} allocatable");
        let told = |live: &Live| kubelets::gpus(live, node) == Some(count);
        self.until_in_cluster(&condition, limits::DEVICES, told).await
    }

    /// Starts a node's kubelet, if it does not run, and waits until the node takes pods.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn start_kubelet(&self, node: &str) -> Result<(), Stop> {
        let kind = self.kind()?;
        kind.start_kubelet(node).await?;
        Ok(kind.node_ready(node).await?)
    }

    /// Asks the runtimes of the case's nodes what its containers have got, and leaves the mark [`SharedMark::Allocated`].
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn read_allocations(&self) -> Result<(), Stop> {
        let kind = self.kind()?;
        let of_trial = format!("io.kubernetes.pod.namespace={}", self.namespace);
        let mut all = Vec::new();
        for node in &self.nodes {
            let running = crictl(kind, &node.name, &["ps", "--quiet", "--label", &of_trial]).await?;
            for id in running.lines().map(str::trim).filter(|id| !id.is_empty()) {
                let told = crictl(kind, &node.name, &["inspect", id]).await?;
                let container: Value = serde_json::from_str(&told).map_err(|e| ClusterError::Command {
                    command: format!("crictl inspect {id} on {}", node.name),
                    reason: e.to_string(),
                })?;
                all.push(allocation(&node.name, &container));
            }
        }
        self.mark(SharedMark::Allocated, all.into());
        Ok(())
    }
}

/// Asks a node's runtime. Its own limit, 2 s, is short on a busy machine.
async fn crictl(kind: &KindCluster, node: &str, words: &[&str]) -> Result<String, ClusterError> {
    let words = [&["crictl", "--timeout", "20s"][..], words].concat();
    kind.on_node(node, &words).await
}

/// A container as `crictl inspect` shows it, as an entry of [`SharedMark::Allocated`].
fn allocation(node: &str, container: &Value) -> Value {
    let labels = &container["status"]["labels"];
    json!({
        "node": node,
        "pod": labels["io.kubernetes.pod.name"],
        "container": labels["io.kubernetes.container.name"],
        "devices": devices(&container["info"]),
    })
}

/// The ids of the fake GPUs in a container's environment: as it runs, else as it was asked for.
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
    #[case::as_it_runs(
        json!({"runtimeSpec": {"process": {"env": ["PATH=/bin", "FAKE_GPU_DEVICES=fake-gpu-0,fake-gpu-3"]}}}),
        &["fake-gpu-0", "fake-gpu-3"]
    )]
    #[case::as_it_was_asked_for(
        json!({"config": {"envs": [{"key": "FAKE_GPU_DEVICES", "value": "fake-gpu-1"}]}}),
        &["fake-gpu-1"]
    )]
    #[case::none(json!({"runtimeSpec": {"process": {"env": ["PATH=/bin"]}}}), &[])]
    #[case::empty(json!({"runtimeSpec": {"process": {"env": ["FAKE_GPU_DEVICES="]}}}), &[])]
    fn what_a_container_has(#[case] info: Value, #[case] devices: &[&str]) {
        let wanted = json!({"node": "n", "pod": "p", "container": "c", "devices": devices});
        assert_eq!(allocation("n", &inspected(info)), wanted);
    }
}
