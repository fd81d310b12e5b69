//! Grove's reference backend controller: creates PodCliques, scaling groups and PodGangs from a PodCliqueSet,
//! pods from a PodClique, and gang resources from a PodGang, so that a gang scheduler binds the pods
//! together. One reconciler per kind runs on changes in the shared caches. Separate reconcilers write the
//! statuses. Each folder uses only those above it in this list:
//!
//! - [`cache`]: the cached state of the cluster
//! - [`backend`]: differences between schedulers, one folder each
//! - `plan`: the desired objects, their names and patches
//! - `context`: what all reconcilers share
//! - `update`: selection of the pods that an update replaces next
//! - `status`: reconcilers of statuses
//! - `reconcile`: reconcilers of objects
//! - [`admission`]: the webhooks; uses only `backend` and `plan`
//! - [`runtime`]: starts and stops all of it

pub mod admission;
pub mod backend;
pub mod cache;
pub mod command_line;
mod context;
mod faults;
mod plan;
mod reconcile;
pub mod runtime;
mod status;
mod update;
