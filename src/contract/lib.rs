//! The contract: what a Grove backend promises, to whom each promise applies, and the vocabulary of verdicts.
//!
//! A leaf: everything else in the suite builds on it, and it knows no cluster, no history and no judge.
//!
//! - [`clauses`]: the numbered promises, with tier, level, feature and source;
//! - [`target`]: a backend in one of its mappings, a column of the report; each is described in `columns/`, by scheduler;
//!   [`external_scheduler`]: one that the user names; [`backend_declaration`]: what the operator under test declares of
//!   one; [`kinds`]: what histories hold;
//! - [`scheduler`], [`kubernetes`]: which there are;
//! - [`names`], [`metrics`]: Grove's and Kubernetes' names as this suite expects them, and those of metrics;
//! - [`ruling`], [`violation`]: what a judge concludes; [`verdict`]: how that is reported.

pub mod backend_declaration;
pub mod clauses;
mod columns;
pub mod external_scheduler;
pub mod kinds;
pub mod kubernetes;
pub mod metrics;
pub mod names;
pub mod ruling;
pub mod scheduler;
pub mod target;
pub mod verdict;
pub mod violation;
