//! Deletion and cleanup.

mod capacity_freed;
mod controller_down;
mod everything_gone;
mod namespace_removed;
mod pending_deleted;
mod replica_removed;
mod same_name_again;
mod scaled_gang_removed;
mod topology_resources;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &everything_gone::CASE,
    &replica_removed::CASE,
    &scaled_gang_removed::CASE,
    &pending_deleted::CASE,
    &capacity_freed::CASE,
    &controller_down::CASE,
    &namespace_removed::CASE,
    &same_name_again::CASE,
    &topology_resources::CASE,
];
