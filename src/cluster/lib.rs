//! Builds, starts and connects to the clusters that cases run on. Nothing here knows what a clause is.
//!
//! - [`components`] builds etcd, Kubernetes, KWOK and the schedulers from pinned Go modules and caches the
//!   programs.
//! - [`preflight`] checks, before a build, whether this machine has what the programs need.
//! - [`process`] starts processes that do not outlive their owner.
//! - [`provider`] is the interface of a cluster to cases.
//! - [`local`] starts a control plane of processes with KWOK nodes, on its own loopback ports.
//! - [`kind`] starts a cluster of containers with real kubelets; [`images`] builds images of programs for it.
//! - [`existing`] uses a cluster that someone else runs. [`access`] connects to it. [`shared`] has the
//!   objects that its runs share.
//! - [`node_pools`] gives cases their own nodes; [`workers`] leases real ones.
//! - [`schedulers`] has one file per scheduler: how it is configured and started, and which API objects it
//!   needs.
//! - [`nodes`] describes the nodes that a case requests.
//! - [`source`] builds programs from a working tree of the user.
//! - [`operator`] is any other operator, from its source or as a program.
//! - [`own_program`] has the command lines of the reference implementation.
//! - [`docker`] runs the Docker engine, [`cargo`] builds programs of this project.
//! - [`deploy`] installs the controller under test, and what schedulers need, through the API.
//! - [`suite`] runs the suite as pods in a cluster.
//! - [`sweep`] finds and removes what runs have left in an existing cluster.
//! - [`home`] defines the cache and state folders, and finds what killed runs left.
//!
//! The `driver` crate uses a cluster through its API server. A few cases also stop and restart components
//! with [`local::LocalCluster`].

pub mod access;
pub mod cargo;
pub mod catalogue;
mod cgroup_memory;
pub mod cluster_spec;
pub mod components;
pub mod deploy;
pub mod docker;
mod error;
pub mod existing;
pub mod given_trainer;
pub mod home;
pub mod images;
pub mod kind;
pub mod local;
pub mod memory;
pub mod memory_in_use;
pub mod node_pools;
mod node_state;
pub mod nodes;
pub mod operator;
pub mod own_program;
pub mod peak_memory;
mod plain_http;
mod polling;
pub mod preflight;
pub mod process;
pub mod processor_time;
pub mod processors;
pub mod provider;
mod real_nodes;
pub mod rights_of_all;
pub mod schedulers;
pub mod shared;
pub mod source;
pub mod suite;
pub mod sweep;
pub mod trainer;
pub mod workers;

pub use error::{ClusterError, KindConfigError, SchedulerFailure};
