//! Profiles of type External: schedulers that read PodGangs themselves.

mod pods;
mod profile;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[&pods::CASE, &profile::CASE];
