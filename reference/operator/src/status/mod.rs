//! Reconcilers of statuses. A reconciler waits for more changes before it computes a status, and writes the
//! status only if it differs.

pub(crate) mod cluster_topology_binding;
mod disruption;
mod foreign_gates;
pub(crate) mod held;
pub(crate) mod pod_clique;
pub(crate) mod pod_clique_set;
pub(crate) mod pod_gang;
pub(crate) mod scaling_group;
mod startup_wait;
mod unbound_claims;
