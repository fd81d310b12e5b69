//! Types have upstream's Go names; fields have the JSON names in snake case. The feature `schema` is
//! separate, because the schemas of all Kubernetes types take a minute to compile. The conformance suite does
//! not depend on this crate: it has its own copies of the names that it checks.

mod autoscaling;
mod cluster_topology_binding;
#[cfg(feature = "schema")]
mod core_schema;
#[cfg(feature = "schema")]
mod crds;
pub mod instances;
pub mod names;
mod pod_clique;
mod pod_clique_scaling_group;
mod pod_clique_set;
mod pod_clique_set_status;
mod pod_gang;
mod pod_spec;
mod resource_sharing;
#[cfg(all(test, feature = "schema"))]
mod samples;
#[cfg(feature = "schema")]
mod schema;
mod topology;

pub use autoscaling::AutoScalingConfig;
pub use cluster_topology_binding::{
    ClusterTopologyBinding, ClusterTopologyBindingSpec, ClusterTopologyBindingStatus,
    SchedulerTopologyBinding, SchedulerTopologyStatus, TopologyLevel,
};
#[cfg(feature = "schema")]
pub use crds::crds;
pub use pod_clique::{
    PodClique, PodCliqueSpec, PodCliqueStatus, PodCliqueUpdateProgress, PodsSelectedToUpdate,
};
pub use pod_clique_scaling_group::{
    PodCliqueScalingGroup, PodCliqueScalingGroupReplicaUpdateProgress, PodCliqueScalingGroupSpec,
    PodCliqueScalingGroupStatus, PodCliqueScalingGroupUpdateProgress,
};
pub use pod_clique_set::{
    CliqueStartupType, HeadlessServiceConfig, PodCliqueScalingGroupConfig, PodCliqueSet, PodCliqueSetSpec,
    PodCliqueSetTemplateSpec, PodCliqueSetUpdateStrategy, PodCliqueTemplateSpec, UpdateStrategyType,
};
pub use pod_clique_set_status::{
    LastError, PodCliqueSetPodGangStatus, PodCliqueSetReplicaUpdateProgress, PodCliqueSetStatus,
    PodCliqueSetUpdateProgress,
};
pub use pod_gang::{
    NamespacedName, PodGang, PodGangPackConstraint, PodGangPhase, PodGangSpec, PodGangStatus,
    PodGangTopologyConstraint, PodGroup, TopologyConstraintGroupConfig,
};
pub use pod_spec::PodSpecJson;
pub use resource_sharing::{
    PCSGResourceSharingFilter, PCSGResourceSharingSpec, PCSResourceSharingFilter, PCSResourceSharingSpec,
    ResourceClaimTemplateConfig, ResourceSharingScope, ResourceSharingSpec,
};
pub use topology::{TopologyConstraint, TopologyPackConstraint};
