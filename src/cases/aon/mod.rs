//! All-or-nothing scheduling.

mod across_cliques;
mod controller_killed;
mod fits_whole;
mod minimum_per_clique;
mod minimum_then_surplus;
mod namesakes;
mod nothing_requested;
mod one_pod_short;
mod pending_blocks_nobody;
mod pod_lost;
mod queue_closed;
mod room_for_one;
mod scaled_is_whole_or_not;
mod scaled_waits_for_base;
mod scheduler_killed;
mod scheduler_killed_half_way;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &fits_whole::CASE,
    &one_pod_short::CASE,
    &nothing_requested::CASE,
    &namesakes::CASE,
    &queue_closed::CASE,
    &room_for_one::CASE,
    &minimum_then_surplus::CASE,
    &scaled_waits_for_base::CASE,
    &scaled_is_whole_or_not::CASE,
    &across_cliques::CASE,
    &minimum_per_clique::CASE,
    &pending_blocks_nobody::CASE,
    &pod_lost::CASE,
    &scheduler_killed::CASE,
    &scheduler_killed_half_way::CASE,
    &controller_killed::CASE,
];
