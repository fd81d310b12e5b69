//! What a control plane consists of, as data. Nothing here sends requests to an API server except `helm`.
//!
//! - [`catalogue`] lists the programs that are built.
//! - [`schedulers`] has one file per scheduler: its configuration, start, and API objects.
//! - [`operator`] describes operators other than the reference operator, from their source or as programs.
//! - [`trainer`] describes the pinned Kubeflow Trainer, and [`given_trainer`] one that the user gives.
//! - [`versions`] selects published versions of programs instead of the pinned ones.
//! - [`upgrade`] describes what replaces an operator or a control plane.
//! - [`cluster_spec`] specifies a local cluster, [`part`] names its processes, and [`memory`] limits them.

pub mod catalogue;
pub mod cluster_spec;
mod controller_spec;
mod error;
mod gates;
pub mod given_trainer;
mod manifests;
pub mod memory;
pub mod operator;
pub mod part;
pub mod schedulers;
#[cfg(test)]
mod testing;
pub mod trainer;
pub mod upgrade;
pub mod versions;

pub use error::InstallError;
