//! Cases of this group.

use crate::suite::case::Case;

/// The cases, in the order of the contract.
pub const CASES: &[&Case] = &[];
