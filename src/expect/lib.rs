//! The objects and pods that a workload should have, derived only from the contract. This crate shares no
//! code with a controller.
//!
//! - `gangs`: the PodGangs and podgroups of a PodCliqueSet. [`scaling`] applies later scaling, and
//!   [`resolver`] matches expected PodGangs with existing ones.
//! - [`startup`]: the startup dependencies of its cliques. [`scopes`]: the parts that are terminated and
//!   updated together.
//! - [`refusals`]: PodCliqueSets that admission must refuse.
//! - [`schedulers`]: the objects that each backend should create for a PodGang, one file per scheduler.
//! - [`domains`], [`hyper_nodes`]: the topology domains of nodes, and Volcano's tree of them.

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
