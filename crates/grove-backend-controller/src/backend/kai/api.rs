//! KAI's API as far as a gang needs it: kinds, keys of labels and annotations, and the CRDs that have to be there.

use kube::api::{ApiResource, GroupVersionKind};

use crate::backend::crd::Crd;

/// The oldest release that this backend works with.
pub(super) const RELEASE: &str = "KAI 0.15";

/// What KAI's scheduler itself needs: it hangs if one is missing. `minSubGroup` came with release 0.15; an older CRD
/// would drop it, and with it the rule how much of a constrained group has to start together.
pub(super) const CRDS: [Crd; 4] = [
    Crd {
        name: "podgroups.scheduling.run.ai",
        version: "v2alpha2",
        field: Some("spec.subGroups[].minSubGroup"),
    },
    Crd { name: "queues.scheduling.run.ai", version: "v2", field: None },
    Crd { name: "bindrequests.scheduling.run.ai", version: "v1alpha2", field: None },
    Crd { name: "topologies.kai.scheduler", version: "v1alpha1", field: None },
];

/// Prefix of KAI's own labels and annotations.
pub(super) const PREFIX: &str = "kai.scheduler/";
/// Label or annotation: the queue.
pub(super) const KEY_QUEUE: &str = "kai.scheduler/queue";
/// Label of PodGroups, pods and nodes: the part of the cluster that serves them.
pub(super) const LABEL_NODE_POOL: &str = "kai.scheduler/node-pool";
/// Label of a pod: its leaf subgroup.
pub(super) const LABEL_SUB_GROUP: &str = "kai.scheduler/subgroup-name";
/// Annotation of a pod: its PodGroup, in its own namespace.
pub(super) const ANNOTATION_POD_GROUP: &str = "pod-group-name";
/// Annotation of PodGangs and pods that keeps KAI's podgrouper off; its value is `"true"` (KAI-02).
pub(super) const ANNOTATION_SKIP_PODGROUPER: &str = "kai.scheduler/skip-podgrouper";
/// Annotation of a PodGang: name of the KAI Topology, where no ClusterTopologyBinding is named.
pub(super) const ANNOTATION_TOPOLOGY: &str = "kai.scheduler/topology";

/// PodGroup `scheduling.run.ai/v2alpha2`.
pub(super) fn pod_groups() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("scheduling.run.ai", "v2alpha2", "PodGroup"),
        "podgroups",
    )
}

/// Topology `kai.scheduler/v1alpha1`, not namespaced.
pub(super) fn topologies() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("kai.scheduler", "v1alpha1", "Topology"),
        "topologies",
    )
}
