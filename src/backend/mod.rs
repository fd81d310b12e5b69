//! The schedulers Grove can hand gangs to, one module each, behind [`SchedulerBackend`].
//!
//! - `scheduler_backend`: the contract
//! - `validation`: what a check of a PodCliqueSet finds
//! - `profiles`: from the configuration file to a backend
//! - `registry`: which backends are enabled and who serves what
//! - `affinity`: required node affinity of pods
//! - `default_scheduler`: kube-scheduler through the Workload API
//! - `external`: any scheduler that reads PodGangs itself

pub(crate) mod affinity;
mod default_scheduler;
mod external;
mod profiles;
mod registry;
mod scheduler_backend;
mod validation;

pub use default_scheduler::{DefaultScheduler, DefaultSchedulerConfig, GangScope, SchedulerFeatureGates};
pub use external::{External, ExternalConfig};
pub use profiles::{Profile, ProfileError, ProfileType};
pub use registry::{DEFAULT_SCHEDULER, Registry, Served};
pub use scheduler_backend::{
    BackendError, GangState, Membership, Release, SchedulerBackend, Synced, TopologyBackend,
};
pub use validation::{FieldError, FieldErrorReason, Validation};
