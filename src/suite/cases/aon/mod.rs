//! Cases of this group.

mod fits_whole;
mod one_pod_short;
use crate::suite::case::Case;

/// The cases, in the order of the contract.
pub const CASES: &[&Case] = &[&fits_whole::CASE, &one_pod_short::CASE];
