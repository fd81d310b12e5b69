//! Reconcilers of statuses: one file per kind, and the conditions that several of them report.
//!
//! A status is written after a pause, which collects changes, and only if it differs. The reconciler of
//! ClusterTopologyBindings writes the status that `cluster_topology_binding` computes here.

pub(crate) mod cluster_topology_binding;
mod disruption;
pub(crate) mod held;
pub(crate) mod pod_clique;
pub(crate) mod pod_clique_set;
pub(crate) mod pod_gang;
pub(crate) mod scaling_group;
mod startup_wait;
mod unbound_claims;
