//! Reconcilers of statuses. A status is written after a pause, which collects changes, and only if it
//! differs.

pub(crate) mod cluster_topology_binding;
mod disruption;
pub(crate) mod held;
pub(crate) mod pod_clique;
pub(crate) mod pod_clique_set;
pub(crate) mod pod_gang;
pub(crate) mod scaling_group;
mod startup_wait;
mod unbound_claims;
