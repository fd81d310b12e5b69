//! kube-scheduler with the gates of the Workload API.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use serde_json::{Value, json};

use super::in_cluster::Deployed;
use super::install::{Command, Crds, Install, ProcessHome, ProgramSource, SchedulerProcess, recipe};
use crate::ClusterError;
use crate::cluster_spec::{ClusterSpec, Gates};

/// What it needs: nothing that a cluster has not by itself.
pub(crate) static INSTALL: Install = Install {
    scheduler: Scheduler::KUBE,
    // Its health is on a port with TLS of its own; it is ready before anybody has made a pod.
    processes: &[SchedulerProcess {
        name: "kube-scheduler",
        user: USER,
        rights: &[],
        local_rights: &[],
        health: None,
        optional: None,
        start,
        deployment: None,
    }],
    programs: ProgramSource::Kubernetes,
    recipe: recipe!("kube-scheduler"),
    user: USER,
    crds: Crds::None,
    objects: Vec::new,
    // A static pod of the control plane, one of many in its namespace.
    deployed: Deployed { namespace: "kube-system", labels: "component=kube-scheduler", deployments: &[] },
    package: None,
};

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
        let profiles: Vec<_> = [Scheduler::KUBE.name()]
            .iter()
            .chain(stands_in_for)
            .map(|name| json!({"schedulerName": name}))
            .collect();
        configuration["profiles"] = Value::Array(profiles);
    }
    configuration
}

fn start(place: &ProcessHome, spec: &ClusterSpec) -> Result<Command, ClusterError> {
    let path = place.write("scheduler.yaml", &configuration(&place.kubeconfig, &spec.stood_in_for()))?;
    Ok(Command { args: args(&path, &spec.scheduler_gates), env: Vec::new() })
}

/// Arguments of `kube-scheduler`.
pub fn args(configuration: &Path, gates: &Gates) -> Vec<String> {
    let mut args =
        vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=2".into()];
    args.extend(gates.flag());
    args
}
