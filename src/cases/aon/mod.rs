//! All-or-nothing scheduling.

pub(crate) mod binding_refused;
pub(crate) mod cliques_fit_separately;
pub(crate) mod competing_two_clique_gangs;
pub(crate) mod controller_killed;
pub(crate) mod exact_fit_bound;
pub(crate) mod gang_resources_late;
pub(crate) mod gang_timeout;
pub(crate) mod minimum_of_eight_cliques;
pub(crate) mod minimum_of_two_cliques;
pub(crate) mod minimum_per_clique;
pub(crate) mod minimum_then_surplus;
pub(crate) mod nothing_requested;
pub(crate) mod one_clique_too_large;
pub(crate) mod one_pod_short;
pub(crate) mod pending_blocks_nobody;
pub(crate) mod pod_lost;
pub(crate) mod queue_closed;
pub(crate) mod room_for_one;
pub(crate) mod same_name_two_namespaces;
pub(crate) mod scaled_gang_clique_short;
pub(crate) mod scaled_gang_short;
pub(crate) mod scaled_waits_for_base;
pub(crate) mod scheduler_killed;
pub(crate) mod scheduler_killed_half_way;
pub(crate) mod short_at_every_attempt;
mod surplus_last;
