//! The schedulers that a cluster can have beside each other, one file each: configuration, arguments, CRDs and
//! objects that it needs to work. A new one is a file here, an entry in [`Scheduler`], and its processes in
//! [`Part`].
//!
//! - [`kube_scheduler`], [`volcano`], [`koord_scheduler`] are built from pinned modules, from which their CRDs are
//!   read too;
//! - [`kai`] comes from a folder that the user names; without one its API stands and a stand-in binds its pods.
//!
//! In clusters with real nodes they are Deployments ([`in_cluster`]), or come by their charts ([`helm`]).
//!
//! Each has a user of its own, so that the audit log tells who has bound a pod, with the rights that its file lists
//! ([`rbac`]). How processes are started, watched and given up is [`crate::cluster::local`]'s business.

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
use self::rbac::Right;
use super::ClusterError;
use super::components::{self, Component};
use super::local::Part;

/// A scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheduler {
    /// kube-scheduler; every cluster has it.
    Kube,
    /// Volcano.
    Volcano,
    /// Koordinator.
    Koordinator,
    /// KAI-Scheduler.
    Kai,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kube, Self::Volcano, Self::Koordinator, Self::Kai];

    /// The `schedulerName` of its pods, which names the controller's profile too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kube => kube_scheduler::NAME,
            Self::Volcano => volcano::NAME,
            Self::Koordinator => koord_scheduler::NAME,
            Self::Kai => kai::NAME,
        }
    }

    /// The processes that it can have; KAI's are there only where a [`KaiDir`] is given.
    pub fn parts(self) -> &'static [Part] {
        match self {
            Self::Kube => &[Part::KubeScheduler],
            Self::Volcano => &[Part::VolcanoScheduler],
            Self::Koordinator => &[Part::KoordScheduler],
            Self::Kai => &[Part::KaiScheduler, Part::KaiBinder, Part::KaiPodGrouper],
        }
    }

    /// The user who posts `pods/binding` for it. Who really does in a cluster where KAI has a stand-in:
    /// [`super::local::ClusterSpec::binder`].
    pub fn user(self) -> &'static str {
        match self {
            Self::Kube => kube_scheduler::USER,
            Self::Volcano => volcano::USER,
            Self::Koordinator => koord_scheduler::USER,
            Self::Kai => kai::BINDER,
        }
    }

    /// Its CRDs. Reads files, and may run Go to find them.
    ///
    /// # Errors
    /// [`ClusterError::Go`], [`ClusterError::File`], [`ClusterError::Manifest`].
    pub async fn crds(self, kai: Option<&KaiDir>) -> Result<Vec<Value>, ClusterError> {
        match self {
            Self::Kube => Ok(Vec::new()),
            Self::Volcano => volcano::CRDS.read().await,
            Self::Koordinator => koord_scheduler::CRDS.read().await,
            Self::Kai => kai::crds(kai),
        }
    }

    /// How its chart is installed; kube-scheduler, which every cluster has, has none.
    pub fn package(self) -> Option<&'static helm::Package> {
        match self {
            Self::Kube => None,
            Self::Volcano => Some(&volcano::PACKAGE),
            Self::Koordinator => Some(&koord_scheduler::PACKAGE),
            Self::Kai => Some(&kai::PACKAGE),
        }
    }

    /// Roles of its users, whose kinds need no CRD. kube-scheduler's is built into Kubernetes.
    pub fn roles(self) -> Vec<Value> {
        let users: &[&str] = match self {
            Self::Kube => return Vec::new(),
            Self::Volcano => &[volcano::USER],
            Self::Koordinator => &[koord_scheduler::USER],
            Self::Kai => &kai::USERS,
        };
        rbac::objects(self.name(), users, self.rights())
    }

    /// The tables of what its users may do.
    fn rights(self) -> &'static [&'static [Right]] {
        match self {
            Self::Kube => &[],
            Self::Volcano => &[rbac::FRAMEWORK, volcano::RIGHTS],
            Self::Koordinator => &[rbac::FRAMEWORK, koord_scheduler::RIGHTS],
            Self::Kai => &[kai::RIGHTS],
        }
    }

    /// Objects of its own kinds that it needs before it starts, some with their status.
    pub fn objects(self) -> Vec<Value> {
        match self {
            Self::Kube => Vec::new(),
            Self::Volcano => volcano::objects(),
            Self::Koordinator => koord_scheduler::objects(),
            Self::Kai => kai::objects(),
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
    crate::yaml::documents(&text)
        .map_err(|e| ClusterError::Manifest { path: path.into(), reason: e.to_string() })
}

#[cfg(test)]
mod tests;
