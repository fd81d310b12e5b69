//! Admission webhooks for PodCliqueSets, ClusterTopologyBindings and scaling. They write no objects. Messages
//! follow upstream's wording where upstream has the rule, so that one conformance case covers both.

mod autoscaling;
mod cluster_topology_binding;
mod defaulting;
mod derived_names;
mod findings;
#[cfg(test)]
pub(crate) mod fixture;
mod immutability;
mod names;
mod overwritten;
mod pod_priority;
mod pod_template;
mod resource_sharing;
mod scale;
mod scheduler;
mod server;
mod startup_order;
mod state;
mod structure;
mod topology;
mod topology_bindings;
mod topology_change;
mod unsupported;
mod validate;

pub use cluster_topology_binding::validate_cluster_topology_binding;
pub use defaulting::default_pod_clique_set;
pub use scale::{ScaleTarget, ScaledObjects};
pub use server::{
    DEFAULT_POD_CLIQUE_SET_PATH, VALIDATE_CLUSTER_TOPOLOGY_PATH, VALIDATE_POD_CLIQUE_SET_PATH,
    VALIDATE_SCALE_PATH, router,
};
pub use state::AdmissionState;
pub use topology_bindings::{LookupError, TopologyBindings};
pub use validate::{validate_create, validate_update};
