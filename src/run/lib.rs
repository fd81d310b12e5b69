//! A run: executes cases on targets, as concurrently as their isolation allows, and writes a report.
//!
//! - [`suites`] lists the suites and their cases.
//! - [`run_plan`] selects and orders the cases, [`environment`] executes cases on clusters, and [`runner`] a
//!   whole plan. [`interruption`] ends a run early, [`first_failure`] keeps further cases from starting.
//! - [`verdict`] turns findings into outcomes, `attempts` combines those of several attempts, and
//!   [`deviations`] lists known violations of real schedulers.
//! - [`report_document`] assembles the report, with the origin of programs from `provenance`.
//!   [`results_writer`] writes results during the run, and `artifacts` the files of each case.
//! - [`workload`] turns a user's PodCliqueSets into a case. `manifest` reads them, with `kinds`, `types` and
//!   `exported`. [`admission`] validates them at the API server, with suggestions of `unknown_fields`.
//!   `unjudgeable` finds those that the case cannot judge. [`node_templates`] describes nodes like those of
//!   the user's cluster. [`feasibility`] decides whether the pods of one PodCliqueSet fit the nodes, and
//!   `joint` whether those of all do, with `references` and `domain_selectors`.
//! - [`near_limit`] compares the decision of [`feasibility`] with what a scheduler does.
//! - [`shrink`] finds a smaller workload that still fails. [`contract_pages`] renders clauses as Markdown.

pub mod admission;
mod artifacts;
mod attempts;
#[cfg(test)]
mod contention_page;
pub mod contract_pages;
pub mod deviations;
mod domain_selectors;
pub mod environment;
mod exported;
pub mod feasibility;
pub mod first_failure;
pub mod interruption;
mod joint;
mod kinds;
mod manifest;
pub mod near_limit;
pub mod node_templates;
mod provenance;
mod references;
pub mod report_document;
pub mod results_writer;
pub mod run_plan;
pub mod runner;
pub mod shrink;
pub mod suites;
mod trial_pods;
mod types;
mod unjudgeable;
mod unknown_fields;
pub mod verdict;
pub mod workload;
