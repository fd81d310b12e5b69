//! Cases about the operator's profiles of type External. Their schedulers read PodGangs themselves.

pub(crate) mod admission;
pub(crate) mod pods;
pub(crate) mod profile;
