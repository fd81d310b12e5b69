//! Starts and connects to the clusters that cases run on. Nothing here depends on clauses.
//!
//! [`provider`] is the interface of a cluster to cases. [`local`] starts a control plane of processes with
//! KWOK nodes, [`kind`] starts one of containers with real kubelets, and [`existing`] uses a cluster that
//! someone else runs. [`node_pools`] creates nodes for cases; [`workers`] leases real nodes. [`suite`] runs
//! the suite as pods in a cluster, and [`sweep`] removes leftovers of runs.

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
#[cfg(test)]
mod testing;
mod volcano_queue;
pub mod workers;

pub use error::{ClusterError, KindConfigError, SchedulerFailure};
