//! Several backends in one cluster.

mod all_at_once;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[&all_at_once::CASE];
