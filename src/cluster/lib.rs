//! Starts and connects to the clusters that cases run on. Nothing here knows what a clause is.
//!
//! - [`provider`] is the interface of a cluster to cases.
//! - [`local`] starts a control plane of processes with KWOK nodes, on loopback ports.
//! - [`kind`] starts a cluster of containers with real kubelets.
//! - [`existing`] uses a cluster that someone else runs, and [`examination`] shows what a run would find
//!   there. [`kubeconfig`] finds it, [`access`] connects to it, and [`rights`] checks the user's rights.
//!   [`shared`] has the objects that several runs in it share.
//! - [`node_pools`] creates nodes for cases; [`workers`] leases real ones.
//! - [`nodes`] describes the nodes that a case requests, and [`copied_nodes`] reads those of a cluster.
//! - [`deploy`] installs the operator under test, and what schedulers need, through the API.
//! - [`suite`] runs the suite as pods in a cluster.
//! - [`sweep`] finds and removes what runs have left in an existing cluster.
//!
//! The `driver` crate mostly uses a cluster through its API server. A few cases also stop and restart
//! components of a [`local::LocalCluster`].

pub mod access;
pub mod copied_nodes;
pub mod deploy;
mod error;
pub mod examination;
pub mod existing;
pub mod kind;
pub mod kubeconfig;
pub mod local;
pub mod node_pools;
mod node_state;
pub mod nodes;
mod plain_http;
mod polling;
pub mod provider;
pub mod real_nodes;
pub mod rights;
pub mod rights_of_all;
mod served;
pub mod shared;
pub mod suite;
pub mod sweep;
mod volcano_queue;
pub mod workers;

pub use error::{ClusterError, KindConfigError, SchedulerFailure};
