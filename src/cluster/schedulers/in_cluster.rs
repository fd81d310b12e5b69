//! Schedulers as Deployments, for clusters with real nodes: namespace, rights, configuration, Deployment, and
//! disruption budget.
//!
//! Their configuration is the local control plane's; only the address of the API server differs.
//! `manifests/volcano` and `manifests/koordinator` contain the same for people, written by this module's test. CRDs
//! come from the scheduler's own module.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use serde_json::{Value, json};

use super::{installation, rbac};

/// The port on which each says that it lives.
const HEALTH: u16 = 11251;

/// Where a scheduler's pods are, whoever has made them: these manifests, kubeadm, or a chart ([`super::helm`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployed {
    /// Their namespace.
    pub namespace: &'static str,
    /// Labels that tell them from others there; empty where all are its.
    pub labels: &'static str,
    /// The Deployments that are available once it works.
    pub deployments: &'static [&'static str],
}

impl Deployed {
    /// In a namespace of its own.
    pub const fn alone(namespace: &'static str, deployments: &'static [&'static str]) -> Self {
        Self { namespace, labels: "", deployments }
    }
}

/// What differs between schedulers that are made Deployments.
#[derive(Debug)]
pub(super) struct Deployment {
    /// Its configuration file.
    pub configuration: fn() -> Value,
    /// Its arguments, with the path of that file and the port on which it says on every address that it lives.
    pub args: fn(&Path, u16) -> Vec<String>,
}

/// Where the configuration file is mounted.
const FOLDER: &str = "/etc/scheduler";
const FILE: &str = "scheduler.yaml";

/// The schedulers that are made Deployments, and the program that each is made of: that of its only process.
pub(crate) fn programs() -> impl Iterator<Item = (Scheduler, &'static str)> {
    super::ALL.iter().filter_map(|install| {
        install.deployment.as_ref()?;
        Some((install.scheduler, install.processes.first()?.name))
    })
}

/// Everything but CRDs, in the order to apply it; nothing for a scheduler that is installed otherwise.
pub fn objects(scheduler: Scheduler, image: &str) -> Vec<Value> {
    let install = installation(scheduler);
    let (Some(its), [process]) = (&install.deployment, install.processes) else { return Vec::new() };
    let (name, namespace) = (scheduler.name(), install.deployed.namespace);
    let labels = json!({"app.kubernetes.io/name": name});
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
    ];
    let account = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
    objects.extend(rbac::objects_for(name, &[account], install.rights));
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        // JSON is YAML.
        "data": {(FILE): (its.configuration)().to_string()},
    }));
    objects.push(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            // Two schedulers of one name would fight for its pods.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "serviceAccountName": name,
                "priorityClassName": "system-cluster-critical",
                "securityContext": {
                    "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [{
                    "name": "scheduler",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": [process.name],
                    "args": (its.args)(&Path::new(FOLDER).join(FILE), HEALTH),
                    "env": [{"name": "DEBUG_SOCKET_DIR", "value": "/tmp"}],
                    "livenessProbe": {"httpGet": {"path": "/healthz", "port": HEALTH}, "periodSeconds": 10},
                    "readinessProbe": {"httpGet": {"path": "/healthz", "port": HEALTH}, "periodSeconds": 2},
                    "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
                    "securityContext": {
                        "allowPrivilegeEscalation": false,
                        "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "configuration", "mountPath": FOLDER, "readOnly": true},
                        {"name": "tmp", "mountPath": "/tmp"},
                    ],
                }],
                "volumes": [
                    {"name": "configuration", "configMap": {"name": name}},
                    {"name": "tmp", "emptyDir": {}},
                ],
            }},
        },
    }));
    // There is one replica, so `minAvailable: 1` would hold a drain up for ever. It may be evicted: a new one starts on
    // another node, and gangs wait until then. A pod that is not ready does not count, and without `AlwaysAllow` its
    // eviction would be refused for as long as it does not get ready.
    objects.push(json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": labels},
        },
    }));
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `WRITE_MANIFESTS=1 cargo test --lib manifests_of_schedulers` writes the files.
    #[test]
    fn manifests_of_schedulers() {
        for (scheduler, program) in programs() {
            manifests_of(scheduler, program);
        }
    }

    fn manifests_of(scheduler: Scheduler, program: &str) {
        // By the name of its module, as its folder in `components/`.
        let [component] = installation(scheduler).components() else { panic!("{scheduler:?}") };
        let folder = component.module.name;
        let mut text =
            "# Written by: WRITE_MANIFESTS=1 cargo test --lib manifests_of_schedulers\n".to_owned();
        for object in objects(scheduler, &format!("grove-conformance/{program}:dev")) {
            text.push_str("---\n");
            text.push_str(&grove_yaml::write(&object).unwrap());
        }
        let path = format!("{}/../../manifests/{folder}/scheduler.yaml", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("WRITE_MANIFESTS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
