//! Where real clusters come from.
//!
//! - [`components`] builds etcd, Kubernetes, KWOK and the schedulers from pinned Go modules and caches the programs;
//! - [`preflight`] checks, before anything is built, whether this machine has what they need;
//! - [`process`] starts them so that none outlives its owner;
//! - [`provider`] is what cases need of a cluster;
//! - [`local`] starts a control plane from them, with KWOK nodes, on its own loopback ports;
//! - [`kind`] starts one from containers, with real kubelets; [`images`] puts programs into images for it;
//! - [`existing`] uses a cluster that someone else runs, [`access`] is how it is reached, [`shared`] what runs in it have in
//!   common;
//! - [`node_pools`] gives cases their own nodes, [`workers`] leases them real ones;
//! - [`schedulers`] has, one file per scheduler, how each is configured and started, and what it needs of the API;
//! - [`nodes`] describes the nodes a case asks for;
//! - [`source`] builds programs from a working tree of the user's;
//! - [`operator`] is any other operator, from its source or as a program;
//! - [`own_program`] has the command lines of the reference implementation;
//! - [`docker`] is the Docker engine;
//! - [`deploy`] installs the controller under test, and what schedulers need, through the API;
//! - [`suite`] runs the suite as pods in a cluster;
//! - [`sweep`] finds and removes what runs have left in a cluster that stays;
//! - [`home`] says where caches and state live, and finds what killed runs left.
//!
//! Clusters go on to `driver`, which sees an API server and, for a few cases, [`local::LocalCluster`]'s switches to
//! stop and restart a component. Nothing here knows what a clause is.

pub mod access;
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
