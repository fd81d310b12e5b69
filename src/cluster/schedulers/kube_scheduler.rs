//! kube-scheduler with the gates of the Workload API.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use serde_json::{Value, json};

use super::{Crds, Install};
use crate::local::{Gates, Part};

/// What it needs: nothing that a cluster has not by itself.
pub(super) static INSTALL: Install = Install {
    scheduler: Scheduler::Kube,
    parts: &[Part::KubeScheduler],
    user: USER,
    users: &[],
    rights: &[],
    crds: Crds::None,
    package: None,
    objects: Vec::new,
};

/// Its `schedulerName`.
pub const NAME: &str = "default-scheduler";
/// Its user, whose role is built into Kubernetes.
pub const USER: &str = "system:kube-scheduler";

/// KubeSchedulerConfiguration. Leader election is off: a killed leader's lease would hold its successor up for 15 s.
/// `stands_in_for` names schedulers whose pods it binds too, one by one: one more profile each.
pub fn configuration(kubeconfig: &Path, stands_in_for: &[&str]) -> Value {
    let mut configuration = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
    });
    if !stands_in_for.is_empty() {
        let profiles: Vec<_> =
            [NAME].iter().chain(stands_in_for).map(|name| json!({"schedulerName": name})).collect();
        configuration["profiles"] = Value::Array(profiles);
    }
    configuration
}

/// Arguments of `kube-scheduler`.
pub fn args(configuration: &Path, gates: &Gates) -> Vec<String> {
    let mut args =
        vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=3".into()];
    args.extend(gates.flag());
    args
}
