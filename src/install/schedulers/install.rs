//! What a scheduler needs of a cluster, as data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{self, Component, Program, Toolbox};
use conformance_programs::source::UNKNOWN;
use conformance_programs::{ProgramError, home};
use serde_json::Value;

use super::given::GivenScheduler;
use super::helm::Package;
use super::in_cluster::{Deployed, Deployment};
use super::rbac::{self, Right};
use crate::cluster_spec::ClusterSpec;

/// What a scheduler needs of a cluster. Each scheduler has one description, in a file of its name.
#[derive(Debug)]
pub struct Install {
    pub scheduler: Scheduler,
    /// The processes on a local control plane, in start order. The version of the first is the scheduler's.
    pub processes: &'static [SchedulerProcess],
    pub(crate) programs: ProgramSource,
    /// How the programs are built from a working tree of the user.
    pub(super) recipe: Recipe,
    /// The user who posts `pods/binding` for the scheduler. If it has a stand-in, see
    /// [`ClusterSpec::binder`].
    pub user: &'static str,
    pub(super) crds: Crds,
    /// Custom resources that it needs before it starts, some with their status.
    pub objects: fn() -> Vec<Value>,
    /// Where it runs in a cluster with real nodes, unless a chart installed it.
    pub deployed: Deployed,
    /// How its chart is installed. `None` for kube-scheduler, which every cluster has.
    pub package: Option<&'static Package>,
}

/// One process of a scheduler on a local control plane.
#[derive(Debug)]
pub struct SchedulerProcess {
    /// The program's name, which is also the name of its log and kubeconfig.
    pub name: &'static str,
    /// The user of its credentials.
    pub user: &'static str,
    /// The rights of its user, or of its ServiceAccount. kube-scheduler's role is built into Kubernetes.
    pub(crate) rights: &'static [&'static [Right]],
    /// Additional rights of its user on a local control plane, where a case changes its configuration.
    pub(crate) local_rights: &'static [Right],
    /// Path on its health port that answers 200 once it works. `None` if it has no such path.
    pub health: Option<&'static str>,
    /// For an optional process: why a case that needs it does not run if the user did not give it.
    pub optional: Option<&'static str>,
    /// Writes its configuration, if it has one, and returns how to start it.
    pub start: fn(&ProcessHome, &ClusterSpec) -> Result<Command, ProgramError>,
    /// How it becomes a Deployment in a cluster with real nodes, if it can.
    pub(crate) deployment: Option<Deployment>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// Where the programs of a scheduler's processes come from.
#[derive(Debug)]
pub(crate) enum ProgramSource {
    /// Kubernetes, in the version of the cluster.
    Kubernetes,
    /// Pinned components, each with the name of its process.
    Built(&'static [Component]),
    /// The user's own files, if given.
    Given(Given),
}

/// Programs that the user gives, in a folder or as a working tree. Without them kube-scheduler stands in for
/// the scheduler.
#[derive(Debug)]
pub(crate) struct Given {
    /// The flag that names the folder.
    pub flag: &'static str,
    /// A prefix that file names in the folder may omit.
    pub prefix: &'static str,
    /// The text in a report if the programs were not given.
    pub missing: &'static str,
    /// The text for a kind cluster in which no chart has installed the scheduler.
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
    /// Files of its pinned module.
    Module(ModuleCrds),
    /// This text, unless the user gave the scheduler with its CRDs.
    Written(&'static str),
}

#[derive(Debug)]
pub(super) struct ModuleCrds {
    pub component: &'static Component,
    /// The folder, relative to the module.
    pub folder: &'static str,
    pub files: &'static [&'static str],
}

impl Install {
    /// The CRDs that the user gave with the scheduler, otherwise its own. Reads files, and may run Go to find
    /// them.
    pub async fn crds(&self, given: Option<&GivenScheduler>) -> Result<Vec<Value>, ProgramError> {
        match (given, &self.crds) {
            (Some(given), _) if !given.crds.is_empty() => Ok(given.crds.clone()),
            (_, Crds::Module(crds)) => crds.read().await,
            (_, Crds::Written(_) | Crds::None) => self.own_crds(),
        }
    }

    /// The CRDs that were written for this suite.
    pub(super) fn own_crds(&self) -> Result<Vec<Value>, ProgramError> {
        let Crds::Written(text) = self.crds else { return Ok(Vec::new()) };
        grove_yaml::documents(text)
            .map_err(|source| ProgramError::Manifest { path: "crds.yaml".into(), source })
    }

    /// The scheduler as the user gave it to this cluster.
    pub fn brought<'a>(&self, spec: &'a ClusterSpec) -> Option<&'a Arc<GivenScheduler>> {
        spec.given.get(&self.scheduler)
    }

    /// Whether its CRDs are read from the source of its module, which needs a working Go.
    pub fn reads_its_module(&self) -> bool {
        matches!(self.crds, Crds::Module(_))
    }

    /// Roles of its users on a local control plane. The rules need no CRDs.
    pub fn roles(&self) -> Vec<Value> {
        let with_rights = self.processes.iter().filter(|process| !process.rights.is_empty());
        let role = |process: &SchedulerProcess| {
            let tables: Vec<_> = process.rights.iter().copied().chain([process.local_rights]).collect();
            rbac::objects(self.name_of(process), &rbac::user(process.user), &tables)
        };
        with_rights.flat_map(role).collect()
    }

    /// The name of a process's objects. The first process has the scheduler's name.
    pub(super) fn name_of(&self, process: &SchedulerProcess) -> &'static str {
        let is_first = self.processes.first().is_some_and(|first| first.name == process.name);
        if is_first { self.scheduler.name() } else { process.name }
    }

    /// Whether it can become Deployments, if its programs exist.
    pub fn is_deployable(&self) -> bool {
        self.processes.iter().any(|process| process.deployment.is_some())
    }

    /// The components that it is built from, other than Kubernetes itself.
    pub(crate) fn components(&self) -> &'static [Component] {
        match self.programs {
            ProgramSource::Built(components) => components,
            ProgramSource::Kubernetes | ProgramSource::Given(_) => &[],
        }
    }

    /// The programs that the user gave for it in this cluster. Each has the name of its process.
    pub fn given<'a>(&self, spec: &'a ClusterSpec) -> impl Iterator<Item = &'a Program> {
        self.brought(spec).into_iter().flat_map(|given| &given.programs)
    }

    /// The given program of a process, with those of the arguments that it knows.
    pub fn given_process(
        &self,
        process: &SchedulerProcess,
        args: &[String],
        spec: &ClusterSpec,
    ) -> Option<(PathBuf, Vec<String>)> {
        let given = self.brought(spec)?;
        let program = given.program(process.name)?;
        Some((program.path.clone(), given.known(process.name, args.to_vec())))
    }

    /// Whether the scheduler has this process in a cluster. It has none if kube-scheduler stands in for it.
    pub(crate) fn has(&self, process: &SchedulerProcess, spec: &ClusterSpec) -> bool {
        match self.programs {
            ProgramSource::Kubernetes | ProgramSource::Built(_) => true,
            ProgramSource::Given(_) => self.given(spec).any(|program| program.name == process.name),
        }
    }

    /// Why only a stand-in can bind its pods in local clusters of this spec.
    pub fn missing(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing),
            _ => None,
        }
    }

    /// Why it does not run in a kind cluster of this spec, unless a chart installs it.
    pub fn missing_in_kind(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing_in_kind),
            ProgramSource::Built(_) if !self.is_deployable() => {
                Some("it cannot be deployed in a cluster: pass --provider local")
            }
            ProgramSource::Kubernetes | ProgramSource::Built(_) | ProgramSource::Given(_) => None,
        }
    }

    /// Why a case that needs this process does not run in local clusters of this spec: the scheduler was
    /// given without it. `None` if the whole scheduler is missing, which has its own reason.
    pub fn lacks_process(&self, name: &str, spec: &ClusterSpec) -> Option<&'static str> {
        let process = self.processes.iter().find(|process| process.name == name)?;
        process.optional.filter(|_| self.missing(spec).is_none() && !self.has(process, spec))
    }

    /// The version on a local control plane: that of the program, or the digest of a given program with an
    /// unknown version. `None` if the toolbox lacks the program.
    pub fn version(&self, spec: &ClusterSpec, toolbox: &Toolbox) -> Option<String> {
        let given = self.given(spec).next();
        if let (None, ProgramSource::Given(_)) = (given, &self.programs) {
            return Some("none".into());
        }
        let program = given.or_else(|| toolbox.get(self.processes.first()?.name).ok())?;
        Some(match program.version.as_str() {
            UNKNOWN => format!("sha256:{}", &program.sha256[..12]),
            version => version.to_owned(),
        })
    }
}

/// The files and ports of one process of a scheduler, fixed for a cluster's life.
#[derive(Debug, Clone)]
pub struct ProcessHome {
    pub kubeconfig: PathBuf,
    /// The folder for its configuration and its sockets.
    pub folder: PathBuf,
    /// The loopback port of its health endpoint.
    pub health: u16,
    /// A second loopback port, for a server that cannot be turned off.
    pub other: u16,
}

impl ProcessHome {
    /// Writes a configuration file into its folder. JSON is valid YAML.
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
            all.extend(manifests(&folder.join(file))?);
        }
        Ok(all)
    }
}

pub(super) fn manifests(path: &Path) -> Result<Vec<Value>, ProgramError> {
    let text = std::fs::read_to_string(path).map_err(ProgramError::file(path))?;
    grove_yaml::documents(&text).map_err(|source| ProgramError::Manifest { path: path.into(), source })
}
