//! Admission of PodCliqueSets.
//!
//! Most cases are a table of variations of one PodCliqueSet with `replicas: 0`, so that what is admitted costs nothing;
//! `driver::admission_attempts` sends them. What is said about a backend that is not the target's is shown by a second one, which the
//! harness enables beside it; of another operator, by one that it has enabled.

#[cfg(test)]
pub(super) mod answered;

mod api_missing;
mod backend_disabled;
mod backend_rules;
mod crds_missing;
mod enabled_backends;
mod immutable_shape;
mod never_blocked;
mod one_backend;
mod queue_closed;
mod refused_leaves_nothing;
mod structure;
mod topology;
mod unhonourable_topology;

use conformance_driver::case::Case;

/// The cases of this group, in the order of the contract.
pub(crate) const CASES: &[&Case] = &[
    &one_backend::CASE,
    &enabled_backends::CASE,
    &immutable_shape::CASE,
    &structure::CASE,
    &refused_leaves_nothing::CASE,
    &backend_rules::CASE,
    &topology::CASE,
    &never_blocked::CASE,
    &queue_closed::CASE,
    &unhonourable_topology::CASE,
    &api_missing::CASE,
    &crds_missing::CASE,
    &backend_disabled::CASE,
];
