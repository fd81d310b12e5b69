//! The schedulers that a cluster can run side by side, one file each: configuration, arguments, CRDs and objects
//! that it needs to work. A new one is a file here, an entry in [`Scheduler`], and its processes in [`Part`].
//!
//! - [`kube_scheduler`], [`volcano`], [`koord_scheduler`] are built from pinned modules, from which their CRDs are
//!   read too;
//! - [`kai`] comes from a folder that the user names; without one, its API exists and a stand-in binds its pods.
//!
//! In clusters with real nodes they are Deployments ([`in_cluster`]), or installed from their charts ([`helm`]).
//!
//! Each has its own user, so that the audit log shows who bound a pod, with the rights listed in its file
//! ([`rbac`]). How processes are started, watched and given up is in [`crate::local`].

pub mod helm;
pub mod in_cluster;
pub mod kai;
pub mod koord_scheduler;
pub mod kube_scheduler;
mod rbac;
pub mod volcano;

use std::path::PathBuf;

use serde_json::Value;

pub use self::kai::KaiDir;
use conformance_contract::scheduler::Scheduler;

use self::rbac::Right;
use super::ClusterError;
use super::components::{self, Component};
use super::local::Part;

/// What a scheduler needs of a cluster: one description per scheduler, in a file of its name.
#[derive(Debug)]
pub struct Install {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// The processes that it can have; KAI's are there only where a [`KaiDir`] is given.
    pub parts: &'static [Part],
    /// The user who posts `pods/binding` for it. Who really does in a cluster where KAI has a stand-in:
    /// [`super::local::ClusterSpec::binder`].
    pub user: &'static str,
    /// Every user that it has, with what they may do. kube-scheduler's role is built into Kubernetes.
    users: &'static [&'static str],
    rights: &'static [&'static [Right]],
    crds: Crds,
    /// How its chart is installed; kube-scheduler, which every cluster has, has none.
    pub package: Option<&'static helm::Package>,
    /// Objects of its own kinds that it needs before it starts, some with their status.
    pub objects: fn() -> Vec<Value>,
}

/// Every description, in the order of reports.
static ALL: [&Install; 4] =
    [&kube_scheduler::INSTALL, &volcano::INSTALL, &koord_scheduler::INSTALL, &kai::INSTALL];

/// The description of a scheduler.
pub fn installation(scheduler: Scheduler) -> &'static Install {
    let of = |install: &&&Install| install.scheduler == scheduler;
    ALL.iter().find(of).unwrap_or_else(|| unreachable!("{} has no description", scheduler.name()))
}

/// Where a scheduler's CRDs come from.
#[derive(Debug)]
enum Crds {
    /// It has none.
    None,
    /// Files of its pinned module.
    Module(ModuleCrds),
    /// The user's folder, or those that are built in.
    Kai,
}

impl Install {
    /// Its CRDs. Reads files, and may run Go to find them.
    ///
    /// # Errors
    /// [`ClusterError::Go`], [`ClusterError::File`], [`ClusterError::Manifest`].
    pub async fn crds(&self, kai: Option<&KaiDir>) -> Result<Vec<Value>, ClusterError> {
        match &self.crds {
            Crds::None => Ok(Vec::new()),
            Crds::Module(crds) => crds.read().await,
            Crds::Kai => kai::crds(kai),
        }
    }

    /// Roles of its users, whose kinds need no CRD.
    pub fn roles(&self) -> Vec<Value> {
        match self.users {
            [] => Vec::new(),
            users => rbac::objects(self.scheduler.name(), users, self.rights),
        }
    }
}

/// Where one process of a scheduler lives; fixed for a cluster's life.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its credentials.
    pub kubeconfig: PathBuf,
    /// A folder of its own, for its configuration and its sockets.
    pub folder: PathBuf,
    /// Loopback port on which it is asked whether it works.
    pub health: u16,
    /// A second loopback port, for what cannot be turned off.
    pub other: u16,
}

/// CRD files of a pinned module.
#[derive(Debug)]
pub struct ModuleCrds {
    /// A program of that module.
    program: &'static str,
    /// Folder below the module's.
    folder: &'static str,
    /// The files that are needed.
    files: &'static [&'static str],
}

impl ModuleCrds {
    async fn read(&self) -> Result<Vec<Value>, ClusterError> {
        let component: &'static Component = components::component(self.program)
            .ok_or_else(|| ClusterError::Name(format!("no component is called {}", self.program)))?;
        let folder = components::source(component).await?.join(self.folder);
        let mut all = Vec::new();
        for file in self.files {
            all.extend(manifests(&folder.join(file))?);
        }
        Ok(all)
    }
}

/// The objects in a YAML file.
fn manifests(path: &std::path::Path) -> Result<Vec<Value>, ClusterError> {
    let text = std::fs::read_to_string(path).map_err(ClusterError::file(path))?;
    grove_yaml::documents(&text)
        .map_err(|e| ClusterError::Manifest { path: path.into(), reason: e.to_string() })
}

#[cfg(test)]
mod tests;
