//! Reconciles PodCliques: their pods, and the pods' scheduling gates.

mod create;
mod expectations;
mod gate;
mod pod;
mod reconcile;
mod replicas;

pub(super) use expectations::Expectations;
pub(super) use reconcile::{REASON_POD_CREATE_FAILED, reconcile};
