//! Volcano's API as far as a gang needs it: kinds, keys of labels and annotations, and the CRDs that have to
//! be there.

use kube::api::{ApiResource, GroupVersionKind};

use crate::backend::crd::Crd;

/// The oldest release that this backend works with: the first with subgroup policies.
pub(super) const RELEASE: &str = "Volcano 1.14";

/// What has to be installed. An older PodGroup would drop the subgroups, and with them the minimum of each
/// podgroup.
pub(super) const CRDS: &[Crd] = &[
    Crd { name: "podgroups.scheduling.volcano.sh", version: "v1beta1", field: Some("spec.subGroupPolicy") },
    Crd { name: "queues.scheduling.volcano.sh", version: "v1beta1", field: None },
    Crd { name: "hypernodes.topology.volcano.sh", version: "v1alpha1", field: None },
];

/// Annotations of a pod: its PodGroup, in its own namespace (VOL-02).
pub(super) const ANNOTATIONS_GROUP_NAME: [&str; 2] =
    ["scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"];
/// Annotation of a PodCliqueSet or a clique: name of the Queue.
pub(super) const ANNOTATION_QUEUE: &str = "scheduling.grove.io/volcano-queue";
/// Annotation of a PodGang: the Queue that its PodCliqueSet resolved to when the PodGang was made.
pub(super) const ANNOTATION_PINNED_QUEUE: &str = "grove.io/volcano-queue";
/// The Queue of those that name none. Volcano makes it.
pub(super) const DEFAULT_QUEUE: &str = "default";

/// Label of a HyperNode: its ClusterTopologyBinding.
pub(super) const LABEL_TOPOLOGY: &str = "grove.io/topology-name";
/// Label of a HyperNode: its tier.
pub(super) const LABEL_TIER: &str = "grove.io/topology-tier";

/// PodGroup `scheduling.volcano.sh/v1beta1`.
pub(super) fn pod_groups() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "PodGroup"),
        "podgroups",
    )
}

/// Queue `scheduling.volcano.sh/v1beta1`, not namespaced.
pub(super) fn queues() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "Queue"),
        "queues",
    )
}

/// HyperNode `topology.volcano.sh/v1alpha1`, not namespaced.
pub(super) fn hyper_nodes() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("topology.volcano.sh", "v1alpha1", "HyperNode"),
        "hypernodes",
    )
}
