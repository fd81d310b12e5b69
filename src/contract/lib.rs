//! The contract: what a Grove backend promises, to whom each promise applies, and the vocabulary of verdicts.
//!
//! This crate is a leaf: everything else in the suite depends on it, and it has no clusters, histories or
//! checks.
//!
//! - [`clauses`]: the numbered promises, with tier, level, feature and source;
//! - [`target`]: a backend in one of its mappings, a column of the report; `columns/` describes each, by
//!   scheduler; [`external_scheduler`]: one that the user names; [`backend_declaration`]: what the operator
//!   under test declares about one; [`kinds`]: the kinds in histories;
//! - [`scheduler`], [`kubernetes`]: the known schedulers and versions;
//! - [`renamed_cases`]: the case ids of older versions of the suite;
//! - [`names`], [`metrics`]: the names of Grove, Kubernetes and metrics that this suite expects;
//! - [`ruling`], [`violation`]: the result of a check; [`verdict`]: how it is reported.

#![warn(missing_docs)]

pub mod backend_declaration;
pub mod clauses;
mod columns;
pub mod external_scheduler;
pub mod kinds;
pub mod kubernetes;
pub mod metrics;
pub mod names;
pub mod renamed_cases;
pub mod ruling;
pub mod scheduler;
pub mod target;
pub mod verdict;
pub mod violation;
