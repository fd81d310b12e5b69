use super::SchedulerDescription;
use crate::clauses::{Feature, Workload};
use crate::kinds::{Kind, kind};
use crate::property::Property;
use crate::scheduler::Scheduler;
use crate::target::{Target, TargetDescription};

impl Target {
    /// kube-scheduler with one gang per podgroup, the flat mapping of proposal 531.
    pub const KUBE_POD_GROUP: Self = Self::of(&POD_GROUP);
    /// kube-scheduler with one gang per PodGang.
    pub const KUBE_POD_GANG: Self = Self::of(&POD_GANG);
    /// kube-scheduler of Kubernetes 1.37 with a tree of CompositePodGroups per PodGang.
    pub const KUBE_TREE: Self = Self::of(&TREE);
}

/// The targets of kube-scheduler.
pub const KUBE: &[Target] = &[Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG, Target::KUBE_TREE];

pub(super) static DESCRIPTION: SchedulerDescription =
    SchedulerDescription { targets: &[&POD_GROUP, &POD_GANG, &TREE], kinds: &KINDS };

const KINDS: [Kind; 3] = [
    kind("scheduling.k8s.io/v1beta1", "Workload", "workloads")
        .or_older(&["scheduling.k8s.io/v1alpha2"])
        .of_scheduler(Scheduler::KUBE),
    kind("scheduling.k8s.io/v1beta1", "PodGroup", "podgroups")
        .or_older(&["scheduling.k8s.io/v1alpha2"])
        .of_scheduler(Scheduler::KUBE),
    kind("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "compositepodgroups")
        .of_scheduler(Scheduler::KUBE),
];

const PREFERRED: (Feature, &str) =
    (Feature::TopologyPreferred, "the schedulingConstraints of a PodGroup have no preferred keys");
const RESOURCE: (Feature, &str) =
    (Feature::TopologyResource, "kube-scheduler reads node labels and has no topology resource");
const NO_LEVEL_BETWEEN: &str = "a Workload of Kubernetes 1.36 has no level between PodGang and PodGroup";
const PER_GROUP: (Feature, &str) = (Feature::TopologyPerGroup, NO_LEVEL_BETWEEN);
const NESTED: (Feature, &str) = (Feature::TopologyNested, NO_LEVEL_BETWEEN);
const COMPOSITE: (Feature, &str) =
    (Feature::CompositePodGroup, "Kubernetes serves CompositePodGroup since version 1.37");

const FIXED_SIZE: (Feature, &str) =
    (Feature::ScaleToZero, "the API does not let the size of an existing hard gang change");

const NO_PREEMPTION: (Feature, &str) = (
    Feature::Preemption,
    "preemption for PodGroups is alpha and off by default in Kubernetes 1.36 \
     (https://kubernetes.io/docs/concepts/scheduling-eviction/workload-aware-preemption/)",
);

const NO_RECLAIM: (Feature, &str) = (
    Feature::Reclaim,
    "kube-scheduler has no queues, and the limits of a ResourceQuota evict nothing \
     (https://kubernetes.io/docs/concepts/policy/resource-quotas/)",
);

const TOPOLOGY_GATE: (&str, &str) = ("TopologyAwareWorkloadScheduling", "TOPO-02");

const ANY: TargetDescription = TargetDescription {
    properties: &[Property::SeveralTopologies, Property::PendingGangsDoNotBlock, Property::OwnScheduler],
    gates: &[("GangScheduling", "AON-02"), TOPOLOGY_GATE],
    ..TargetDescription::new("default-scheduler", Scheduler::KUBE, "kube-scheduler", Workload::PodCliqueSets)
};

static POD_GROUP: TargetDescription = TargetDescription {
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
            "kube-scheduler 1.36 schedules each PodGroup separately, and none spans the cliques of a PodGang",
        ),
        PER_GROUP,
        NESTED,
        PREFERRED,
        RESOURCE,
        COMPOSITE,
        NO_PREEMPTION,
        NO_RECLAIM,
    ],
    ..ANY
};

static POD_GANG: TargetDescription = TargetDescription {
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
            "one PodGroup contains the whole hard gang, and has room for one topology key",
        ),
        PER_GROUP,
        NESTED,
        FIXED_SIZE,
        PREFERRED,
        RESOURCE,
        COMPOSITE,
        NO_PREEMPTION,
        NO_RECLAIM,
    ],
    ..ANY
};

static TREE: TargetDescription = TargetDescription {
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
        Feature::Preemption,
    ],
    why_not: &[FIXED_SIZE, PREFERRED, RESOURCE, NO_RECLAIM],
    gates: &[("GenericWorkload", "AON-02"), TOPOLOGY_GATE, ("CompositePodGroup", "AON-08")],
    ..ANY
};
