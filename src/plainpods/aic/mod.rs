pub(crate) mod fitting_gang_bound;
pub(crate) mod one_pod_short;
pub(crate) mod room_for_one;
