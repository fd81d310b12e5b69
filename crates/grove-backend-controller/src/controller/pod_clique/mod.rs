//! PodClique: the pods of one shape, and their scheduling gates.
//!
//! - `reconcile`: one pass: replicas, then gates
//! - `expectations`: what has been written but is not in the cache yet
//! - `replicas`: how many pods to create, with which index, and which to delete
//! - `pod`: what a pod looks like
//! - `create`: creates one pod exactly once
//! - `gate`: when a gate comes off

mod create;
mod expectations;
mod gate;
mod pod;
mod reconcile;
mod replicas;

pub(super) use expectations::Expectations;
pub(super) use reconcile::{REASON_POD_CREATE_FAILED, reconcile};
