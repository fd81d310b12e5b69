//! What a scheduler needs of a cluster, as data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_contract::scheduler::Scheduler;
use serde_json::Value;

use super::given::GivenScheduler;
use super::helm::Package;
use super::in_cluster::{Deployed, Deployment};
use super::rbac::{self, Right};
use crate::cluster_spec::ClusterSpec;
use crate::components::{self, Component, Program, Toolbox};
use crate::source::UNKNOWN;
use crate::{ClusterError, home};

/// What a scheduler needs of a cluster: one description per scheduler, in a file of its name.
#[derive(Debug)]
pub struct Install {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Its processes on a local control plane, in the order in which they are started. The version of the first is the
    /// scheduler's.
    pub processes: &'static [SchedulerProcess],
    /// Where their programs come from.
    pub(crate) programs: ProgramSource,
    /// How they are built from a working tree of the user's instead.
    pub(super) recipe: Recipe,
    /// The user who posts `pods/binding` for it. Who really does in a cluster where it has a stand-in:
    /// [`ClusterSpec::binder`].
    pub user: &'static str,
    pub(super) crds: Crds,
    /// Custom resources that it needs before it starts, some with their status.
    pub objects: fn() -> Vec<Value>,
    /// Where it is in a cluster with real nodes in which no chart has installed it.
    pub deployed: Deployed,
    /// How its chart is installed; kube-scheduler, which every cluster has, has none.
    pub package: Option<&'static Package>,
}

/// One process of a scheduler on a local control plane.
#[derive(Debug)]
pub struct SchedulerProcess {
    /// Its program's name, which is its log's and its kubeconfig's name too.
    pub name: &'static str,
    /// Whose certificate it has.
    pub user: &'static str,
    /// What its user, or its ServiceAccount, may do. kube-scheduler's role is built into Kubernetes.
    pub(crate) rights: &'static [&'static [Right]],
    /// What its user may do in addition on a local control plane, where a case changes its configuration.
    pub(crate) local_rights: &'static [Right],
    /// Path on its health port that answers 200 once it works, if it can be asked.
    pub health: Option<&'static str>,
    /// Of a process that the scheduler does without: why a case that needs it is not run where it was not given.
    pub optional: Option<&'static str>,
    /// Writes its configuration, if it has one, and says how it is started.
    pub start: fn(&ProcessHome, &ClusterSpec) -> Result<Command, ClusterError>,
    /// How it becomes a Deployment in a cluster with real nodes, if it can.
    pub(crate) deployment: Option<Deployment>,
}

/// Arguments and environment of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Arguments.
    pub args: Vec<String>,
    /// Environment.
    pub env: Vec<(String, String)>,
}

/// Where the programs of a scheduler's processes come from.
#[derive(Debug)]
pub(crate) enum ProgramSource {
    /// Kubernetes, in the version of the cluster.
    Kubernetes,
    /// They are built, each by the name of its process.
    Built(&'static [Component]),
    /// The user's own files, where there are any.
    Given(Given),
}

/// Programs that the user gives, in a folder or as a working tree. Without them kube-scheduler stands in for the scheduler.
#[derive(Debug)]
pub(crate) struct Given {
    /// The flag that names a folder with them.
    pub flag: &'static str,
    /// What the names of files in it may lack, in front.
    pub prefix: &'static str,
    /// What a report says of a scheduler whose programs were not given.
    pub missing: &'static str,
    /// The same of a kind cluster in which no chart has installed it.
    pub missing_in_kind: &'static str,
}

/// A file below `schedulers/` at the top of the repository: how a scheduler is built from its source.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Its path.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The recipe of that name.
macro_rules! recipe {
    ($name:literal) => {
        $crate::schedulers::install::Recipe {
            path: concat!("schedulers/", $name, ".yaml"),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schedulers/", $name, ".yaml")),
        }
    };
}
pub(super) use recipe;

/// Where a scheduler's CRDs come from.
#[derive(Debug)]
pub(super) enum Crds {
    /// It has none.
    None,
    /// Files of its pinned module.
    Module(ModuleCrds),
    /// This text, as long as nobody has given the scheduler and its CRDs.
    Written(&'static str),
}

/// CRD files of a pinned module.
#[derive(Debug)]
pub(super) struct ModuleCrds {
    /// A program of that module.
    pub component: &'static Component,
    /// Folder below the module's.
    pub folder: &'static str,
    /// The files that are needed.
    pub files: &'static [&'static str],
}

impl Install {
    /// Its CRDs: those that were given with it, else its own. Reads files, and may run Go to find them.
    ///
    /// # Errors
    /// [`ClusterError::Go`], [`ClusterError::File`], [`ClusterError::Manifest`].
    pub async fn crds(&self, given: Option<&GivenScheduler>) -> Result<Vec<Value>, ClusterError> {
        match (given, &self.crds) {
            (Some(given), _) if !given.crds.is_empty() => Ok(given.crds.clone()),
            (_, Crds::Module(crds)) => crds.read().await,
            (_, Crds::Written(_) | Crds::None) => self.own_crds(),
        }
    }

    /// The CRDs that were written for it.
    pub(super) fn own_crds(&self) -> Result<Vec<Value>, ClusterError> {
        let Crds::Written(text) = self.crds else { return Ok(Vec::new()) };
        grove_yaml::documents(text)
            .map_err(|source| ClusterError::Manifest { path: "crds.yaml".into(), source })
    }

    /// It as the user gave it to this cluster.
    pub(crate) fn brought<'a>(&self, spec: &'a ClusterSpec) -> Option<&'a Arc<GivenScheduler>> {
        spec.given.get(&self.scheduler)
    }

    /// Whether its CRDs are read from the source of its module, which takes a Go that works.
    pub fn reads_its_module(&self) -> bool {
        matches!(self.crds, Crds::Module(_))
    }

    /// Roles of its users on a local control plane, whose kinds need no CRD.
    pub fn roles(&self) -> Vec<Value> {
        let with_rights = self.processes.iter().filter(|process| !process.rights.is_empty());
        let role = |process: &SchedulerProcess| {
            let tables: Vec<_> = process.rights.iter().copied().chain([process.local_rights]).collect();
            rbac::objects(self.name_of(process), &rbac::user(process.user), &tables)
        };
        with_rights.flat_map(role).collect()
    }

    /// The name of a process's objects: the first process is the scheduler to the world, the others help it.
    pub(super) fn name_of(&self, process: &SchedulerProcess) -> &'static str {
        let is_first = self.processes.first().is_some_and(|first| first.name == process.name);
        if is_first { self.scheduler.name() } else { process.name }
    }

    /// Whether it can be made Deployments, if its programs are there.
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

    /// The programs that the user gave for it in this cluster; each has the name of its process.
    pub fn given<'a>(&self, spec: &'a ClusterSpec) -> impl Iterator<Item = &'a Program> {
        self.brought(spec).into_iter().flat_map(|given| &given.programs)
    }

    /// The given program of one of its processes, with as many of these arguments as it knows.
    pub(crate) fn given_process(
        &self,
        process: &SchedulerProcess,
        args: &[String],
        spec: &ClusterSpec,
    ) -> Option<(PathBuf, Vec<String>)> {
        let given = self.brought(spec)?;
        let program = given.program(process.name)?;
        Some((program.path.clone(), given.known(process.name, args.to_vec())))
    }

    /// Whether it has this process in such a cluster; it has none where kube-scheduler stands in for it.
    pub(crate) fn has(&self, process: &SchedulerProcess, spec: &ClusterSpec) -> bool {
        match self.programs {
            ProgramSource::Kubernetes | ProgramSource::Built(_) => true,
            ProgramSource::Given(_) => self.given(spec).any(|program| program.name == process.name),
        }
    }

    /// Why nobody but a stand-in can bind its pods in local clusters of this specification.
    pub fn missing(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing),
            _ => None,
        }
    }

    /// Why it is not in a kind cluster of this specification in which no chart has installed it.
    pub fn missing_in_kind(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing_in_kind),
            ProgramSource::Built(_) if !self.is_deployable() => {
                Some("it is not made a Deployment: run it on a local control plane")
            }
            ProgramSource::Kubernetes | ProgramSource::Built(_) | ProgramSource::Given(_) => None,
        }
    }

    /// Why a case that needs the process of that name is not run in local clusters of this specification: the scheduler was
    /// given without it. Where the scheduler itself is missing, that is said instead.
    pub fn lacks_process(&self, name: &str, spec: &ClusterSpec) -> Option<&'static str> {
        let process = self.processes.iter().find(|process| process.name == name)?;
        process.optional.filter(|_| self.missing(spec).is_none() && !self.has(process, spec))
    }

    /// Its version on a local control plane: its program's, or the digest of one that the user gave and that tells none.
    /// `None` where it is not among these programs.
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

/// Where one process of a scheduler lives; fixed for a cluster's life.
#[derive(Debug, Clone)]
pub struct ProcessHome {
    /// Its credentials.
    pub kubeconfig: PathBuf,
    /// The folder for its configuration and its sockets.
    pub folder: PathBuf,
    /// Loopback port on which it is asked whether it works.
    pub health: u16,
    /// A second loopback port, for what cannot be turned off.
    pub other: u16,
}

impl ProcessHome {
    /// Writes a configuration file into its folder; JSON is YAML.
    ///
    /// # Errors
    /// [`ClusterError::File`].
    pub(crate) fn write(&self, name: &str, configuration: &Value) -> Result<PathBuf, ClusterError> {
        let path = self.folder.join(name);
        home::write(&path, configuration.to_string()).map(|()| path)
    }
}

impl ModuleCrds {
    async fn read(&self) -> Result<Vec<Value>, ClusterError> {
        let folder = components::source(self.component).await?.join(self.folder);
        let mut all = Vec::new();
        for file in self.files {
            all.extend(manifests(&folder.join(file))?);
        }
        Ok(all)
    }
}

/// The objects in a YAML file.
pub(super) fn manifests(path: &Path) -> Result<Vec<Value>, ClusterError> {
    let text = std::fs::read_to_string(path).map_err(ClusterError::file(path))?;
    grove_yaml::documents(&text).map_err(|source| ClusterError::Manifest { path: path.into(), source })
}
