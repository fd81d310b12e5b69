use std::path::Path;

use serde_json::Value;

/// Where a scheduler runs in a cluster with real nodes: objects of the suite, kubeadm or a Helm chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployed {
    pub namespace: &'static str,
    /// Empty if all pods in the namespace belong to the scheduler.
    pub labels: &'static str,
    pub deployments: &'static [&'static str],
}

impl Deployed {
    pub const fn alone(namespace: &'static str, deployments: &'static [&'static str]) -> Self {
        Self { namespace, labels: "", deployments }
    }
}

#[derive(Debug)]
pub(crate) struct Deployment {
    pub configuration: Option<fn() -> Value>,
    /// The arguments for a configuration file and the port of the health endpoint, which is on all addresses.
    pub args: fn(&Path, u16) -> Vec<String>,
    pub env: &'static [(&'static str, &'static str)],
}
