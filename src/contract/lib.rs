//! The contract: what a Grove backend promises. This crate depends on no other crate of the suite.

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
