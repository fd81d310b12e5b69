//! Gang creation.

mod at_rest;
mod by_hand;
mod foreign_changes;
mod healed_by_hand;
mod healed_while_pending;
mod healed_while_running;
mod priority;
mod restored_while_pending;
mod scaling;
mod scheduler_label;
mod shape;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &shape::CASE,
    &scheduler_label::CASE,
    &foreign_changes::CASE,
    &scaling::CASE,
    &at_rest::CASE,
    &healed_while_running::CASE,
    &healed_while_pending::CASE,
    &healed_by_hand::CASE,
    &restored_while_pending::CASE,
    &priority::CASE,
];
