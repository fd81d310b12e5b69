//! kube-scheduler with the Workload API, in three mappings.

use super::{Description, NEVER_HALF, NO_PLACE_PER_REPLICA};
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::scheduler::Scheduler;
use crate::target::{Column, ReportedVersion, Target};

impl Target {
    /// kube-scheduler, one gang per podgroup: the flat mapping of proposal 531.
    pub const KUBE_POD_GROUP: Self = Self::of(&POD_GROUP);
    /// kube-scheduler, one gang per PodGang.
    pub const KUBE_POD_GANG: Self = Self::of(&POD_GANG);
    /// kube-scheduler of Kubernetes 1.37, a tree of CompositePodGroups per PodGang.
    pub const KUBE_TREE: Self = Self::of(&TREE);
}

/// The targets of kube-scheduler.
pub const KUBE: &[Target] = &[Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG, Target::KUBE_TREE];

pub(super) static DESCRIPTION: Description =
    Description { columns: &[&POD_GROUP, &POD_GANG, &TREE], kinds: &KINDS };

const KINDS: [Kind; 3] = [
    kind("scheduling.k8s.io/v1beta1", "Workload", "workloads")
        .or(&["scheduling.k8s.io/v1alpha2"])
        .of(Scheduler::KUBE),
    kind("scheduling.k8s.io/v1beta1", "PodGroup", "podgroups")
        .or(&["scheduling.k8s.io/v1alpha2"])
        .of(Scheduler::KUBE),
    kind("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "compositepodgroups").of(Scheduler::KUBE),
];

const EXTERNAL: (Feature, &str) =
    (Feature::External, "its scheduler reads gang resources of its own, not PodGangs");
const PREFERRED: (Feature, &str) =
    (Feature::TopologyPreferred, "schedulingConstraints know required keys only");
const RESOURCE: (Feature, &str) =
    (Feature::TopologyResource, "kube-scheduler has no topology resource; it reads node labels");
const NO_LEVEL_BETWEEN: &str = "a Workload of 1.36 has no level between PodGang and PodGroup";
const PER_GROUP: (Feature, &str) = (Feature::TopologyPerGroup, NO_LEVEL_BETWEEN);
const NESTED: (Feature, &str) = (Feature::TopologyNested, NO_LEVEL_BETWEEN);
const COMPOSITE: (Feature, &str) =
    (Feature::CompositePodGroup, "CompositePodGroup comes with Kubernetes 1.37");

const FIXED_SIZE: (Feature, &str) =
    (Feature::ScaleToZero, "the size of its hard gang is in objects that the API does not let change");

const TOPOLOGY_GATE: (&str, &str) = ("TopologyAwareWorkloadScheduling", "TOPO-02");

/// The common part of the three.
const ANY: Column = Column {
    id: "",
    scheduler: Scheduler::KUBE,
    backend: "default-scheduler",
    name: "default-scheduler",
    scope: None,
    trees: None,
    features: &[],
    why_not: &[],
    gates: &[("GangScheduling", "AON-02"), TOPOLOGY_GATE],
    version: ReportedVersion::OfProgram("kube-scheduler"),
    external: None,
    workload: Workload::PodCliqueSets,
};

static POD_GROUP: Column = Column {
    id: "default-scheduler-podgroup",
    scope: Some("PodGroup"),
    trees: Some(false),
    features: &[
        Feature::GangScheduling,
        Feature::TopologyRequired,
        Feature::TopologyPerClique,
        Feature::SelfHealing,
        Feature::Kubelet,
        Feature::Autoscaling,
        Feature::StartupOrder,
        Feature::PodGangStatus,
        Feature::Metrics,
        Feature::Claims,
        Feature::FreshGang,
        Feature::RevisionedRestore,
        Feature::StuckGangRelease,
        Feature::HalfGangRelease,
        Feature::ScaleToZero,
    ],
    why_not: &[
        (
            Feature::AtomicPodGang,
            "kube-scheduler 1.36 schedules each PodGroup for itself; no PodGroup spans the cliques of a PodGang",
        ),
        PER_GROUP,
        NESTED,
        NO_PLACE_PER_REPLICA,
        PREFERRED,
        RESOURCE,
        COMPOSITE,
        EXTERNAL,
    ],
    ..ANY
};

static POD_GANG: Column = Column {
    id: "default-scheduler-podgang",
    scope: Some("PodGang"),
    trees: Some(false),
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
        Feature::Claims,
        Feature::FreshGang,
        Feature::RevisionedRestore,
        Feature::StuckGangRelease,
    ],
    why_not: &[
        (
            Feature::TopologyPerClique,
            "one PodGroup holds the whole hard gang, and it has room for one topology key only",
        ),
        PER_GROUP,
        NESTED,
        NO_PLACE_PER_REPLICA,
        NEVER_HALF,
        FIXED_SIZE,
        PREFERRED,
        RESOURCE,
        COMPOSITE,
        EXTERNAL,
    ],
    ..ANY
};

static TREE: Column = Column {
    id: "default-scheduler-tree",
    scope: Some("Tree"),
    trees: Some(true),
    features: &[
        Feature::GangScheduling,
        Feature::AtomicPodGang,
        Feature::TopologyRequired,
        Feature::TopologyPerGroup,
        Feature::TopologyPerClique,
        Feature::TopologyNested,
        Feature::CompositePodGroup,
        Feature::SelfHealing,
        Feature::Kubelet,
        Feature::Autoscaling,
        Feature::StartupOrder,
        Feature::PodGangStatus,
        Feature::Metrics,
        Feature::Claims,
        Feature::FreshGang,
        Feature::RevisionedRestore,
        Feature::StuckGangRelease,
    ],
    why_not: &[NO_PLACE_PER_REPLICA, NEVER_HALF, FIXED_SIZE, PREFERRED, RESOURCE, EXTERNAL],
    gates: &[("GenericWorkload", "AON-02"), TOPOLOGY_GATE, ("CompositePodGroup", "AON-08")],
    ..ANY
};
