//! What a control plane consists of, as data: its programs, and how each is configured and started. Nothing
//! here sends requests to an API server; `helm` is the exception.
//!
//! - [`catalogue`] lists the programs that are built.
//! - [`schedulers`] has one file per scheduler: how it is configured and started, and which API objects it
//!   needs.
//! - [`operator`] is any other operator, from its source or as a program.
//! - [`trainer`] is the Kubeflow Trainer, or one that the user provides ([`given_trainer`]).
//! - [`cluster_spec`] is the specification of a local cluster, [`part`] a process of it, and [`memory`] what
//!   the processes may use.

pub mod catalogue;
pub mod cluster_spec;
mod error;
pub mod given_trainer;
pub mod memory;
pub mod operator;
pub mod part;
pub mod schedulers;
#[cfg(test)]
mod testing;
pub mod trainer;

pub use error::InstallError;
