//! Status.

pub(crate) mod calm;
pub(crate) mod disturbed;
pub(crate) mod foreign_gate;
pub(crate) mod pods_refused;
pub(crate) mod recounted;
pub(crate) mod refused;
mod rests;
pub(crate) mod scarce_resource;
