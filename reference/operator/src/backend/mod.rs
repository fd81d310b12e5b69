//! `external` serves any scheduler that reads PodGangs itself.

pub(crate) mod affinity;
mod cached_answer;
mod crd;
mod default_scheduler;
mod domain;
mod excess_pods;
mod external;
#[cfg(test)]
mod fake_api;
#[cfg(test)]
pub(crate) mod fake_backend;
mod gang_objects;
pub(crate) mod idle;
mod kai;
mod koordinator;
pub(crate) mod name_pattern;
pub(crate) mod names;
mod objects;
mod pod_spec;
mod profiles;
mod queue;
mod registry;
mod scheduler_backend;
mod template;
mod volcano;

pub use default_scheduler::{DefaultScheduler, DefaultSchedulerConfig, GangScope, SchedulerFeatureGates};
pub(crate) use excess_pods::is_gated;
pub use external::{External, ExternalConfig};
pub use kai::{KAI_SCHEDULER, Kai};
pub use koordinator::{KOORD_SCHEDULER, Koordinator, KoordinatorConfig};
pub use profiles::{Profile, ProfileError, ProfileType};
pub use registry::{DEFAULT_SCHEDULER, DefaultNotEnabled, Registry, Served};
pub use scheduler_backend::{
    BackendError, GangState, Membership, Release, SchedulerBackend, Synced, TopologyBackend, TopologyState,
    TopologyView,
};
pub use volcano::{VOLCANO, Volcano};
pub use webhook_server::{FieldError, FieldErrorReason, Validation};

use profiles::BuiltIn;

/// The built-in backends in alphabetical order. The name of a profile selects one.
const BUILT_IN: &[BuiltIn] =
    &[default_scheduler::BUILT_IN, kai::BUILT_IN, koordinator::BUILT_IN, volcano::BUILT_IN];
