//! Most cases are variations of one PodCliqueSet with `replicas: 0`, so an admitted one creates no pods.

pub(crate) mod api_missing;
pub(crate) mod backend_disabled;
pub(crate) mod backend_rules;
pub(crate) mod crds_missing;
pub(crate) mod enabled_backends;
pub(crate) mod immutable_shape;
pub(crate) mod longest_names_bound;
pub(crate) mod names_refused_or_run;
pub(crate) mod one_backend;
pub(crate) mod overwritten_fields;
pub(super) mod places;
pub(crate) mod queue_closed;
pub(crate) mod refused_leaves_nothing;
pub(crate) mod structure;
pub(crate) mod topology;
pub(crate) mod topology_deleted;
pub(crate) mod unsupported_topology_level;
