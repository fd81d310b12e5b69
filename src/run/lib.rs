//! A run: selected cases on selected targets, executed as concurrently as their isolation allows, written down as a
//! report.
//!
//! [`runner`] is the way of a run, [`environment`] brings clusters up and executes cases on them; [`verdict`] turns findings
//! into outcomes, [`deviations`] is what real schedulers are known to do wrong. [`workload`] makes a case of a user's own
//! PodCliqueSet, [`shrink`] finds a smaller workload that fails as a generated one did; `artifacts` is what a case leaves behind; [`interruption`] is how a run ends before its end.

mod artifacts;
pub mod contract_pages;
pub mod deviations;
pub mod environment;
pub mod interruption;
pub mod runner;
pub mod shrink;
pub mod verdict;
pub mod workload;
