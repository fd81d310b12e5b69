//! Gang scheduling of plain pods, as the AI conformance programme requires it (`ai-conformance`).

pub(crate) mod fitting_gang_bound;
pub(crate) mod one_pod_short;
pub(crate) mod room_for_one;
