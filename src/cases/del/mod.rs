//! Deletion and cleanup.

pub(crate) mod all_objects_deleted;
pub(crate) mod capacity_freed;
pub(crate) mod controller_down;
pub(crate) mod foreign_gate_and_finalizer;
pub(crate) mod namespace_removed;
pub(crate) mod pending_deleted;
pub(crate) mod replica_removed;
pub(crate) mod same_name_again;
pub(crate) mod same_name_api_faults;
pub(crate) mod scaled_gang_removed;
pub(crate) mod scheduler_down;
pub(crate) mod shared_claims;
pub(crate) mod topology_resources;
