//! kube-scheduler on the Workload API.

pub(crate) mod admission;
pub(crate) mod composite_later;
pub(crate) mod declared_gates;
pub(crate) mod escape_hatch;
pub(crate) mod gang_resources;
pub(super) mod hands_off;
pub(crate) mod mapping;
pub(crate) mod names_and_limits;
pub(crate) mod never_reshaped;
pub(crate) mod pass_through;
pub(crate) mod pod_gang_scope;
pub(crate) mod podgroup_later;
pub(crate) mod topology_keys;
pub(crate) mod tree;
pub(crate) mod tree_fails_closed;
pub(crate) mod tree_surplus;
