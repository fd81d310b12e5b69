//! The cached state of the cluster: one watch and one cache per kind.
//!
//! The other files read several caches together, or remember writes that the caches do not show yet.

pub(crate) mod caches;
pub(crate) mod evictions;
pub(crate) mod expectations;
pub(crate) mod gang_view;
pub(crate) mod generation;
pub(crate) mod informer;
pub(crate) mod kinds;
pub mod observed_pod;
pub(crate) mod ownership;
pub(crate) mod pods;
pub(crate) mod remembered_replicas;
mod shared_templates;
pub(crate) mod written_versions;
