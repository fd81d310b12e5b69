//! kube-scheduler on the Workload API.

mod composite_later;
mod declared_gates;
mod escape_hatch;
mod gang_resources;
pub(super) mod hands_off;
mod mapping;
mod names_and_limits;
mod never_reshaped;
mod pass_through;
mod pod_gang_scope;
mod podgroup_later;
mod topology_keys;
mod tree;
mod tree_fails_closed;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &gang_resources::CASE,
    &never_reshaped::CASE,
    &names_and_limits::CASE,
    &declared_gates::CASE,
    &topology_keys::CASE,
    &pod_gang_scope::CASE,
    &mapping::CASE,
    &composite_later::CASE,
    &tree::CASE,
    &tree_fails_closed::CASE,
    &pass_through::CASE,
    &podgroup_later::CASE,
    &escape_hatch::CASE,
];
