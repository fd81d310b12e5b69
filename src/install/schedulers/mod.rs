//! The schedulers that a cluster can have. Each has one file with one description ([`Install`]). A new
//! scheduler is a file here, an entry in [`ALL`], and a pinned module in `components/`.
//!
//! - [`kube_scheduler`] comes with Kubernetes.
//! - [`volcano`], [`koord_scheduler`] and [`scheduler_plugins`] are built from pinned modules, which also
//!   contain their CRDs.
//! - [`kai`] comes from a [`folder`] that the user names, or from its [`source`]. Without either, its API
//!   exists and kube-scheduler binds its pods.
//!
//! A [`configuration`] of the user may replace the suite's. A working tree, or another published [`version`],
//! may replace the pinned module. In clusters with real nodes, the same programs run as Deployments
//! ([`in_cluster`]), or the scheduler's chart is installed ([`helm`]).
//!
//! Each has its own user, so that the audit log shows which scheduler bound a pod. The user has the rights
//! that the scheduler's file lists ([`rbac`]).

mod configuration;
mod deployed;
mod descriptions;
mod folder;
mod given;
mod given_programs;
pub mod helm;
pub mod in_cluster;
mod install;
pub mod kai;
pub mod koord_scheduler;
pub mod kube_scheduler;
mod package;
mod rbac;
pub mod scheduler_plugins;
mod source;
mod version;
pub mod volcano;

pub use self::configuration::{ConfigurationFile, SchedulerConfiguration};
pub(crate) use self::descriptions::components;
pub use self::descriptions::{all, installation, is_deployable, of_pod_clique_sets};
pub(crate) use self::folder::Files;
pub use self::folder::in_folder;
pub use self::given::GivenScheduler;
pub use self::install::{Command, Install, ProcessHome, SchedulerProcess, StartSettings};
pub use self::source::{SchedulerSource, names as sources};
pub(crate) use self::version::SchedulerVersion;

/// In start order, which reports use too. The first is kube-scheduler, which every cluster has.
pub(crate) static ALL: &[&Install] = &[
    &kube_scheduler::INSTALL,
    &volcano::INSTALL,
    &koord_scheduler::INSTALL,
    &kai::INSTALL,
    &scheduler_plugins::INSTALL,
];

#[cfg(test)]
mod tests;
