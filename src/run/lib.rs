//! A run: executes the selected cases on the selected targets, as concurrently as their isolation allows, and
//! writes a report.
//!
//! [`runner`] controls a run, [`environment`] starts clusters and executes cases on them; [`verdict`] turns
//! findings into outcomes, [`deviations`] lists known violations of real schedulers. [`workload`] turns a
//! user's own PodCliqueSet into a case, [`shrink`] finds a smaller generated workload that still fails;
//! `artifacts` writes what a case leaves behind; [`interruption`] ends a run early.

mod artifacts;
pub mod contract_pages;
pub mod deviations;
pub mod environment;
pub mod interruption;
pub mod runner;
pub mod shrink;
pub mod verdict;
pub mod workload;
