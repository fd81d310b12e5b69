//! End-to-end conformance of Grove PodCliqueSets on real gang schedulers, and a reference backend controller.
//!
//! - [`api`]: Grove's resources; [`controller`]: the reference backend controller; [`backend`]: what differs between
//!   schedulers;
//! - [`device_plugin`]: GPUs that are not there, for real kubelets;
//! - [`cluster`]: real control planes; [`suite`]: cases, histories, judges; [`report`]: what a run found;
//! - [`cli`]: the command line; [`yaml`]: documents.
//!
//! `suite` and `report` share nothing with `api`, `controller` and `backend`: they state what they expect themselves.

pub mod api;
pub mod backend;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod device_plugin;
pub mod report;
pub mod suite;
pub mod yaml;
