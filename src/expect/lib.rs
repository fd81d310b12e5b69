//! What a PodCliqueSet should become, derived from the contract alone: the suite's own arithmetic and names, shared
//! with no controller.
//!
//! - `gangs`: its PodGangs and their podgroups; [`scaling`]: after it was scaled; [`resolver`]: which PodGang is which;
//! - [`startup`]: which of its cliques wait for which; [`scopes`]: what of it is recycled and updated as one;
//! - [`schedulers`]: what each backend should create for a PodGang, one file per scheduler;
//! - [`train_job`]: what a TrainJob of the Kubeflow Trainer should become;
//! - [`plain_gang`]: a gang of plain pods, which the harness makes itself;
//! - [`domains`], [`hyper_nodes`]: topology domains of nodes, and Volcano's tree of them.

pub mod domains;
mod gangs;
pub mod hyper_nodes;
pub mod plain_gang;
pub mod resolver;
pub mod scaling;
pub mod schedulers;
pub mod scopes;
pub mod startup;
pub mod testing;
pub mod train_job;

pub use gangs::{Expected, Gang, Group, Unit, gangs};
