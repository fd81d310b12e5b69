//! Gang scheduling of plain pods, as the AI conformance programme requires it (`run --profile
//! ai-conformance`).

pub(crate) mod fits_whole;
pub(crate) mod one_pod_short;
pub(crate) mod room_for_one;
