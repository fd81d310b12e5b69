//! Nodes as a case requests them. A simulated node is created with its capacity and the condition `Ready`, so
//! that it takes pods immediately.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// The default number of pods of a node, as with a kubelet.
pub const PODS: u32 = 110;

/// The names of the rack and the block of the node at this index. A rack has 4 nodes, and a block has 8.
pub fn rack_and_block(index: u32) -> (String, String) {
    (format!("rack-{}", index / 4), format!("block-{}", index / 8))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// The name, which is also the node's `kubernetes.io/hostname`.
    pub name: String,
    /// Labels in addition to the hostname.
    pub labels: BTreeMap<String, String>,
    /// Taint `KEY=VALUE:NoSchedule`: only pods that tolerate it are scheduled here.
    pub taint: Option<(String, String)>,
    /// Allocatable `nvidia.com/gpu`.
    pub gpus: u32,
    pub pods: u32,
}

impl NodeSpec {
    /// The Node of a simulated node. It has 32 CPUs and 256 GiB, so only GPUs and pods can be scarce in a
    /// case.
    pub fn object(&self) -> Value {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".into(), self.name.clone());
        let amount = json!({
            "cpu": "32", "memory": "256Gi", "pods": self.pods.to_string(), "nvidia.com/gpu": self.gpus.to_string(),
        });
        let taints: Vec<_> = self
            .taint
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}))
            .collect();
        let now = Timestamp::now().to_string();
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"taints": taints},
            "status": {
                "phase": "Running",
                "allocatable": amount,
                "capacity": amount,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated by KWOK",
                    "lastHeartbeatTime": now, "lastTransitionTime": now,
                }],
            },
        })
    }
}
