//! Status.

pub(crate) mod calm;
pub(crate) mod disturbed;
pub(crate) mod pods_refused;
pub(crate) mod recounted;
pub(crate) mod refused;
mod rests;
