//! The schedulers that a cluster can have. Each has one file with one description ([`Install`]) of everything
//! that it needs. A new scheduler is a file here, a line in [`ALL`], and a pinned module in `components/`.
//!
//! - [`kube_scheduler`] comes with Kubernetes.
//! - [`volcano`], [`koord_scheduler`] and [`scheduler_plugins`] are built from pinned modules, which also
//!   contain their CRDs.
//! - [`kai`] comes from a [`folder`] that the user names, or from its [`source`]. Without either, its API
//!   exists and kube-scheduler binds its pods.
//!
//! Any of them can be built from a working tree of the user instead. In clusters with real nodes they are
//! Deployments of the same programs ([`in_cluster`]), or installed from their charts ([`helm`]).
//!
//! Each has its own user, so that the audit log shows who bound a pod. The user has the rights that the
//! scheduler's file lists ([`rbac`]). A local cluster uses the description to start, watch and give up
//! processes.

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
use conformance_programs::components::Component;

pub(crate) use self::folder::Files;
pub use self::folder::in_folder;
pub use self::given::GivenScheduler;
pub use self::install::{Command, Install, ProcessHome, SchedulerProcess};
pub use self::source::{SchedulerSource, names as sources};

/// Every description, in the order of start and of reports. The first is kube-scheduler, which every cluster
/// has.
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

/// The schedulers with PodCliqueSet targets, in the order of reports. The controller has a backend for each.
/// The others schedule only TrainJobs.
pub fn of_pod_clique_sets() -> impl Iterator<Item = Scheduler> {
    all().filter(|scheduler| TARGETS.iter().any(|target| target.scheduler() == *scheduler))
}

pub fn installation(scheduler: Scheduler) -> &'static Install {
    let of = |install: &&&Install| install.scheduler == scheduler;
    ALL.iter().find(of).unwrap_or_else(|| unreachable!("{} has no description", scheduler.name()))
}

/// The description of the scheduler whose first program has this name.
pub(crate) fn of_program(name: &str) -> Option<&'static Install> {
    let is_first = |install: &&&Install| install.processes.first().is_some_and(|first| first.name == name);
    ALL.iter().find(is_first).copied()
}

/// Whether a working tree of the scheduler whose first program has this name can run in a kind cluster.
pub fn is_deployable(name: &str) -> bool {
    of_program(name).is_some_and(Install::is_deployable)
}

/// The components that schedulers are built from, other than Kubernetes itself.
pub(crate) fn components() -> impl Iterator<Item = &'static Component> {
    ALL.iter().flat_map(|install| install.components())
}

#[cfg(test)]
mod tests;
