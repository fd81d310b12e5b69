//! Volcano.

use super::{Description, NEVER_HALF, NO_PLACE_PER_REPLICA};
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::scheduler::Scheduler;
use crate::target::{Column, ReportedVersion, Target};

impl Target {
    /// PodCliqueSets on Volcano.
    pub const VOLCANO: Self = Self::of(&COLUMN);
}

pub(super) static DESCRIPTION: Description = Description { columns: &[&COLUMN], kinds: &KINDS };

const KINDS: [Kind; 3] = [
    kind("scheduling.volcano.sh/v1beta1", "PodGroup.scheduling.volcano.sh", "podgroups")
        .of(Scheduler::named("volcano")),
    kind("scheduling.volcano.sh/v1beta1", "Queue.scheduling.volcano.sh", "queues")
        .of_the_cluster()
        .of(Scheduler::named("volcano")),
    kind("topology.volcano.sh/v1alpha1", "HyperNode", "hypernodes")
        .of_the_cluster()
        .of(Scheduler::named("volcano")),
];

static COLUMN: Column = Column {
    id: "volcano",
    scheduler: Scheduler::named("volcano"),
    backend: "volcano",
    name: "volcano",
    scope: None,
    trees: None,
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
    ],
    why_not: &[
        NO_PLACE_PER_REPLICA,
        NEVER_HALF,
        (
            Feature::TopologyPerGroup,
            "a PodGroup has a subgroup per podgroup and none for the podgroups of a scaling group together",
        ),
        (
            Feature::TopologyNested,
            "networkTopology has two levels, the job's and the subgroup's; three cannot be said",
        ),
        (
            Feature::TopologyPreferred,
            "networkTopology is either hard or soft; a preferred level beside a required one cannot be said, and \
             soft alone scores nodes only",
        ),
        (
            Feature::Claims,
            "its scheduler looks at no claim in its default configuration; shared ones are refused",
        ),
        (Feature::CompositePodGroup, "it has gang resources of its own"),
        (Feature::External, "its scheduler reads gang resources of its own, not PodGangs"),
    ],
    gates: &[],
    version: ReportedVersion::OfProgram("vc-scheduler"),
    external: None,
    workload: Workload::PodCliqueSets,
};
