use kube::api::ApiResource;

use crate::backend::crd::Crd;
use crate::backend::objects::kind;

pub const KAI_SCHEDULER: &str = "kai-scheduler";

pub(super) const RELEASE: &str = "KAI 0.15";

/// The CRDs that KAI's scheduler needs: it hangs if one is missing. `minSubGroup` exists since release 0.15.
/// It sets how many subgroups of a constrained group must start together. Older CRDs drop it.
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

pub(super) const PREFIX: &str = "kai.scheduler/";
pub(super) const KEY_QUEUE: &str = "kai.scheduler/queue";
pub(super) const LABEL_NODE_POOL: &str = "kai.scheduler/node-pool";
pub(super) const LABEL_SUB_GROUP: &str = "kai.scheduler/subgroup-name";
/// Annotation of a pod: its PodGroup, in the pod's namespace.
pub(super) const ANNOTATION_POD_GROUP: &str = "pod-group-name";
/// Annotation of PodGangs and pods: `"true"` makes KAI's podgrouper ignore them (KAI-02).
pub(super) const ANNOTATION_SKIP_PODGROUPER: &str = "kai.scheduler/skip-podgrouper";
/// Annotation of a PodGang: name of the KAI Topology, if it names no ClusterTopologyBinding.
pub(super) const ANNOTATION_TOPOLOGY: &str = "kai.scheduler/topology";

pub(super) fn pod_groups() -> ApiResource {
    kind("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups")
}

pub(super) fn topologies() -> ApiResource {
    kind("kai.scheduler", "v1alpha1", "Topology", "topologies")
}
