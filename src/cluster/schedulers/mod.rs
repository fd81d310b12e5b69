//! The schedulers that a cluster can have beside each other: one file each, which holds one description ([`Install`]) of
//! everything that it needs. A new one is a file here, a line in [`ALL`], and its pinned module in `components/`.
//!
//! - [`kube_scheduler`] comes with Kubernetes; [`volcano`], [`koord_scheduler`] and [`scheduler_plugins`] are built from
//!   pinned modules, from which their CRDs are read too;
//! - [`kai`] comes from a [`folder`] that the user names, or from its [`source`]; without either its API exists and a
//!   stand-in binds its pods. Any of them can be built from a working tree of the user's instead.
//!
//! In clusters with real nodes they are Deployments of the same programs ([`in_cluster`]), or installed from their charts
//! ([`helm`]).
//!
//! Each has its own user, so that the audit log shows who has bound a pod, with the rights that its file lists
//! ([`rbac`]). How processes are started, watched and given up is [`crate::local`]'s business: it asks the description.

mod folder;
mod given;
pub mod helm;
pub mod in_cluster;
mod install;
pub mod kai;
pub mod koord_scheduler;
pub mod kube_scheduler;
mod rbac;
pub mod scheduler_plugins;
mod source;
pub mod volcano;

use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::TARGETS;

pub(crate) use self::folder::Files;
pub use self::folder::in_folder;
pub use self::given::GivenScheduler;
pub use self::install::{Command, Install, ProcessHome, SchedulerProcess};
pub use self::source::{SchedulerSource, names as sources};
use crate::components::Component;

/// Every description, in the order of the start and of reports. kube-scheduler, which every cluster has, is the first.
pub(crate) static ALL: &[&Install] = &[
    &kube_scheduler::INSTALL,
    &volcano::INSTALL,
    &koord_scheduler::INSTALL,
    &kai::INSTALL,
    &scheduler_plugins::INSTALL,
];

/// Every scheduler, in the order of reports.
pub fn all() -> impl Iterator<Item = Scheduler> {
    ALL.iter().map(|install| install.scheduler)
}

/// Those on which PodCliqueSets are judged, in the order of reports; the controller has a backend for each. The others
/// schedule TrainJobs only.
pub fn of_pod_clique_sets() -> impl Iterator<Item = Scheduler> {
    all().filter(|scheduler| TARGETS.iter().any(|target| target.scheduler() == *scheduler))
}

/// The description of a scheduler.
pub fn installation(scheduler: Scheduler) -> &'static Install {
    let of = |install: &&&Install| install.scheduler == scheduler;
    ALL.iter().find(of).unwrap_or_else(|| unreachable!("{} has no description", scheduler.name()))
}

/// The description of the scheduler whose first program has that name.
pub(crate) fn of_program(name: &str) -> Option<&'static Install> {
    let is_first = |install: &&&Install| install.processes.first().is_some_and(|first| first.name == name);
    ALL.iter().find(is_first).copied()
}

/// Whether a working tree of the scheduler whose first program has that name serves a cluster of containers.
pub fn is_deployable(name: &str) -> bool {
    of_program(name).is_some_and(Install::is_deployable)
}

/// The components that schedulers are built from, other than Kubernetes itself.
pub(crate) fn components() -> impl Iterator<Item = &'static Component> {
    ALL.iter().flat_map(|install| install.components())
}

#[cfg(test)]
mod tests;
