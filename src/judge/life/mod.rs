//! The words of a PodCliqueSet's later life, as functions of a history.
//!
//! - [`health`]: whether a pod is bound, ready, healthy;
//! - [`census`]: the live pods of each clique at a point;
//! - [`generations`]: when a scope was recycled, and which pods are of which generation;
//! - [`breaches`]: which scope was breached, and since when;
//! - [`counts`], [`gang_status`]: what statuses should say of all that; [`observed`]: what they have taken in; [`conditions`]:
//!   how they move; [`reasons`]: what they say of a wait, and of what failed; [`metrics`]: what the operator counts;
//! - [`termination`]: what a recycle has to be like; [`updates`]: what an update has to be like;
//! - [`autoscalers`]: which there have to be; [`scaled`]: what scaling does; [`idle`]: what scaling to 0 does.

pub mod autoscalers;
pub mod breaches;
pub mod census;
pub mod claims;
pub mod conditions;
pub mod counts;
pub mod gang_status;
pub mod generations;
pub mod health;
pub mod idle;
pub mod metrics;
pub mod observed;
pub mod reasons;
pub mod scaled;
pub mod termination;
pub mod updates;
