//! Koordinator.

use super::{Description, NEVER_HALF, NO_PLACE_PER_REPLICA};
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::scheduler::Scheduler;
use crate::target::{Column, ReportedVersion, Target};

impl Target {
    /// PodCliqueSets on Koordinator.
    pub const KOORDINATOR: Self = Self::of(&COLUMN);
}

pub(super) static DESCRIPTION: Description = Description { columns: &[&COLUMN], kinds: &KINDS };

const KINDS: [Kind; 2] = [
    kind("scheduling.sigs.k8s.io/v1alpha1", "PodGroup.scheduling.sigs.k8s.io", "podgroups")
        .of(Scheduler::named("koord-scheduler")),
    kind("scheduling.koordinator.sh/v1alpha1", "ClusterNetworkTopology", "clusternetworktopologies")
        .of_the_cluster()
        .of(Scheduler::named("koord-scheduler")),
];

const ONE_SPEC: &str = "Koordinator honours one network-topology-spec per GangGroup";

static COLUMN: Column = Column {
    id: "koord-scheduler",
    scheduler: Scheduler::named("koord-scheduler"),
    backend: "koord-scheduler",
    name: "koord-scheduler",
    scope: None,
    trees: None,
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
        NO_PLACE_PER_REPLICA,
        NEVER_HALF,
        (Feature::TopologyPerGroup, ONE_SPEC),
        (Feature::TopologyPerClique, ONE_SPEC),
        (Feature::TopologyNested, ONE_SPEC),
        (
            Feature::TopologyPreferred,
            "Koordinator 1.8 does not read PreferGather: it always packs to the lowest layer that holds the gang",
        ),
        (Feature::TopologyResource, "ClusterNetworkTopology is the administrator's; the backend reads it"),
        (
            Feature::Claims,
            "its scheduler refuses a pod whose claim is being allocated for another one of its gang; shared claims are refused",
        ),
        (Feature::CompositePodGroup, "it has gang resources of its own"),
        (Feature::External, "its scheduler reads gang resources of its own, not PodGangs"),
    ],
    gates: &[],
    version: ReportedVersion::OfProgram("koord-scheduler"),
    external: None,
    workload: Workload::PodCliqueSets,
};
