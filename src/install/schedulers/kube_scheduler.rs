use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::ProgramError;
use serde_json::{Value, json};

use super::deployed::Deployed;
use super::install::{
    Command, Crds, Install, ProcessHome, ProgramSource, SchedulerProcess, StartSettings, recipe,
};
use crate::gates::Gates;

pub(crate) static INSTALL: Install = Install {
    scheduler: Scheduler::KUBE,
    // The health endpoint is on a separate TLS port, so the harness does not poll it.
    processes: &[SchedulerProcess::new("kube-scheduler", USER, start)],
    programs: ProgramSource::Kubernetes,
    recipe: recipe!("kube-scheduler"),
    user: USER,
    crds: Crds::None,
    webhooks: None,
    objects: Vec::new,
    // A static pod of the control plane, in a namespace with many others.
    deployed: Deployed { namespace: "kube-system", labels: "component=kube-scheduler", deployments: &[] },
    package: None,
    configured_by: Some(&[]),
    cycle_millis: None,
};

/// The role of this user is built into Kubernetes.
pub const USER: &str = "system:kube-scheduler";

/// Leader election is off: the lease of a killed leader would delay its successor by 15 s.
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

fn start(home: &ProcessHome, settings: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let mut of_suite = configuration(&home.kubeconfig, &settings.stands_in_for);
    if settings.is_stock() {
        of_suite["clientConnection"] = json!({"kubeconfig": home.kubeconfig});
    }
    let path = home.configure("scheduler.yaml", &of_suite, settings)?;
    Ok(Command { args: args(&path, settings.gates), env: Vec::new() })
}

pub fn args(configuration: &Path, gates: &Gates) -> Vec<String> {
    let mut args =
        vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=2".into()];
    args.extend(gates.flag());
    args
}
