//! The contract: what a Grove backend promises, to whom each promise applies, and the vocabulary of verdicts.
//!
//! This crate is a leaf: the rest of the suite depends on it, and it has no clusters, histories or checks.
//!
//! - [`clauses`]: the numbered promises, with tier, level, feature and source;
//! - [`target`]: a backend in one of its mappings; `targets/` describes the targets of each scheduler;
//! - [`external_scheduler`]: the target of a scheduler that the user names;
//! - [`backend_declaration`]: what the operator under test declares about a target;
//! - [`property`], [`requirements`]: the properties of targets, and what a case requires of a target;
//! - [`kinds`]: the kinds in histories;
//! - [`scheduler`], [`kubernetes`]: the known schedulers and versions;
//! - [`renamed_cases`]: the case ids of older versions of the suite;
//! - [`arena`]: owns the targets that a user declares, and cases that are not constants;
//! - [`names`], [`metrics`]: the names of Grove, Kubernetes and metrics that this suite expects;
//! - [`ruling`], [`violation`]: the result of a check; [`verdict`]: how it is reported.

#![warn(missing_docs)]

pub mod arena;
pub mod backend_declaration;
pub mod clauses;
pub mod external_scheduler;
pub mod kinds;
pub mod kubernetes;
pub mod metrics;
pub mod names;
pub mod property;
pub mod renamed_cases;
pub mod requirements;
pub mod ruling;
pub mod scheduler;
pub mod target;
mod targets;
pub mod verdict;
pub mod violation;
