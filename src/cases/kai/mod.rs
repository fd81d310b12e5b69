//! KAI.

mod managed_fields;
mod no_topology_name;
mod pod_group;
mod podgrouper;
mod queues;
mod topology;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &pod_group::CASE,
    &queues::CASE,
    &managed_fields::CASE,
    &topology::CASE,
    &no_topology_name::CASE,
    &podgrouper::CASE,
];
