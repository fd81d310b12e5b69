//! The objects and pods that a workload should have, derived only from the contract. This crate shares no
//! code with an operator.
//!
//! - `gangs`: the PodGangs and podgroups of a PodCliqueSet. [`scaling`] applies later scaling, and
//!   [`resolver`] finds the existing PodGangs.
//! - [`startup`]: the startup dependencies of cliques. [`scopes`]: the parts that an operator terminates and
//!   updates as a whole.
//! - [`refusals`]: PodCliqueSets that admission must refuse.
//! - [`schedulers`]: the objects that each backend should create for a PodGang, with one file per scheduler.
//! - [`domains`], [`hyper_nodes`]: the topology domains of nodes, and their HyperNodes in Volcano.

pub mod claims;
pub mod domains;
mod gangs;
pub mod hyper_nodes;
pub mod refusals;
pub mod resolver;
pub mod scaling;
pub mod schedulers;
pub mod scopes;
pub mod startup;
pub mod testing;

pub use gangs::{Expected, Gang, Group, Unit, gangs};
