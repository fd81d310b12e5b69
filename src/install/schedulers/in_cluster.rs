//! Schedulers as Deployments, for clusters with real nodes. Each scheduler has a namespace. Each of its
//! processes has RBAC objects, a configuration, a Deployment and a PodDisruptionBudget.
//!
//! The configuration is that of the local control plane; only the address of the API server differs. A test
//! of this module writes the same objects to `manifests/volcano`, `manifests/koordinator` and `manifests/kai`
//! for users. CRDs come from the scheduler's own module or checkout.

use std::path::Path;
use std::sync::Arc;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::images::Image;
use serde_json::{Value, json};

use super::given::GivenScheduler;
use super::install::{Install, SchedulerProcess};
use super::{installation, rbac};

/// The port of the health endpoints.
const HEALTH: u16 = 11251;

/// Where a scheduler's pods are, whether these manifests, kubeadm or a chart ([`super::helm`]) created them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployed {
    pub namespace: &'static str,
    /// Labels that select its pods in the namespace; empty if all pods there are its own.
    pub labels: &'static str,
    /// The Deployments that are available once it works.
    pub deployments: &'static [&'static str],
}

impl Deployed {
    /// A scheduler in a namespace of its own.
    pub const fn alone(namespace: &'static str, deployments: &'static [&'static str]) -> Self {
        Self { namespace, labels: "", deployments }
    }
}

/// The differences between processes that become Deployments.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub configuration: Option<fn() -> Value>,
    /// The arguments, from the path of the configuration file and the port of the health endpoint on all
    /// addresses.
    pub args: fn(&Path, u16) -> Vec<String>,
    pub env: &'static [(&'static str, &'static str)],
}

/// A scheduler that becomes Deployments, with the images of its programs.
#[derive(Debug, Clone, PartialEq)]
pub struct DeployedScheduler {
    pub scheduler: Scheduler,
    /// One image per process.
    pub images: Vec<Image>,
    /// The scheduler as the user gave it, if the programs are the user's.
    pub given: Option<Arc<GivenScheduler>>,
}

impl DeployedScheduler {
    pub fn namespace(&self) -> &'static str {
        installation(self.scheduler).deployed.namespace
    }

    /// The Deployments, one per image.
    pub fn deployments(&self) -> impl Iterator<Item = &'static str> {
        self.processes().map(|(process, _)| installation(self.scheduler).name_of(process))
    }

    /// The processes that have an image, with that image.
    fn processes(&self) -> impl Iterator<Item = (&'static SchedulerProcess, &Image)> {
        let image_of =
            |process: &SchedulerProcess| self.images.iter().find(|one| one.program == process.name);
        installation(self.scheduler)
            .processes
            .iter()
            .filter_map(move |process| Some((process, image_of(process)?)))
    }

    /// All objects except CRDs and custom resources, in the order to apply them.
    pub fn objects(&self) -> Vec<Value> {
        let namespace = self.namespace();
        let mut objects =
            vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})];
        for (process, image) in self.processes() {
            if let Some(its) = &process.deployment {
                objects.extend(self.objects_of(process, its, &image.reference));
            }
        }
        objects
    }

    fn objects_of(&self, process: &SchedulerProcess, its: &Deployment, image: &str) -> Vec<Value> {
        let name = installation(self.scheduler).name_of(process);
        let namespace = self.namespace();
        let labels = json!({"app.kubernetes.io/name": name});
        let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
        let account = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
        let mut objects = vec![json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})];
        objects.extend(rbac::objects(name, &account, process.rights));
        let mut pod = json!({
            "serviceAccountName": name,
            "priorityClassName": "system-cluster-critical",
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [self.container(process, its, image)],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        });
        if let Some(configuration) = its.configuration {
            objects.push(json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                // JSON is valid YAML.
                "data": {(FILE): configuration().to_string()},
            }));
            pod["volumes"] = json!([
                {"name": "configuration", "configMap": {"name": name}},
                {"name": "tmp", "emptyDir": {}},
            ]);
        }
        objects.push(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                // Two schedulers with the same name would compete for the same pods.
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }));
        // With one replica, `minAvailable: 1` would block a drain indefinitely. This pod may be evicted: a
        // new one starts on another node, and gangs wait until then. Without `AlwaysAllow`, a pod that never
        // becomes ready could not be evicted.
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

    fn container(&self, process: &SchedulerProcess, its: &Deployment, image: &str) -> Value {
        let args = (its.args)(&Path::new(FOLDER).join(FILE), HEALTH);
        let args = match &self.given {
            Some(given) => given.known(process.name, args),
            None => args,
        };
        let mut mounts = vec![json!({"name": "tmp", "mountPath": "/tmp"})];
        if its.configuration.is_some() {
            mounts.insert(0, json!({"name": "configuration", "mountPath": FOLDER, "readOnly": true}));
        }
        let mut container = json!({
            "name": process.name,
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "command": [process.name],
            "args": args,
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": mounts,
        });
        if let Some(path) = process.health {
            let get = json!({"path": path, "port": HEALTH});
            container["livenessProbe"] = json!({"httpGet": get, "periodSeconds": 10});
            container["readinessProbe"] = json!({"httpGet": get, "periodSeconds": 2});
        }
        if !its.env.is_empty() {
            let env = its.env.iter().map(|(name, value)| json!({"name": name, "value": value}));
            container["env"] = env.collect();
        }
        container
    }
}

/// Where the configuration file is mounted.
const FOLDER: &str = "/etc/scheduler";
const FILE: &str = "scheduler.yaml";

/// The programs of a scheduler that become Deployments, in the order of their processes.
pub fn programs(install: &Install) -> impl Iterator<Item = &'static str> {
    install.processes.iter().filter(|process| process.deployment.is_some()).map(|process| process.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{ALL, kai, koord_scheduler, volcano};

    const CASES: [(Scheduler, &str); 3] = [
        (volcano::SCHEDULER, "volcano"),
        (koord_scheduler::SCHEDULER, "koordinator"),
        (kai::SCHEDULER, "kai"),
    ];

    fn complete(scheduler: Scheduler) -> DeployedScheduler {
        let image = |program: &str| Image {
            program: program.into(),
            reference: format!("grove-conformance/{program}:dev"),
            bytes: 0,
        };
        let images = programs(installation(scheduler)).map(image).collect();
        DeployedScheduler { scheduler, images, given: None }
    }

    fn is_written(file: &str, objects: &[Value]) {
        let mut text =
            "# Written by: WRITE_MANIFESTS=1 cargo test -p conformance-install --lib manifests_of_schedulers\n".to_owned();
        for object in objects {
            text.push_str("---\n");
            text.push_str(&grove_yaml::write(object).unwrap());
        }
        let path = format!("{}/../../manifests/{file}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("WRITE_MANIFESTS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{path}");
    }

    /// Regenerate the files with
    /// `WRITE_MANIFESTS=1 cargo test -p conformance-install --lib manifests_of_schedulers`.
    #[test]
    fn manifests_of_schedulers() {
        for (scheduler, folder) in CASES {
            is_written(&format!("{folder}/scheduler.yaml"), &complete(scheduler).objects());
        }
        is_written("kai/queues.yaml", &(installation(kai::SCHEDULER).objects)());
    }

    #[test]
    fn every_scheduler_that_becomes_deployments_has_manifests() {
        let deployable = ALL.iter().filter(|install| install.is_deployable());
        assert!(deployable.map(|install| install.scheduler).eq(CASES.map(|(scheduler, _)| scheduler)));
    }

    #[test]
    fn a_program_that_was_not_given_has_no_objects() {
        let mut kai = complete(kai::SCHEDULER);
        kai.images.retain(|image| image.program != "kai-podgrouper");
        assert_eq!(kai.deployments().collect::<Vec<_>>(), ["kai-scheduler", "kai-binder"]);
        assert!(!kai.objects().iter().any(|object| object.to_string().contains("podgrouper")));
    }

    #[test]
    fn a_release_is_not_started_with_a_flag_that_it_does_not_have() {
        let unknown_flags = [("kai-scheduler".to_owned(), vec!["--log-json".to_owned()])].into();
        let given = GivenScheduler { programs: Vec::new(), crds: Vec::new(), unknown_flags };
        let older = DeployedScheduler { given: Some(Arc::new(given)), ..complete(kai::SCHEDULER) };
        let knows = |kai: &DeployedScheduler| Value::from(kai.objects()).to_string().contains("--log-json");
        assert_eq!((knows(&older), knows(&complete(kai::SCHEDULER))), (false, true));
    }
}
