//! What a scheduler needs of a cluster, as data.

use std::path::{Path, PathBuf};

use conformance_contract::scheduler::Scheduler;
use serde_json::Value;

use super::helm::Package;
use super::in_cluster::{Deployed, Deployment};
use super::rbac::{self, Right};
use crate::cluster_spec::ClusterSpec;
use crate::components::{self, Component, Toolbox};
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
    /// The user who posts `pods/binding` for it. Who really does in a cluster where it has a stand-in:
    /// [`ClusterSpec::binder`].
    pub user: &'static str,
    /// Every user that it has, with what they may do. kube-scheduler's role is built into Kubernetes.
    pub(super) users: &'static [&'static str],
    pub(super) rights: &'static [&'static [Right]],
    pub(super) crds: Crds,
    /// Custom resources that it needs before it starts, some with their status.
    pub objects: fn() -> Vec<Value>,
    /// Where it is in a cluster with real nodes in which no chart has installed it.
    pub deployed: Deployed,
    /// How it is made a Deployment, if it can be: of the program of its first process.
    pub(super) deployment: Option<Deployment>,
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
    /// Path on its health port that answers 200 once it works, if it can be asked.
    pub health: Option<&'static str>,
    /// Writes its configuration, if it has one, and says how it is started.
    pub start: fn(&ProcessHome, &ClusterSpec) -> Result<Command, ClusterError>,
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

/// Programs that the user gives.
#[derive(Debug)]
pub(crate) struct Given {
    /// The file of a process of that name. Without those of all its processes kube-scheduler stands in for the scheduler.
    pub program: for<'a> fn(&'a ClusterSpec, &str) -> Option<&'a Path>,
    /// What a report says of a scheduler whose programs were not given.
    pub missing: &'static str,
    /// What it says of one that nobody has installed in a kind cluster.
    pub missing_in_kind: &'static str,
}

/// Where a scheduler's CRDs come from.
#[derive(Debug)]
pub(super) enum Crds {
    /// It has none.
    None,
    /// Files of its pinned module.
    Module(ModuleCrds),
    /// What this local cluster was given; `None` in any other cluster.
    Given(fn(Option<&ClusterSpec>) -> Result<Vec<Value>, ClusterError>),
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
    /// Its CRDs; `spec` is that of the local cluster that they are for, if they are for one. Reads files, and may run Go
    /// to find them.
    ///
    /// # Errors
    /// [`ClusterError::Go`], [`ClusterError::File`], [`ClusterError::Manifest`].
    pub async fn crds(&self, spec: Option<&ClusterSpec>) -> Result<Vec<Value>, ClusterError> {
        match &self.crds {
            Crds::None => Ok(Vec::new()),
            Crds::Module(crds) => crds.read().await,
            Crds::Given(read) => read(spec),
        }
    }

    /// Whether its CRDs are read from the source of its module, which takes a Go that works.
    pub fn reads_its_module(&self) -> bool {
        matches!(self.crds, Crds::Module(_))
    }

    /// Roles of its users, whose kinds need no CRD.
    pub fn roles(&self) -> Vec<Value> {
        match self.users {
            [] => Vec::new(),
            users => rbac::objects(self.scheduler.name(), users, self.rights),
        }
    }

    /// The components that it is built from, other than Kubernetes itself.
    pub(crate) fn components(&self) -> &'static [Component] {
        match self.programs {
            ProgramSource::Built(components) => components,
            ProgramSource::Kubernetes | ProgramSource::Given(_) => &[],
        }
    }

    /// The programs that the user gave for it in this cluster, by the names of their processes.
    pub fn given<'a>(&self, spec: &'a ClusterSpec) -> impl Iterator<Item = (&'static str, &'a Path)> {
        let given = match &self.programs {
            ProgramSource::Given(given) => Some(given.program),
            ProgramSource::Kubernetes | ProgramSource::Built(_) => None,
        };
        let file = move |process: &SchedulerProcess| Some((process.name, given?(spec, process.name)?));
        self.processes.iter().filter_map(file)
    }

    /// Whether it has this process in such a cluster; it has none where kube-scheduler stands in for it.
    pub(crate) fn has(&self, process: &SchedulerProcess, spec: &ClusterSpec) -> bool {
        match self.programs {
            ProgramSource::Kubernetes | ProgramSource::Built(_) => true,
            ProgramSource::Given(_) => self.given(spec).any(|(name, _)| name == process.name),
        }
    }

    /// Why nobody but a stand-in can bind its pods in local clusters of this specification.
    pub fn missing(&self, spec: &ClusterSpec) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) if self.given(spec).next().is_none() => Some(given.missing),
            _ => None,
        }
    }

    /// Why it is not in a kind cluster in which no chart has installed it.
    pub fn missing_in_kind(&self) -> Option<&'static str> {
        match &self.programs {
            ProgramSource::Given(given) => Some(given.missing_in_kind),
            ProgramSource::Kubernetes | ProgramSource::Built(_) => None,
        }
    }

    /// Its version on a local control plane: its program's, or the digest of one that the user gave, which cannot be asked
    /// without a cluster. `None` where it is not among these programs.
    ///
    /// # Errors
    /// [`ClusterError::File`].
    pub fn version(&self, spec: &ClusterSpec, toolbox: &Toolbox) -> Result<Option<String>, ClusterError> {
        if let ProgramSource::Given(_) = self.programs {
            let first = self.given(spec).next();
            let version = first.map(|(_, file)| Ok(format!("sha256:{}", &components::digest(file)?[..12])));
            return version.unwrap_or_else(|| Ok("none".into())).map(Some);
        }
        let program = self.processes.first().and_then(|process| toolbox.get(process.name).ok());
        Ok(program.map(|program| program.version.clone()))
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
    pub(super) fn write(&self, name: &str, configuration: &Value) -> Result<PathBuf, ClusterError> {
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
