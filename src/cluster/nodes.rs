use std::collections::BTreeMap;

use conformance_contract::names;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

pub const PODS: u32 = 110;

/// Returns the names for a node's index: a rack has 4 nodes, and a block has 8.
pub fn rack_and_block(index: u32) -> (String, String) {
    (format!("rack-{}", index / 4), format!("block-{}", index / 8))
}

/// Annotation of a simulated node: the document that defines its template.
pub const TEMPLATE: &str = "conformance.grove.io/template";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTemplate {
    pub source: String,
    /// All labels except the hostname, the rack and the block.
    pub labels: BTreeMap<String, String>,
    /// Each taint has `key`, `effect` and, if it has one, `value`.
    pub taints: Vec<Value>,
    /// Quantities of all resources but `pods`.
    pub allocatable: BTreeMap<String, String>,
    pub pods: u32,
    /// ResourceSlices. Their node, pool and name are those of the template.
    pub slices: Vec<Value>,
    pub device_classes: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// The name, which is also the node's `kubernetes.io/hostname`.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Key and value of a `NoSchedule` taint.
    pub taint: Option<(String, String)>,
    /// Allocatable `nvidia.com/gpu`.
    pub gpus: u32,
    pub pods: u32,
    /// The template with further taints, and with the resources that replace `gpus`.
    pub template: Option<&'static NodeTemplate>,
}

impl NodeSpec {
    /// Returns the Node, which is Ready from the start and so takes pods immediately. Without a template it
    /// has 32 CPUs and 256 GiB, so that only GPUs and pods can be scarce.
    pub fn object(&self) -> Value {
        // Every kubelet sets these labels.
        let of_kubelet = [("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")];
        let mut labels = BTreeMap::from(of_kubelet.map(|(key, value)| (key.to_owned(), value.to_owned())));
        labels.extend(self.labels.clone());
        self.with_labels(labels)
    }

    /// Returns the Node without the labels by which DaemonSets such as kube-proxy select nodes. Their pods
    /// tolerate every taint, and would take room of the case.
    pub(crate) fn without_daemon_sets(&self) -> Value {
        self.with_labels(self.labels.clone())
    }

    fn with_labels(&self, mut labels: BTreeMap<String, String>) -> Value {
        labels.insert("kubernetes.io/hostname".into(), self.name.clone());
        labels.insert(names::SIMULATED.into(), "true".into());
        let mut annotations = json!({"kwok.x-k8s.io/node": "fake"});
        let least = [("cpu", "32"), ("memory", "256Gi")].into_iter();
        let mut amount: Map<_, _> = least.map(|(name, amount)| (name.to_owned(), json!(amount))).collect();
        let own =
            self.taint.iter().map(|(key, value)| json!({"key": key, "value": value, "effect": "NoSchedule"}));
        let mut taints: Vec<_> = own.collect();
        if let Some(template) = self.template {
            annotations[TEMPLATE] = template.source.as_str().into();
            let resources = template.allocatable.iter();
            amount.extend(resources.map(|(name, amount)| (name.clone(), json!(amount))));
            taints.extend(template.taints.iter().cloned());
        } else {
            amount.insert("nvidia.com/gpu".into(), json!(self.gpus.to_string()));
        }
        amount.insert("pods".into(), json!(self.pods.to_string()));
        let now = Timestamp::now().to_string();
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels, "annotations": annotations},
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_like_a_template_has_its_taints_and_resources() {
        let template: &'static NodeTemplate = Box::leak(Box::new(NodeTemplate {
            source: "nodes.yaml: document 1".into(),
            labels: BTreeMap::new(),
            taints: vec![json!({"key": "gpu", "effect": "NoSchedule"})],
            allocatable: [("cpu".to_owned(), "96".to_owned()), ("rdma/ib".to_owned(), "8".to_owned())].into(),
            pods: 30,
            slices: Vec::new(),
            device_classes: Vec::new(),
        }));
        let taint = Some(("pool".to_owned(), "n".to_owned()));
        let labels = BTreeMap::from([("kubernetes.io/arch".to_owned(), "arm64".to_owned())]);
        let spec = NodeSpec { name: "n-0".into(), labels, taint, gpus: 8, pods: 3, template: Some(template) };
        let node = spec.object();
        let amounts = json!({"cpu": "96", "memory": "256Gi", "rdma/ib": "8", "pods": "3"});
        assert_eq!(node["status"]["allocatable"], amounts);
        assert_eq!(node["status"]["capacity"], amounts);
        let keys: Vec<_> =
            node["spec"]["taints"].as_array().unwrap().iter().map(|taint| &taint["key"]).collect();
        assert_eq!(keys, ["pool", "gpu"]);
        assert_eq!(node["metadata"]["annotations"][TEMPLATE], "nodes.yaml: document 1");
        let with_daemon_sets = spec.without_daemon_sets();
        for (node, os) in [(node, Some("linux")), (with_daemon_sets, None)] {
            let labels = &node["metadata"]["labels"];
            let labels = ["kubernetes.io/os", "kubernetes.io/arch"].map(|key| labels[key].as_str());
            assert_eq!(labels, [os, Some("arm64")]);
        }
    }
}
