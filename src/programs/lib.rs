//! Finds, builds, caches and starts programs. Nothing here depends on what a cluster consists of.
//!
//! - [`components`] builds etcd, Kubernetes, KWOK and the schedulers from pinned Go modules.
//! - [`source`] builds programs from a working tree of the user.
//! - [`own_program`] runs the programs of the reference implementation.
//! - [`images`] builds images, [`cargo`] this project's programs. [`docker`] runs the Docker engine.
//! - [`blocking`] runs work that blocks a thread, in async code.
//! - [`preflight`] checks, before a build, whether this machine has what the programs need.
//! - [`process`] starts processes that do not outlive their owner; [`ports`] reserves their loopback ports.
//! - [`home`] defines the cache and state folders, and finds the folders of killed runs.
//! - [`available_memory`], [`memory_in_use`], [`peak_memory`], [`processor_time`] and [`processors`] measure
//!   this machine and its processes. [`open_files`] raises a limit of this process.

pub mod available_memory;
pub mod blocking;
pub mod cargo;
mod cgroup_memory;
pub mod components;
pub mod docker;
mod error;
pub mod home;
pub mod images;
pub mod memory_in_use;
pub mod open_files;
pub mod own_program;
pub mod peak_memory;
pub mod ports;
pub mod preflight;
pub mod process;
pub mod processor_time;
pub mod processors;
pub mod source;

pub use error::{CargoError, ProgramError};
