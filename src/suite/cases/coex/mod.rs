//! Several backends in one cluster.

mod all_at_once;

use crate::suite::case::Case;

/// The cases of this group, in the order of the contract.
pub const CASES: &[&Case] = &[&all_at_once::CASE];
