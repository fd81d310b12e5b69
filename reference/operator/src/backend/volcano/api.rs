use kube::api::ApiResource;

use crate::backend::crd::Crd;
use crate::backend::objects::kind;

pub const VOLCANO: &str = "volcano";

/// The first release with subgroup policies.
pub(super) const RELEASE: &str = "Volcano 1.14";

/// An older PodGroup would drop the subgroups, and with them the minimum of each podgroup.
pub(super) const CRDS: &[Crd] = &[
    Crd { name: "podgroups.scheduling.volcano.sh", version: "v1beta1", field: Some("spec.subGroupPolicy") },
    Crd { name: "queues.scheduling.volcano.sh", version: "v1beta1", field: None },
    Crd { name: "hypernodes.topology.volcano.sh", version: "v1alpha1", field: None },
];

/// Annotations of a pod: its PodGroup, in the pod's namespace (VOL-02).
pub(super) const ANNOTATIONS_GROUP_NAME: [&str; 2] =
    ["scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"];
/// Annotation of a PodCliqueSet or a clique: name of the Queue.
pub(super) const ANNOTATION_QUEUE: &str = "scheduling.grove.io/volcano-queue";
/// Annotation of a PodGang: the Queue of its PodCliqueSet when the PodGang was created.
pub(super) const ANNOTATION_PINNED_QUEUE: &str = "grove.io/volcano-queue";
/// The Queue of PodCliqueSets that name none. Volcano creates it.
pub(super) const DEFAULT_QUEUE: &str = "default";

pub(super) const LABEL_TOPOLOGY: &str = "grove.io/topology-name";
pub(super) const LABEL_TIER: &str = "grove.io/topology-tier";

pub(super) fn pod_groups() -> ApiResource {
    kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
}

pub(super) fn queues() -> ApiResource {
    kind("scheduling.volcano.sh", "v1beta1", "Queue", "queues")
}

pub(super) fn hyper_nodes() -> ApiResource {
    kind("topology.volcano.sh", "v1alpha1", "HyperNode", "hypernodes")
}
