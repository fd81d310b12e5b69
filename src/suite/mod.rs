//! The suite: what is promised, how it is tried, how it is judged.
//!
//! One way through: a [`case`] says what it needs and drives a [`trial`] on a [`cluster`]; the watches write a
//! [`history`]; the case's [`judge`] reads it; [`verdict`] turns findings into outcomes for `report`.
//!
//! - [`clauses`]: the contract. [`target`]: which backend, in which variant, with which features;
//!   [`external_scheduler`]: one that the user names.
//! - [`expect`]: what a PodCliqueSet should become, by the contract alone; [`scaling`]: after it was scaled;
//!   [`schedulers`]: what the backend should make of its PodGangs. [`names`]: the names they should use.
//! - [`cases`]: the cases, one file each with its manifest beside it. [`deviations`]: what real schedulers do wrong.
//! - [`arena`]: brings clusters up and holds trials; [`barrier`]: the proof that nothing happened; [`limits`]: waits.
//! - [`domains`], [`hyper_nodes`]: topology domains, and when a scheduler knows them.
//! - [`kubelets`]: what is done to real nodes, and read there; [`lease`]: who leads the controller's replicas.
//! - [`alone`]: the control plane taken apart and put back. [`artifacts`], [`situation`]: what a red result shows.
//!
//! Nothing here may use `api`, `controller` or `backend`: the suite states names and expectations itself, or a
//! misspelt field would be green everywhere (a test in `tests/` holds that line).

pub mod alone;
pub mod arena;
mod artifacts;
mod barrier;
mod binding_hold;
pub mod case;
pub mod cases;
pub mod clauses;
pub mod cluster;
pub mod controls;
mod convergence;
mod crds;
pub mod deviations;
pub mod domains;
pub mod expect;
pub mod external_scheduler;
pub mod history;
pub mod hyper_nodes;
pub mod judge;
mod kubelets;
mod lease;
pub mod leftovers;
pub mod limits;
pub mod names;
mod provoke;
pub mod queues;
pub mod quiet;
pub mod runner;
pub mod scaling;
pub mod schedulers;
mod situation;
pub mod target;
pub mod trial;
pub mod verdict;
pub mod workload;
