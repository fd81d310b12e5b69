//! Status.

pub(crate) mod calm;
pub(crate) mod recounted;
