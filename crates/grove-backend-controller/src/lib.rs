//! Grove's reference backend controller: from a PodCliqueSet to pods that a gang scheduler binds together.
//!
//! - [`command_line`]: the program's arguments, logs and exit code;
//! - [`controller`]: reconcilers, admission, status;
//! - [`observed_pod`]: what of a pod is cached;
//! - [`backend`]: what differs between schedulers, one folder each.
//!
//! Types and names are `grove-api`'s. The conformance suite knows none of this: it is given a program and its command line.

pub mod backend;
pub mod command_line;
pub mod controller;
pub mod observed_pod;
