//! Schedulers, by name alone. `install/schedulers/` describes what each needs of a cluster, and
//! `expect/schedulers/` what is expected of it. Both have one description per scheduler, and tests there join
//! them by this name.

/// An External scheduler that the controller's configuration lists in addition to the default one. No process
/// of it runs.
pub const EXTERNAL_SCHEDULER: &str = "conformance-external";

/// A scheduler: the `schedulerName` of its pods, which is also the name of the controller's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheduler(&'static str);

impl Scheduler {
    /// kube-scheduler; every cluster has it.
    pub const KUBE: Self = Self::named("default-scheduler");

    /// The scheduler with that `schedulerName`.
    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// The `schedulerName` of its pods.
    pub const fn name(self) -> &'static str {
        self.0
    }
}
