//! Schedulers as Deployments, for clusters with real nodes. A test of this module writes the objects to
//! `manifests/volcano`, `manifests/koordinator` and `manifests/kai` for users.

use std::path::Path;
use std::sync::Arc;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::images::Image;
use serde_json::{Value, json};

use super::deployed::Deployment;
use super::descriptions::installation;
use super::given::GivenScheduler;
use super::install::{Install, SchedulerProcess};
use super::rbac;

pub use super::deployed::Deployed;

const HEALTH: u16 = 11251;

#[derive(Debug, Clone, PartialEq)]
pub struct DeployedScheduler {
    pub scheduler: Scheduler,
    pub images: Vec<Image>,
    pub given: Option<Arc<GivenScheduler>>,
}

impl DeployedScheduler {
    pub fn namespace(&self) -> &'static str {
        installation(self.scheduler).deployed.namespace
    }

    pub fn deployments(&self) -> impl Iterator<Item = &'static str> {
        self.processes().map(|(process, _)| installation(self.scheduler).name_of(process))
    }

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
            if let Some(deployment) = &process.deployment {
                objects.extend(self.objects_of(process, deployment, &image.reference));
            }
        }
        objects
    }

    fn objects_of(&self, process: &SchedulerProcess, deployment: &Deployment, image: &str) -> Vec<Value> {
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
            "containers": [self.container(process, deployment, image)],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        });
        if let Some(configuration) = deployment.configuration {
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
                // During a rolling update, two schedulers would compete for the same pods.
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }));
        // `minAvailable: 1` would block a drain indefinitely. The pod may be evicted, because gangs only wait
        // until another one starts. `AlwaysAllow` also allows it for a pod that never becomes ready.
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

    fn container(&self, process: &SchedulerProcess, deployment: &Deployment, image: &str) -> Value {
        let args = (deployment.args)(&Path::new(FOLDER).join(FILE), HEALTH);
        let args = match &self.given {
            Some(given) => given.known(process.name, args),
            None => args,
        };
        let mut mounts = vec![json!({"name": "tmp", "mountPath": "/tmp"})];
        if deployment.configuration.is_some() {
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
        if !deployment.env.is_empty() {
            let env = deployment.env.iter().map(|(name, value)| json!({"name": name, "value": value}));
            container["env"] = env.collect();
        }
        container
    }
}

const FOLDER: &str = "/etc/scheduler";
const FILE: &str = "scheduler.yaml";

pub fn programs(install: &Install) -> impl Iterator<Item = &'static str> {
    install.processes.iter().filter(|process| process.deployment.is_some()).map(|process| process.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{ALL, kai, koord_scheduler, volcano};
    use crate::testing::assert_manifests;

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

    /// `WRITE_MANIFESTS=1 cargo test -p conformance-install --lib manifests_of_schedulers` writes the files.
    #[test]
    fn manifests_of_schedulers() {
        for (scheduler, folder) in CASES {
            assert_manifests(&format!("{folder}/scheduler.yaml"), &complete(scheduler).objects());
        }
        assert_manifests("kai/queues.yaml", &(installation(kai::SCHEDULER).objects)());
    }

    #[test]
    fn every_deployable_scheduler_has_manifests() {
        let deployable = ALL.iter().filter(|install| install.is_deployable());
        assert!(deployable.map(|install| install.scheduler).eq(CASES.map(|(scheduler, _)| scheduler)));
    }

    #[test]
    fn an_optional_program_that_was_not_given_has_no_objects() {
        let mut kai = complete(kai::SCHEDULER);
        kai.images.retain(|image| image.program != "kai-podgrouper");
        assert_eq!(kai.deployments().collect::<Vec<_>>(), ["kai-scheduler", "kai-binder"]);
        assert!(!kai.objects().iter().any(|object| object.to_string().contains("podgrouper")));
    }

    #[test]
    fn a_deployment_omits_the_flags_that_its_program_does_not_know() {
        let unknown_flags = [("kai-scheduler".to_owned(), vec!["--log-json".to_owned()])].into();
        let given = GivenScheduler { programs: Vec::new(), crds: Vec::new(), unknown_flags };
        let older = DeployedScheduler { given: Some(Arc::new(given)), ..complete(kai::SCHEDULER) };
        let has_flag =
            |kai: &DeployedScheduler| Value::from(kai.objects()).to_string().contains("--log-json");
        assert_eq!((has_flag(&older), has_flag(&complete(kai::SCHEDULER))), (false, true));
    }
}
