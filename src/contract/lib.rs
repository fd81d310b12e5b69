//! The contract: what a Grove backend promises, to whom each promise applies, and the vocabulary of verdicts.
//!
//! A leaf: everything else in the suite builds on it, and it knows no cluster, no history and no judge.
//!
//! - [`clauses`]: the numbered promises, with tier, level, feature and source;
//! - [`target`]: a backend in one of its mappings, a column of the report; [`external_scheduler`]: one that the
//!   user names;
//! - [`scheduler`], [`kubernetes`]: the supported ones;
//! - [`names`]: Grove's and Kubernetes' names as this suite expects them;
//! - [`ruling`], [`violation`]: what a judge concludes; [`verdict`]: how that is reported.

pub mod clauses;
pub mod external_scheduler;
pub mod kubernetes;
pub mod names;
pub mod ruling;
pub mod scheduler;
pub mod target;
pub mod verdict;
pub mod violation;
