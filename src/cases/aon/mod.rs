//! All-or-nothing scheduling.

pub(crate) mod across_cliques;
pub(crate) mod binding_refused;
pub(crate) mod controller_killed;
pub(crate) mod each_clique_alone;
pub(crate) mod fits_whole;
pub(crate) mod gang_shown_late;
pub(crate) mod gang_timeout;
pub(crate) mod minimum_of_eight_cliques;
pub(crate) mod minimum_of_two_cliques;
pub(crate) mod minimum_per_clique;
pub(crate) mod minimum_then_surplus;
pub(crate) mod namesakes;
pub(crate) mod nothing_requested;
pub(crate) mod one_pod_short;
pub(crate) mod pending_blocks_nobody;
pub(crate) mod pod_lost;
pub(crate) mod queue_closed;
pub(crate) mod room_for_one;
pub(crate) mod room_for_one_of_two_cliques;
pub(crate) mod scaled_is_whole_or_not;
pub(crate) mod scaled_of_two_cliques;
pub(crate) mod scaled_waits_for_base;
pub(crate) mod scheduler_killed;
pub(crate) mod scheduler_killed_half_way;
pub(crate) mod short_at_every_attempt;
mod surplus_last;
