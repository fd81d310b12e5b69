use super::SchedulerDescription;
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::property::Property;
use crate::scheduler::Scheduler;
use crate::target::{Target, TargetDescription};

impl Target {
    /// PodCliqueSets on Koordinator.
    pub const KOORDINATOR: Self = Self::of(&KOORDINATOR);
}

impl Scheduler {
    /// Koordinator's koord-scheduler.
    pub const KOORDINATOR: Self = Self::named("koord-scheduler");
}

pub(super) static DESCRIPTION: SchedulerDescription =
    SchedulerDescription { targets: &[&KOORDINATOR], kinds: &KINDS };

const KINDS: [Kind; 2] = [
    kind("scheduling.sigs.k8s.io/v1alpha1", "PodGroup.scheduling.sigs.k8s.io", "podgroups")
        .of_scheduler(Scheduler::KOORDINATOR),
    kind("scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology", "clusternetworktopologies")
        .cluster_scoped()
        .of_scheduler(Scheduler::KOORDINATOR),
];

const ONE_SPEC: &str = "Koordinator honours one network-topology-spec per GangGroup";

static KOORDINATOR: TargetDescription = TargetDescription {
    features: &[
        Feature::GangScheduling,
        Feature::AtomicPodGang,
        Feature::TopologyRequired,
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
    ],
    why_not: &[
        (Feature::TopologyPerGroup, ONE_SPEC),
        (Feature::TopologyPerClique, ONE_SPEC),
        (Feature::TopologyNested, ONE_SPEC),
        (
            Feature::TopologyPreferred,
            "Koordinator 1.8 ignores PreferGather and always packs a gang into the lowest layer with room",
        ),
        (
            Feature::TopologyResource,
            "the administrator owns the ClusterNetworkTopology, and the backend only reads it",
        ),
        (
            Feature::Claims,
            "Koordinator rejects a pod while its claim is being allocated for another pod of the gang, \
             so the backend refuses shared claims",
        ),
        (
            Feature::Preemption,
            "Koordinator 1.8 ships enablePreemption off, and describes preemption by gangs only in a provisional \
             proposal (https://github.com/koordinator-sh/koordinator/blob/v1.8.0/docs/proposals/scheduling/20240115-support-job-level-preemption.md)",
        ),
        (
            Feature::Reclaim,
            "Koordinator returns borrowed quota pod by pod, in the order of their priority, and not in gangs \
             (https://github.com/koordinator-sh/koordinator/blob/v1.8.0/docs/proposals/scheduling/20220722-multi-hierarchy-elastic-quota-management.md)",
        ),
    ],
    properties: &[
        Property::CustomResources,
        Property::ResizableResources,
        Property::SeveralTopologies,
        Property::OwnScheduler,
    ],
    ..TargetDescription::new(
        "koord-scheduler",
        Scheduler::KOORDINATOR,
        "koord-scheduler",
        Workload::PodCliqueSets,
    )
};
