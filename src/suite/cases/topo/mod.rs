//! Topology packing. Every case leaves room for a wrong placement, so that luck cannot pass.

mod fullest_rack_only;
mod no_rack_has_room;
mod one_clique;
mod one_rack;
mod scaled_gangs;
mod unlabelled_nodes;

use crate::suite::case::Case;

/// The cases of this group, in the order of the contract.
pub const CASES: &[&Case] = &[
    &one_rack::CASE,
    &no_rack_has_room::CASE,
    &fullest_rack_only::CASE,
    &one_clique::CASE,
    &scaled_gangs::CASE,
    &unlabelled_nodes::CASE,
];
