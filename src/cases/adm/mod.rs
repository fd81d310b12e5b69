//! Admission of PodCliqueSets.
//!
//! Most cases are a table of variations of one PodCliqueSet with `replicas: 0`, so that what is admitted costs nothing;
//! `driver::admission_attempts` sends them. What is said about a backend that is not the target's is shown by a second one, which the
//! harness enables beside it; of another operator, by one that it has enabled.

#[cfg(test)]
pub(super) mod answered;

pub(crate) mod admitted_lives;
pub(crate) mod api_missing;
pub(crate) mod backend_disabled;
pub(crate) mod backend_rules;
pub(crate) mod crds_missing;
pub(crate) mod enabled_backends;
pub(crate) mod immutable_shape;
pub(crate) mod never_blocked;
pub(crate) mod one_backend;
pub(super) mod places;
pub(crate) mod queue_closed;
pub(crate) mod refused_leaves_nothing;
pub(crate) mod structure;
pub(crate) mod topology;
pub(crate) mod unhonourable_topology;
