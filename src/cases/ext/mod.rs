//! Profiles of type External: schedulers that read PodGangs themselves.

pub(crate) mod admission;
pub(crate) mod pods;
pub(crate) mod profile;
