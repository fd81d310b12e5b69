//! kube-scheduler with the gates of the Workload API.

use std::path::Path;

use serde_json::{Value, json};

use crate::cluster::local::Gates;

/// KubeSchedulerConfiguration. Leader election is off: a killed leader's lease would hold its successor up for 15 s.
pub fn configuration(kubeconfig: &Path) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
    })
}

/// Arguments of `kube-scheduler`.
pub fn args(configuration: &Path, gates: &Gates) -> Vec<String> {
    let mut args =
        vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=3".into()];
    args.extend(gates.flag());
    args
}
