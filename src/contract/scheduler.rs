//! Schedulers, by name alone. What each needs of a cluster is in `cluster/schedulers/`, what is expected of it in
//! `expect/schedulers/`; both have one description per scheduler, and tests there join them by this name.

/// An External scheduler that the controller's configuration lists beside the default one. No process of it runs.
pub const EXTERNAL_SCHEDULER: &str = "conformance-external";

/// A scheduler: the `schedulerName` of its pods, which names the controller's profile too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheduler(&'static str);

impl Scheduler {
    /// kube-scheduler; every cluster has it.
    pub const KUBE: Self = Self::named("default-scheduler");

    /// The one of that `schedulerName`.
    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// Its `schedulerName`.
    pub const fn name(self) -> &'static str {
        self.0
    }
}
