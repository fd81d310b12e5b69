use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::pods::{Request, Resource};

/// A node of a pair. Unlisted CPU and memory exceed what any pair needs; it has no other unlisted resource.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    labels: Map<String, Value>,
    taints: Vec<Value>,
    allocatable: Map<String, Value>,
}

impl Node {
    /// A node with room for exactly `pods` such pods: the rest of one resource is too small for another pod.
    pub(super) fn with_room(rng: &mut Rng, requests: &[Request], pods: u64) -> Self {
        let mut node = Self::default();
        let scarce = rng.usize(0..requests.len());
        for (index, (resource, requested)) in requests.iter().enumerate() {
            let more = if index == scarce { 0 } else { rng.u64(1..=3) };
            node.set_for(rng, *resource, *requested, pods + more);
        }
        node
    }

    /// A node that holds no pod, because it has too little of one resource.
    pub(super) fn without_room(rng: &mut Rng, requests: &[Request]) -> Self {
        let mut node = Self::with_room(rng, requests, 4);
        let (resource, requested) = requests[rng.usize(0..requests.len())];
        node.set_for(rng, resource, requested, 0);
        node
    }

    /// Gives the node enough of a resource for `pods` pods, but not for one more.
    pub(super) fn set_for(&mut self, rng: &mut Rng, resource: Resource, requested: u64, pods: u64) {
        let amount = pods * requested + rng.u64(0..requested);
        let quantity = resource.quantity(rng, amount);
        self.allocatable.insert(resource.name().to_owned(), quantity.into());
    }

    pub(super) fn set_pods(&mut self, pods: u64) {
        self.allocatable.insert("pods".to_owned(), pods.to_string().into());
    }

    pub(super) fn label(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.labels.insert(key.to_owned(), value.into());
        }
    }

    pub(super) fn taint(&mut self, key: &str, value: &str, effect: &str) {
        self.taints.push(json!({"key": key, "value": value, "effect": effect}));
    }

    pub(super) fn object(&self, index: usize) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n-{index}"), "labels": self.labels},
            "spec": {"taints": self.taints},
            "status": {"allocatable": self.allocatable},
        })
    }
}

/// Nodes with room for `pods` pods in total, for at most four each.
pub(super) fn holding(rng: &mut Rng, requests: &[Request], pods: u64) -> Vec<Node> {
    let parts = split(rng, pods);
    parts.into_iter().map(|part| Node::with_room(rng, requests, part)).collect()
}

pub(super) fn split(rng: &mut Rng, sum: u64) -> Vec<u64> {
    let (mut parts, mut left) = (Vec::new(), sum);
    while left > 0 {
        let part = rng.u64(1..=left.min(4));
        parts.push(part);
        left -= part;
    }
    parts
}
