//! The names of schedulers. Each has a description in `install/schedulers/` (how it is installed) and in
//! `expect/schedulers/` (what the suite expects of it), found by this name.

/// Name of the External profile in the harness's configuration. No scheduler process has this name.
pub const EXTERNAL_SCHEDULER: &str = "conformance-external";

/// A scheduler: the `schedulerName` of its pods, which is also the name of the operator's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheduler(&'static str);

#[allow(missing_docs, reason = "the comment of the type describes the name")]
impl Scheduler {
    /// kube-scheduler, which every cluster has.
    pub const KUBE: Self = Self::named("default-scheduler");

    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    pub const fn name(self) -> &'static str {
        self.0
    }
}
