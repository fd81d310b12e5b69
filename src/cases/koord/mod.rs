//! Koordinator.

mod gang_group;
mod group_configs;
mod layers;
mod profile;
mod refusals;
mod undeclared_layer;
mod whole_list;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &gang_group::CASE,
    &layers::CASE,
    &undeclared_layer::CASE,
    &refusals::CASE,
    &group_configs::CASE,
    &profile::CASE,
    &whole_list::CASE,
];
