//! kube-scheduler with the feature gates of the Workload API.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::ProgramError;
use serde_json::{Value, json};

use super::in_cluster::Deployed;
use super::install::{Command, Crds, Install, ProcessHome, ProgramSource, SchedulerProcess, recipe};
use crate::cluster_spec::{ClusterSpec, Gates};

/// kube-scheduler needs nothing in addition to what a cluster has.
pub(crate) static INSTALL: Install = Install {
    scheduler: Scheduler::KUBE,
    // There is no health check: the endpoint is on a separate TLS port. kube-scheduler is ready before the
    // first pod is created.
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
    // A static pod of the control plane, in a namespace with many others.
    deployed: Deployed { namespace: "kube-system", labels: "component=kube-scheduler", deployments: &[] },
    package: None,
};

/// Its role is built into Kubernetes.
pub const USER: &str = "system:kube-scheduler";

/// KubeSchedulerConfiguration. Leader election is off: the lease of a killed leader would delay its successor
/// by 15 s. `stands_in_for` names schedulers whose pods kube-scheduler binds too, one by one; each adds a
/// profile.
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

fn start(place: &ProcessHome, spec: &ClusterSpec) -> Result<Command, ProgramError> {
    let path = place.write("scheduler.yaml", &configuration(&place.kubeconfig, &spec.stood_in_for()))?;
    Ok(Command { args: args(&path, &spec.scheduler_gates), env: Vec::new() })
}

pub fn args(configuration: &Path, gates: &Gates) -> Vec<String> {
    let mut args =
        vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=2".into()];
    args.extend(gates.flag());
    args
}
