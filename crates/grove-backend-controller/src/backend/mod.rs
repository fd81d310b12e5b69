//! The schedulers Grove supports, one module each, behind [`SchedulerBackend`].
//!
//! - `scheduler_backend`: the contract
//! - `profiles`: from the configuration file to a backend
//! - `registry`: which backends are enabled and what each serves
//! - `template`: what admission rules look up in a template
//! - `queue`: the queue of a PodCliqueSet
//! - `pod_spec`: what a pod gets before it is created
//! - `affinity`: required node affinity of pods
//! - `domain`: the topology of a gang, and the domain it is in
//! - `surplus`: the hard gang and what is beyond it
//! - `names`: names that fit where an API wants them
//! - `crd`: which CRDs of a scheduler are there
//! - `remembered`: an answer of the API server that holds for a while
//! - `objects`: one object in the API server, what differs from its plan, and the writes
//! - `generation`: how often a gang has been recycled
//! - `idle`: podgroups that are scaled to 0 and out of their gang
//! - `gang_objects`: gang resources that may be changed, created, repaired and pruned
//! - `default_scheduler`: kube-scheduler through the Workload API
//! - `kai`: KAI
//! - `koordinator`: Koordinator's koord-scheduler
//! - `volcano`: Volcano
//! - `external`: any scheduler that reads PodGangs itself

pub(crate) mod affinity;
mod crd;
mod default_scheduler;
mod domain;
mod excess_pods;
mod external;
mod gang_objects;
pub(crate) mod generation;
pub(crate) mod idle;
mod kai;
mod koordinator;
#[cfg(test)]
mod made_up_api;
mod names;
mod objects;
mod pod_spec;
mod profiles;
mod queue;
mod registry;
mod remembered;
mod scheduler_backend;
mod template;
mod volcano;

pub use default_scheduler::{DefaultScheduler, DefaultSchedulerConfig, GangScope, SchedulerFeatureGates};
pub(crate) use excess_pods::is_gated;
pub use external::{External, ExternalConfig};
pub use kai::{KAI_SCHEDULER, Kai};
pub use koordinator::{KOORD_SCHEDULER, Koordinator, KoordinatorConfig};
pub use profiles::{Profile, ProfileError, ProfileType};
pub use registry::{DEFAULT_SCHEDULER, Registry, Served};
pub use scheduler_backend::{
    BackendError, GangState, Membership, Release, SchedulerBackend, Synced, TopologyBackend, TopologyState,
    TopologyView,
};
pub use volcano::{VOLCANO, Volcano};
pub use webhook_server::{FieldError, FieldErrorReason, Validation};
