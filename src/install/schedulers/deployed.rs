//! Where a scheduler's pods are in a cluster with real nodes, and how its processes become Deployments.

use std::path::Path;

use serde_json::Value;

/// Where a scheduler's pods are. Our manifests, kubeadm or a Helm chart created them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployed {
    pub namespace: &'static str,
    /// Empty if all pods in the namespace belong to the scheduler.
    pub labels: &'static str,
    /// The Deployments that are available once the scheduler works.
    pub deployments: &'static [&'static str],
}

impl Deployed {
    /// A scheduler whose namespace has no other pods.
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
