//! KAI-Scheduler.

use super::{Description, NEVER_HALF, NO_PLACE_PER_REPLICA};
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::scheduler::Scheduler;
use crate::target::{Column, ReportedVersion, Target};

impl Target {
    /// PodCliqueSets on KAI-Scheduler.
    pub const KAI: Self = Self::of(&COLUMN);
}

pub(super) static DESCRIPTION: Description = Description { columns: &[&COLUMN], kinds: &KINDS };

const KINDS: [Kind; 3] = [
    kind("scheduling.run.ai/v2alpha2", "PodGroup.scheduling.run.ai", "podgroups")
        .of(Scheduler::named("kai-scheduler")),
    kind("scheduling.run.ai/v2", "Queue.scheduling.run.ai", "queues")
        .of_the_cluster()
        .of(Scheduler::named("kai-scheduler")),
    kind("kai.scheduler/v1alpha1", "Topology", "topologies")
        .of_the_cluster()
        .of(Scheduler::named("kai-scheduler")),
];

static COLUMN: Column = Column {
    id: "kai-scheduler",
    scheduler: Scheduler::named("kai-scheduler"),
    backend: "kai-scheduler",
    name: "kai-scheduler",
    scope: None,
    trees: None,
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
    ],
    why_not: &[
        NO_PLACE_PER_REPLICA,
        NEVER_HALF,
        (
            Feature::FreshGang,
            "its PodGroup is one for all generations of a gang, and counts a pod that hangs",
        ),
        (Feature::Claims, "what KAI makes of a claim that a gang shares has not been tried"),
        (Feature::CompositePodGroup, "it has gang resources of its own"),
        (Feature::External, "its scheduler reads gang resources of its own, not PodGangs"),
    ],
    gates: &[],
    version: ReportedVersion::OfProgram("kai-scheduler"),
    external: None,
    workload: Workload::PodCliqueSets,
};
