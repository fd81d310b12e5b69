//! Nodes as a case asks for them, made of API objects alone; KWOK plays their kubelets.
//!
//! A node is created with its capacity and `Ready`, so it can take pods from its first resourceVersion on.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// The pods that a node takes by default, as with a kubelet.
pub const PODS: u32 = 110;

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name, and its `kubernetes.io/hostname`.
    pub name: String,
    /// Labels on top of the hostname.
    pub labels: BTreeMap<String, String>,
    /// Taint `KEY=VALUE:NoSchedule`, so that only pods that tolerate it come here.
    pub taint: Option<(String, String)>,
    /// Allocatable `nvidia.com/gpu`.
    pub gpus: u32,
    /// Allocatable pods.
    pub pods: u32,
}

impl NodeSpec {
    /// The v1 Node. CPU and memory are ample (32 cores, 256 GiB): GPUs and pods are what is scarce in a case.
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
