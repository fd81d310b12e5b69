use std::path::PathBuf;
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{self, Component, ModuleFiles};
use conformance_programs::{ProgramError, home};
use serde_json::Value;

use super::configuration::SchedulerConfiguration;
use super::deployed::{Deployed, Deployment};
use super::given::GivenScheduler;
use super::package::Package;
use super::rbac::{self, Right};
use super::webhook_server::WebhookServer;
use crate::gates::Gates;
use crate::manifests;

#[derive(Debug)]
pub struct Install {
    pub scheduler: Scheduler,
    /// The processes on a local control plane, in start order. The scheduler has the version of the first.
    pub processes: &'static [SchedulerProcess],
    pub(crate) programs: ProgramSource,
    pub(super) recipe: Recipe,
    /// The user that posts `pods/binding`, unless kube-scheduler stands in
    /// ([`crate::cluster_spec::ClusterSpec::binder`]): kube-scheduler's user if the program only admits pods.
    pub user: &'static str,
    pub(super) crds: Crds,
    /// Adds the webhooks of the first process to the CRDs and roles, for a local control plane.
    pub webhooks: Option<fn(&mut Vec<Value>, WebhookServer<'_>)>,
    /// Custom resources that must exist before the scheduler starts, some with their status.
    pub objects: fn() -> Vec<Value>,
    /// Where the scheduler runs in a cluster with real nodes, unless a chart installed it.
    pub deployed: Deployed,
    /// `None` for kube-scheduler, which every cluster has.
    pub package: Option<&'static Package>,
    /// The flags that select the suite's configuration. `None` if its programs have no defaults of their own.
    pub(crate) configured_by: Option<&'static [&'static str]>,
    /// The period of a scheduler that looks at all gangs in each cycle. `None` if events trigger its attempts.
    pub cycle_millis: Option<u32>,
}

#[derive(Debug)]
pub struct SchedulerProcess {
    pub name: &'static str,
    pub user: &'static str,
    /// Empty for kube-scheduler, whose role is built into Kubernetes.
    pub(crate) rights: &'static [&'static [Right]],
    /// Additional rights on a local control plane, where a case changes the configuration of the process.
    pub(crate) local_rights: &'static [Right],
    /// The path on the health port that answers 200 once the process works. `None` without a health endpoint.
    pub health: Option<&'static str>,
    /// Why a case that needs this process is not run without it. `None` for a required process.
    pub optional: Option<&'static str>,
    /// Writes the configuration of the process, if it has one.
    pub start: Start,
    /// How the process becomes a Deployment in a cluster with real nodes. `None` if it does not run there.
    pub(crate) deployment: Option<Deployment>,
}

type Start = fn(&ProcessHome, &StartSettings<'_>) -> Result<Command, ProgramError>;

impl SchedulerProcess {
    /// A required process without rights and without a health endpoint.
    pub(crate) const fn new(name: &'static str, user: &'static str, start: Start) -> Self {
        Self {
            name,
            user,
            rights: &[],
            local_rights: &[],
            health: None,
            optional: None,
            start,
            deployment: None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct StartSettings<'a> {
    pub gates: &'a Gates,
    /// The plugins, arguments of plugins, or flags that the process's scheduler starts without.
    pub plugins_off: Vec<&'a str>,
    /// The other schedulers whose pods kube-scheduler binds.
    pub stands_in_for: Vec<&'static str>,
    pub stale_gangs_for: Option<Duration>,
    pub preempts: bool,
    pub reclaims: bool,
    pub further_plugins: Vec<&'static str>,
    pub configuration: Option<&'a SchedulerConfiguration>,
}

impl StartSettings<'_> {
    pub(crate) fn is_stock(&self) -> bool {
        self.configuration == Some(&SchedulerConfiguration::Stock)
    }

    pub(crate) fn without_suites(&self, mut args: Vec<String>, flags: &[&str]) -> Vec<String> {
        args.retain(|arg| !self.is_stock() || !flags.iter().any(|flag| arg.starts_with(flag)));
        args
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) enum ProgramSource {
    /// Kubernetes, in the version of the cluster.
    Kubernetes,
    Built(&'static [Component]),
    Given(Given),
}

/// The user gives a folder or a working tree. Without it, kube-scheduler stands in for the scheduler.
#[derive(Debug)]
pub(crate) struct Given {
    pub flag: &'static str,
    /// A prefix that file names in the folder may omit.
    pub prefix: &'static str,
    /// The reason that a report shows if the programs were not given.
    pub missing: &'static str,
    /// The reason for a kind cluster in which no chart has installed the scheduler either.
    pub missing_in_kind: &'static str,
}

/// A file below `schedulers/` at the top of the repository: how a scheduler is built from its source.
#[derive(Debug)]
pub(super) struct Recipe {
    pub path: &'static str,
    pub text: &'static str,
}

macro_rules! recipe {
    ($name:literal) => {
        $crate::schedulers::install::Recipe {
            path: concat!("schedulers/", $name, ".yaml"),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schedulers/", $name, ".yaml")),
        }
    };
}
pub(super) use recipe;

#[derive(Debug)]
pub(super) enum Crds {
    None,
    Module(ModuleCrds),
    /// A file that was written for this suite. CRDs that the user gave replace it.
    Written(&'static str),
}

#[derive(Debug)]
pub(super) struct ModuleCrds {
    pub component: &'static Component,
    pub folder: &'static str,
    pub files: &'static [&'static str],
}

impl Install {
    /// May run Go to find the files.
    pub async fn crds(&self, given: Option<&GivenScheduler>) -> Result<Vec<Value>, ProgramError> {
        match (given, &self.crds) {
            (Some(given), _) if given.has_crds() => Ok(given.crds.clone()),
            (_, Crds::Module(crds)) => crds.read().await,
            (_, Crds::Written(_) | Crds::None) => self.own_crds(),
        }
    }

    pub(super) fn own_crds(&self) -> Result<Vec<Value>, ProgramError> {
        let Crds::Written(text) = self.crds else { return Ok(Vec::new()) };
        grove_yaml::documents(text)
            .map_err(|source| ProgramError::Manifest { path: "crds.yaml".into(), source })
    }

    pub(crate) fn module_files(&self) -> Option<ModuleFiles> {
        let Crds::Module(crds) = &self.crds else { return None };
        let files = crds.files.iter().map(|file| format!("{}/{file}", crds.folder)).collect();
        Some(ModuleFiles { component: crds.component, files })
    }

    pub fn roles(&self) -> Vec<Value> {
        let mut roles = Vec::new();
        for process in self.processes.iter().filter(|process| !process.rights.is_empty()) {
            let tables: Vec<_> = process.rights.iter().copied().chain([process.local_rights]).collect();
            roles.extend(rbac::objects(self.name_of(process), &rbac::user(process.user), &tables));
        }
        roles
    }

    /// The first process has the scheduler's name.
    pub(super) fn name_of(&self, process: &SchedulerProcess) -> &'static str {
        let is_first = self.processes.first().is_some_and(|first| first.name == process.name);
        if is_first { self.scheduler.name() } else { process.name }
    }

    pub fn has_defaults(&self) -> bool {
        self.configured_by.is_some()
    }

    pub fn is_deployable(&self) -> bool {
        self.processes.iter().any(|process| process.deployment.is_some())
    }

    /// The components that the scheduler is built from, other than Kubernetes itself.
    pub(crate) fn components(&self) -> &'static [Component] {
        match self.programs {
            ProgramSource::Built(components) => components,
            ProgramSource::Kubernetes | ProgramSource::Given(_) => &[],
        }
    }

    /// A given scheduler may lack a process. If it must be given and is not, no process starts.
    pub(crate) fn has(&self, process: &SchedulerProcess, given: Option<&GivenScheduler>) -> bool {
        match self.programs {
            ProgramSource::Kubernetes | ProgramSource::Built(_) => true,
            ProgramSource::Given(_) => given.is_some_and(|given| given.program(process.name).is_some()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ProcessHome {
    pub kubeconfig: PathBuf,
    pub folder: PathBuf,
    pub health: u16,
    /// A second loopback port, for a server that cannot be turned off.
    pub other: u16,
}

/// The folder of the serving certificate below the folder of temporary files, as in controller-runtime.
const CERTIFICATES: &str = "k8s-webhook-server/serving-certs";

impl ProcessHome {
    pub(crate) fn certificate_folder(&self) -> PathBuf {
        self.folder.join(CERTIFICATES)
    }

    pub fn certificates(&self) -> [PathBuf; 2] {
        ["tls.crt", "tls.key"].map(|name| self.certificate_folder().join(name))
    }

    pub(crate) fn write(&self, name: &str, configuration: &Value) -> Result<PathBuf, ProgramError> {
        let path = self.folder.join(name);
        home::write(&path, configuration.to_string()).map(|()| path)
    }
}

impl ModuleCrds {
    async fn read(&self) -> Result<Vec<Value>, ProgramError> {
        let folder = components::source(self.component).await?.join(self.folder);
        let mut all = Vec::new();
        for file in self.files {
            all.extend(manifests::read(&folder.join(file))?);
        }
        Ok(all)
    }
}
