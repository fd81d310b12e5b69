//! kube-scheduler on the Workload API.

pub(crate) mod admission;
pub(crate) mod composite_api_enabled_later;
pub(crate) mod gang_resources;
pub(crate) mod gang_scheduling_disabled;
pub(crate) mod gate_declared_off;
pub(crate) mod live_resources_unchanged;
pub(crate) mod mapping;
pub(crate) mod names_and_limits;
pub(crate) mod one_priority;
pub(crate) mod own_scheduling_group;
pub(crate) mod pod_gang_scope;
pub(crate) mod podgroup_later;
pub(crate) mod topology_keys;
pub(crate) mod tree;
pub(crate) mod tree_fails_closed;
pub(crate) mod tree_surplus;
pub(super) mod unmanaged_gangs;
