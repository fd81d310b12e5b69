//! Admission of PodCliqueSets.
//!
//! Most cases are a table of variations of one PodCliqueSet with `replicas: 0`, so that what is admitted costs nothing;
//! [`attempts`] sends them. ADM-11 has no case yet: it disables a backend under live workloads, and default-scheduler,
//! which is always enabled, is the only one.

pub(super) mod attempts;

mod api_missing;
mod backend_not_enabled;
mod backend_rules;
mod immutable_shape;
mod never_blocked;
mod one_backend;
mod refused_leaves_nothing;
mod structure;
mod topology;
mod unhonourable_topology;

use crate::suite::case::Case;

/// The cases of this group, in the order of the contract.
pub const CASES: &[&Case] = &[
    &one_backend::CASE,
    &backend_not_enabled::CASE,
    &immutable_shape::CASE,
    &structure::CASE,
    &refused_leaves_nothing::CASE,
    &backend_rules::CASE,
    &topology::CASE,
    &never_blocked::CASE,
    &unhonourable_topology::CASE,
    &api_missing::CASE,
];
