//! Topology packing. Every case leaves room for a wrong placement, so that luck cannot pass.

mod becomes_resource;
mod fullest_rack_only;
mod larger_group_last;
mod mixed_shapes;
mod nested;
mod no_rack_has_room;
mod one_clique;
mod one_rack;
mod per_group;
mod preferred;
mod replacement;
mod resource_compared;
mod scaled_gangs;
mod scaled_groups;
mod second_binding;
mod unlabelled_nodes;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &one_rack::CASE,
    &replacement::CASE,
    &mixed_shapes::CASE,
    &no_rack_has_room::CASE,
    &fullest_rack_only::CASE,
    &per_group::CASE,
    &larger_group_last::CASE,
    &one_clique::CASE,
    &nested::CASE,
    &preferred::CASE,
    &becomes_resource::CASE,
    &resource_compared::CASE,
    &second_binding::CASE,
    &scaled_gangs::CASE,
    &scaled_groups::CASE,
    &unlabelled_nodes::CASE,
];
