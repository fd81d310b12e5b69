//! Volcano.

mod network_topology;
mod own_fields;
mod queues;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[&own_fields::CASE, &queues::CASE, &network_topology::CASE];
