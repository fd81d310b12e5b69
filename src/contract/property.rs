//! Properties of targets that [cases require](crate::requirements). No operator declares them.

/// A property of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The gang resources are custom resources.
    CustomResources,
    /// The size of an existing gang resource can be changed.
    ResizableResources,
    /// Several ClusterTopologyBindings can be in use at the same time.
    SeveralTopologies,
    /// A gang that fits is bound even if another gang is pending.
    PendingGangsDoNotBlock,
    /// The target's own scheduler binds its pods in every run. Not for KAI: a run may lack its programs.
    OwnScheduler,
}

impl Property {
    pub(crate) const fn lacking(self) -> &'static str {
        match self {
            Self::CustomResources => "does not use custom resources as gang resources",
            Self::ResizableResources => "does not let the size of an existing gang resource change",
            Self::SeveralTopologies => "does not support several ClusterTopologyBindings at the same time",
            Self::PendingGangsDoNotBlock => "does not always bind a gang that fits while another is pending",
            Self::OwnScheduler => "does not run its own scheduler in every run",
        }
    }
}
