//! A run: selected cases on selected targets, executed as concurrently as their isolation allows, written down as a
//! report.
//!
//! [`runner`] plans and runs, [`environment`] starts clusters and executes cases on them; [`verdict`] turns
//! findings into outcomes, [`deviations`] lists what real schedulers are known to do wrong. [`workload`] makes a
//! case from a user's own PodCliqueSet; `artifacts` is what a case leaves behind.

mod artifacts;
pub mod deviations;
pub mod environment;
pub mod runner;
pub mod verdict;
pub mod workload;
