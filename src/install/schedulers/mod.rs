//! The schedulers that a cluster can have: one file with one description ([`Install`]) each. [`kai`] comes
//! from a [`folder`] or its [`source`]; without them, kube-scheduler binds its pods. The others come from
//! pinned modules. `kueue` only admits plain pods, which kube-scheduler binds. A [`configuration`] of the
//! user, a working tree, or another [`version`] may replace the suite's. With real nodes, programs run as
//! Deployments ([`in_cluster`]), or from the chart ([`helm`]). The audit log identifies each scheduler by its
//! user, which has only the rights in its file ([`rbac`]).

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
mod kueue;
mod package;
mod rbac;
pub mod scheduler_plugins;
mod source;
mod version;
pub mod volcano;
mod webhook_server;

pub use self::configuration::{ConfigurationFile, SchedulerConfiguration};
pub(crate) use self::descriptions::components;
pub use self::descriptions::{all, installation, is_deployable, of_pod_clique_sets};
pub(crate) use self::folder::Files;
pub use self::folder::in_folder;
pub use self::given::GivenScheduler;
pub use self::install::{Command, Install, ProcessHome, SchedulerProcess, StartSettings};
pub use self::source::{SchedulerSource, names as sources};
pub(crate) use self::version::SchedulerVersion;
pub use self::webhook_server::WebhookServer;

/// In the order of reports and of restarts. kube-scheduler must be first.
pub(crate) static ALL: &[&Install] = &[
    &kube_scheduler::INSTALL,
    &volcano::INSTALL,
    &koord_scheduler::INSTALL,
    &kai::INSTALL,
    &scheduler_plugins::INSTALL,
    &kueue::INSTALL,
];

#[cfg(test)]
mod tests;
