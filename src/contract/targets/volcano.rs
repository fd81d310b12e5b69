use super::SchedulerDescription;
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::property::Property;
use crate::scheduler::Scheduler;
use crate::target::{Target, TargetDescription};

impl Target {
    /// PodCliqueSets on Volcano.
    pub const VOLCANO: Self = Self::of(&VOLCANO);
}

impl Scheduler {
    /// Volcano's vc-scheduler.
    pub const VOLCANO: Self = Self::named("volcano");
}

pub(super) static DESCRIPTION: SchedulerDescription =
    SchedulerDescription { targets: &[&VOLCANO], kinds: &KINDS };

const KINDS: [Kind; 3] = [
    kind("scheduling.volcano.sh/v1beta1", "PodGroup.scheduling.volcano.sh", "podgroups")
        .of_scheduler(Scheduler::VOLCANO),
    kind("scheduling.volcano.sh/v1beta1", "Queue.scheduling.volcano.sh", "queues")
        .cluster_scoped()
        .of_scheduler(Scheduler::VOLCANO),
    kind("topology.volcano.sh/v1alpha1", "HyperNode", "hypernodes")
        .cluster_scoped()
        .of_scheduler(Scheduler::VOLCANO),
];

static VOLCANO: TargetDescription = TargetDescription {
    features: &[
        Feature::GangScheduling,
        Feature::AtomicPodGang,
        Feature::TopologyRequired,
        Feature::TopologyPerClique,
        Feature::TopologyResource,
        Feature::SelfHealing,
        Feature::Kubelet,
        Feature::Autoscaling,
        Feature::StartupOrder,
        Feature::PodGangStatus,
        Feature::Metrics,
        Feature::FreshGang,
        Feature::RevisionedRestore,
        Feature::StuckGangRelease,
        Feature::ScaleToZero,
        Feature::Preemption,
        Feature::Reclaim,
    ],
    why_not: &[
        (
            Feature::TopologyPerGroup,
            "a PodGroup has one subgroup per podgroup, and none for all podgroups of a scaling group",
        ),
        (
            Feature::TopologyNested,
            "networkTopology has two levels, one for the job and one for the subgroup, and no third",
        ),
        (
            Feature::TopologyPreferred,
            "networkTopology is either hard or soft, so a preferred level cannot accompany a required one; \
             a soft one alone only scores nodes",
        ),
        (
            Feature::Claims,
            "Volcano's default configuration ignores claims \
             (https://github.com/volcano-sh/volcano/blob/v1.15.1/docs/user-guide/how_to_enable_dra.md), so the backend refuses \
             shared claims",
        ),
    ],
    properties: &[
        Property::CustomResources,
        Property::ResizableResources,
        Property::PendingGangsDoNotBlock,
        Property::OwnScheduler,
    ],
    ..TargetDescription::new("volcano", Scheduler::VOLCANO, "vc-scheduler", Workload::PodCliqueSets)
};
