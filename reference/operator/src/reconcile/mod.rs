//! Reconcilers of objects. They write two statuses: a PodGang's `Initialized`, and that of topology bindings.

mod autoscalers;
pub(crate) mod cluster_topology_binding;
pub(crate) mod gang_termination;
mod half_gangs;
mod init_access;
pub(crate) mod pod_clique;
pub(crate) mod pod_clique_set;
mod pod_creation;
pub(crate) mod pod_gang;
mod resource_claims;
pub(crate) mod scaling_group;
