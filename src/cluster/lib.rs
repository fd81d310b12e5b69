//! Where real clusters come from.
//!
//! - [`components`] builds etcd, Kubernetes, KWOK and the schedulers from pinned Go modules and caches the programs;
//! - [`process`] starts them so that none outlives its owner;
//! - [`provider`] says what cases need of a cluster;
//! - [`local`] makes one control plane of them, with KWOK nodes, on loopback ports of its own;
//! - [`kind`] makes one of containers, with real kubelets; [`images`] puts programs into images for it;
//! - [`existing`] takes one that is somebody else's;
//! - [`node_pools`] gives cases nodes of their own, [`workers`] lends them real ones;
//! - [`schedulers`] holds, one file per scheduler, how each is configured and started, and what it needs of the API;
//! - [`nodes`] describes the nodes a case asks for;
//! - [`operator`] is any other operator, from its source or as a program;
//! - [`own_program`] is the reference implementation, of which it knows command lines;
//! - [`docker`] is the Docker engine;
//! - [`deploy`] installs the controller under test, and what schedulers need, through the API;
//! - [`home`] says where caches and state live, and finds what killed runs left.
//!
//! Data goes on to `suite`, which only sees an API server and, for a few cases, [`local::LocalCluster`]'s
//! switches to stop and restart a part. Nothing here knows what a clause is.

pub mod components;
pub mod deploy;
pub mod docker;
mod error;
pub mod existing;
pub mod home;
pub mod images;
pub mod kind;
pub mod local;
pub mod node_pools;
pub mod nodes;
pub mod operator;
pub mod own_program;
pub mod process;
pub mod provider;
pub mod schedulers;
pub mod workers;

pub use error::ClusterError;
