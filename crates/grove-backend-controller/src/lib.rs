//! Grove's reference backend controller: creates pods from a PodCliqueSet so that a gang scheduler binds them
//! together.
//!
//! - [`command_line`]: the program's arguments, logs and exit code;
//! - [`controller`]: reconcilers, admission, status;
//! - [`observed_pod`]: the cached part of a pod;
//! - [`backend`]: differences between schedulers, one folder each;
//! - `faults`: what mutants break, in a build of their own.
//!
//! `grove-api` defines types and names. The conformance suite does not depend on this crate: it gets a
//! program and its command line.

pub mod backend;
pub mod command_line;
pub mod controller;
mod faults;
pub mod observed_pod;
