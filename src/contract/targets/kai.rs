use super::SchedulerDescription;
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::property::Property;
use crate::scheduler::Scheduler;
use crate::target::{Target, TargetDescription};

impl Target {
    /// PodCliqueSets on KAI-Scheduler.
    pub const KAI: Self = Self::of(&KAI);
}

impl Scheduler {
    /// The scheduler of the KAI-Scheduler project.
    pub const KAI: Self = Self::named("kai-scheduler");
}

pub(super) static DESCRIPTION: SchedulerDescription =
    SchedulerDescription { targets: &[&KAI], kinds: &KINDS };

const KINDS: [Kind; 3] = [
    kind("scheduling.run.ai/v2alpha2", "PodGroup.scheduling.run.ai", "podgroups")
        .of_scheduler(Scheduler::KAI),
    kind("scheduling.run.ai/v2", "Queue.scheduling.run.ai", "queues")
        .cluster_scoped()
        .of_scheduler(Scheduler::KAI),
    kind("kai.scheduler/v1alpha1", "Topology", "topologies").cluster_scoped().of_scheduler(Scheduler::KAI),
];

static KAI: TargetDescription = TargetDescription {
    features: &[
        Feature::GangScheduling,
        Feature::AtomicPodGang,
        Feature::TopologyRequired,
        Feature::TopologyPerGroup,
        Feature::TopologyPerClique,
        Feature::TopologyNested,
        Feature::TopologyPreferred,
        Feature::TopologyResource,
        Feature::SelfHealing,
        Feature::Kubelet,
        Feature::Autoscaling,
        Feature::StartupOrder,
        Feature::RevisionedRestore,
        Feature::StuckGangRelease,
        Feature::ScaleToZero,
        Feature::PodGangStatus,
        Feature::Metrics,
        Feature::Preemption,
        Feature::Reclaim,
    ],
    why_not: &[
        (
            Feature::FreshGang,
            "all generations of a gang share one PodGroup, which also counts pods that do not terminate",
        ),
        (
            Feature::Claims,
            "KAI's default configuration ignores claims \
             (https://github.com/kai-scheduler/KAI-Scheduler/blob/v0.17.0/docs/dra/README.md), and KAI has not been tried \
             with claims that the pods of a gang share",
        ),
    ],
    properties: &[
        Property::CustomResources,
        Property::ResizableResources,
        Property::SeveralTopologies,
        Property::PendingGangsDoNotBlock,
    ],
    ..TargetDescription::new("kai-scheduler", Scheduler::KAI, "kai-scheduler", Workload::PodCliqueSets)
};
