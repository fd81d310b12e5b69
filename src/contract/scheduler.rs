//! The schedulers that the suite supports, by name only. What each needs of a cluster is in `cluster/schedulers/`,
//! what is expected of it in `expect/schedulers/`.

/// A second scheduler that the controller is told of beside the default: an External one, of which there is no process.
pub const EXTERNAL_SCHEDULER: &str = "conformance-external";

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
            Self::Kube => "default-scheduler",
            Self::Volcano => "volcano",
            Self::Koordinator => "koord-scheduler",
            Self::Kai => "kai-scheduler",
        }
    }
}
