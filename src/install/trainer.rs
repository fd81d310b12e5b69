//! The Kubeflow Trainer on a local control plane: the trainer, JobSet, and the trainer's KAI plugin, each
//! with a user that has only its own role. Webhooks have URLs, and certificates of the cluster's CA.

use std::path::Path;
use std::sync::Arc;

use conformance_programs::components::{Component, Module, ModuleFiles, Purpose, source};
use conformance_programs::own_program::{OwnProgram, TRAINER_PLUGIN};
use conformance_programs::{ProgramError, module};
use serde_json::{Value, json};

use crate::given_trainer::{BASE, GivenTrainer, MANIFESTS};
use crate::manifests::read;
use crate::schedulers::{Command, ProcessHome, SchedulerProcess, StartSettings, WebhookServer};

#[derive(Debug, Clone, PartialEq)]
pub struct TrainerSpec {
    pub plugin: bool,
    pub given: Option<Arc<GivenTrainer>>,
}

static MODULE: Module = module!("kubeflow-trainer", "-s -w");

pub(crate) static COMPONENTS: [Component; 2] = [
    Component {
        name: "trainer-controller-manager",
        version: "v2.3.0",
        package: "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
        module: &MODULE,
        purpose: Purpose::Trainer,
    },
    Component {
        name: "jobset",
        version: "v0.12.0",
        package: "sigs.k8s.io/jobset",
        module: &MODULE,
        purpose: Purpose::Trainer,
    },
];

/// In start order. Their roles come from the trainer's own manifests.
pub(crate) static PROCESSES: [SchedulerProcess; 3] = [
    SchedulerProcess {
        health: READY,
        ..SchedulerProcess::new(COMPONENTS[1].name, JOB_SET_USER, start_job_set)
    },
    SchedulerProcess {
        health: READY,
        ..SchedulerProcess::new(COMPONENTS[0].name, TRAINER_USER, start_trainer)
    },
    SchedulerProcess { health: READY, ..SchedulerProcess::new(TRAINER_PLUGIN, PLUGIN_USER, start_plugin) },
];

const JOB_SET_USER: &str = "system:serviceaccount:jobset-system:jobset-controller-manager";
const TRAINER_USER: &str = "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager";
const PLUGIN_USER: &str = "system:serviceaccount:trainer-kai-plugin:trainer-kai-plugin";

const JOB_SET_BASE: &str = "config/components";
/// The manifests that the harness reads, below [`JOB_SET_BASE`].
const JOB_SET_MANIFESTS: [&str; 6] = [
    "crd/bases/jobset.x-k8s.io_jobsets.yaml",
    "rbac/role.yaml",
    "webhook/manifests.yaml",
    "webhook/kustomization.yaml",
    "webhook/patches/mutating-patch.yaml",
    "webhook/patches/validating-patch.yaml",
];
/// The patches that the kustomization of the pinned trainer lists, below [`BASE`].
const TRAINER_PATCHES: [&str; 2] = ["webhook/patch_mutating.yaml", "webhook/patch_validating.yaml"];

pub(crate) fn module_files() -> [ModuleFiles; 2] {
    let trainer = MANIFESTS.iter().chain(&TRAINER_PATCHES).map(|file| format!("{BASE}/{file}"));
    let job_set = JOB_SET_MANIFESTS.iter().map(|file| format!("{JOB_SET_BASE}/{file}"));
    [
        ModuleFiles { component: &COMPONENTS[0], files: trainer.collect() },
        ModuleFiles { component: &COMPONENTS[1], files: job_set.collect() },
    ]
}

const READY: Option<&str> = Some("/readyz");

fn start_trainer(home: &ProcessHome, _: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let config = home.write("config.yaml", &trainer_configuration(home))?;
    let temporary = ("TMPDIR".to_owned(), home.folder.display().to_string());
    Ok(Command {
        args: vec![format!("--config={}", config.display())],
        env: vec![kubeconfig(home), temporary],
    })
}

/// The trainer has no setting for the folder of its certificates. It uses controller-runtime's, below TMPDIR.
pub(crate) fn trainer_configuration(home: &ProcessHome) -> Value {
    json!({
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": false},
        "certManagement": {"enable": false},
        "webhook": {"host": "127.0.0.1", "port": home.other},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": format!("127.0.0.1:{}", home.health)},
        "clientConnection": {"qps": 500, "burst": 1000},
    })
}

fn start_job_set(home: &ProcessHome, _: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let config = home.write("config.yaml", &job_set_configuration(home))?;
    let args = vec![
        format!("--config={}", config.display()),
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
    ];
    Ok(Command { args, env: vec![kubeconfig(home)] })
}

pub(crate) fn job_set_configuration(home: &ProcessHome) -> Value {
    let folder = home.certificate_folder();
    json!({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": false},
        "internalCertManagement": {"enable": false},
        "webhook": {"host": "127.0.0.1", "port": home.other, "certDir": folder.display().to_string()},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": format!("127.0.0.1:{}", home.health)},
    })
}

fn start_plugin(home: &ProcessHome, _: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let [certificate, key] = home.certificates();
    let args = vec![
        "run".into(),
        format!("--kubeconfig={}", home.kubeconfig.display()),
        format!("--webhook-bind=127.0.0.1:{}", home.other),
        format!("--tls-cert={}", certificate.display()),
        format!("--tls-key={}", key.display()),
        format!("--health-bind=127.0.0.1:{}", home.health),
    ];
    Ok(Command { args, env: vec![("NO_COLOR".into(), "1".into())] })
}

fn kubeconfig(home: &ProcessHome) -> (String, String) {
    ("KUBECONFIG".into(), home.kubeconfig.display().to_string())
}

/// `webhooks` has the port of each process's webhooks, in start order.
pub async fn objects(
    spec: &TrainerSpec,
    program: &OwnProgram,
    ca_bundle: &str,
    webhooks: [u16; 3],
) -> Result<Vec<Value>, ProgramError> {
    let trainer_base = match &spec.given {
        Some(given) => given.manifests.clone(),
        None => source(&COMPONENTS[0]).await?.join(BASE),
    };
    let job_set_base = source(&COMPONENTS[1]).await?.join(JOB_SET_BASE);
    objects_in(&trainer_base, &job_set_base, spec.plugin.then_some(program), ca_bundle, webhooks).await
}

async fn objects_in(
    base: &Path,
    job_set_base: &Path,
    plugin: Option<&OwnProgram>,
    ca_bundle: &str,
    webhooks: [u16; 3],
) -> Result<Vec<Value>, ProgramError> {
    let [job_set, trainer, plugin_server] = webhooks.map(|port| WebhookServer { port, ca_bundle });
    let mut crds = Vec::new();
    for kind in ["trainjobs", "trainingruntimes", "clustertrainingruntimes"] {
        crds.extend(read(&base.join(format!("crds/trainer.kubeflow.org_{kind}.yaml")))?);
    }
    let mut objects = read(&job_set_base.join("crd/bases/jobset.x-k8s.io_jobsets.yaml"))?;
    objects.extend(role(&job_set_base.join("rbac/role.yaml"), "jobset-manager-role", PROCESSES[0].user)?);
    objects.extend(role(&base.join("rbac/role.yaml"), PROCESSES[1].name, PROCESSES[1].user)?);
    for (folder, prefix, server) in
        [(job_set_base.join("webhook"), "jobset-", job_set), (base.join("webhook"), "", trainer)]
    {
        for mut configuration in webhook_configurations(&folder)? {
            let name = format!("{prefix}{}", configuration["metadata"]["name"].as_str().unwrap_or_default());
            configuration["metadata"]["name"] = name.into();
            server.set_in(&mut configuration);
            objects.push(configuration);
        }
    }
    if let Some(program) = plugin {
        let patch: json_patch::Patch = serde_json::from_str(&program.printed("crd-patch", Vec::new()).await?)
            .map_err(|error| unreadable(Path::new(TRAINER_PLUGIN), &error))?;
        let has_policy = |crd: &&mut Value| crd["spec"]["names"]["kind"] != "TrainJob";
        for crd in crds.iter_mut().filter(has_policy) {
            json_patch::patch(crd, &patch).map_err(|error| unreadable(Path::new(TRAINER_PLUGIN), &error))?;
        }
        let manifests = program.manifests([]).await?;
        let is_of_pods = |object: &Value| object["kind"] == "Deployment" || object["kind"] == "Service";
        for mut object in manifests.into_iter().filter(|object| !is_of_pods(object)) {
            plugin_server.set_in(&mut object);
            objects.push(object);
        }
    }
    crds.extend(objects);
    Ok(crds)
}

fn role(path: &Path, name: &str, user: &str) -> Result<Vec<Value>, ProgramError> {
    let mut objects = read(path)?;
    for role in &mut objects {
        role["metadata"]["name"] = name.into();
    }
    let group = "rbac.authorization.k8s.io";
    objects.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }));
    Ok(objects)
}

fn webhook_configurations(folder: &Path) -> Result<Vec<Value>, ProgramError> {
    let mut configurations = read(&folder.join("manifests.yaml"))?;
    for kustomization in read(&folder.join("kustomization.yaml"))? {
        for patch in kustomization["patches"].as_array().into_iter().flatten() {
            let is_target = |configuration: &&mut Value| configuration["kind"] == patch["target"]["kind"];
            for configuration in configurations.iter_mut().filter(is_target) {
                let path = folder.join(patch["path"].as_str().unwrap_or_default());
                apply_json_patch(&path, configuration)?;
            }
        }
    }
    Ok(configurations)
}

fn apply_json_patch(path: &Path, object: &mut Value) -> Result<(), ProgramError> {
    let operations = read(path)?.into_iter().next().unwrap_or_default();
    let patch: json_patch::Patch =
        serde_json::from_value(operations).map_err(|error| unreadable(path, &error))?;
    json_patch::patch(object, &patch).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> ProgramError {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string());
    ProgramError::File { path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_spec::ClusterSpec;
    use crate::part::Part;

    /// Needs Go, which downloads the two modules once.
    #[tokio::test]
    async fn a_release_has_every_manifest_that_is_read() {
        let release = tempfile::tempdir().unwrap();
        let mut bases = Vec::new();
        for (ModuleFiles { component, files }, base) in module_files().iter().zip([BASE, JOB_SET_BASE]) {
            let module = source(component).await.unwrap();
            for file in files {
                let copy = release.path().join(component.name).join(file);
                std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
                std::fs::write(&copy, std::fs::read(module.join(file)).unwrap()).unwrap();
            }
            bases.push((release.path().join(component.name).join(base), module.join(base)));
        }
        let [(trainer, its_module), (job_set, module_of_job_set)] = &bases[..] else { panic!("{bases:?}") };
        let released = objects_in(trainer, job_set, None, "PEM", [1, 2, 3]).await.unwrap();
        let read = objects_in(its_module, module_of_job_set, None, "PEM", [1, 2, 3]).await.unwrap();
        assert!(released.len() > 8, "{released:?}");
        assert_eq!(released, read);
    }

    #[test]
    fn each_process_listens_on_its_ports_and_has_its_certificates() {
        let home = ProcessHome { kubeconfig: "k".into(), folder: "/f".into(), health: 1, other: 2 };
        for configuration in [trainer_configuration(&home), job_set_configuration(&home)] {
            assert_eq!(configuration["webhook"]["port"], 2);
            assert_eq!(configuration["health"]["healthProbeBindAddress"], "127.0.0.1:1");
            assert_eq!(configuration["leaderElection"], json!({"leaderElect": false}));
        }
        let folder = "/f/k8s-webhook-server/serving-certs";
        assert_eq!(job_set_configuration(&home)["webhook"]["certDir"], folder);
        let spec = ClusterSpec::default();
        let plugin = start_plugin(&home, &spec.start_settings(Part::TRAINER_PLUGIN)).unwrap().args;
        assert_eq!(
            plugin,
            [
                "run".to_owned(),
                "--kubeconfig=k".into(),
                "--webhook-bind=127.0.0.1:2".into(),
                format!("--tls-cert={folder}/tls.crt"),
                format!("--tls-key={folder}/tls.key"),
                "--health-bind=127.0.0.1:1".into(),
            ]
        );
    }
}
