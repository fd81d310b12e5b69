//! Lifecycle predicates of a PodCliqueSet: status, termination, updates and scaling. Each is a function of a
//! history.
//!
//! - [`census`]: the live pods of each clique
//! - [`breaches`]: the breaches of a scope before its terminations
//! - [`counts`], [`gang_status`], [`observed`], [`conditions`], [`reasons`]: the content of statuses
//! - [`metrics`]: the operator's metrics
//! - [`termination`], [`updates`]: rules for gang termination and for updates
//! - [`autoscalers`], [`scaled`], [`idle`]: autoscalers, scaling, and scaling to 0

pub mod autoscalers;
pub mod breaches;
pub mod census;
pub mod claims;
pub mod conditions;
pub mod counts;
pub mod gang_status;
pub mod idle;
pub mod metrics;
pub mod observed;
pub mod reasons;
pub mod scaled;
pub mod termination;
pub mod updates;
