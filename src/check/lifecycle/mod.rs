//! Checks of the status, termination, updates and scaling of a PodCliqueSet.

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
