//! The names of schedulers. `install/schedulers/` describes how each is installed, and `expect/schedulers/`
//! what is expected of it. Both have one description per scheduler, and the name connects them.

/// The External scheduler in the harness's configuration. No scheduler process has this name.
pub const EXTERNAL_SCHEDULER: &str = "conformance-external";

/// A scheduler: the `schedulerName` of its pods, which is also the name of the operator's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheduler(&'static str);

impl Scheduler {
    /// kube-scheduler, which every cluster has.
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
