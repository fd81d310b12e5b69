//! The reference backend controller: from a PodCliqueSet to pods that a gang scheduler binds together.
//!
//! PodCliqueSet -> PodCliques, scaling groups, PodGangs -> pods, and PodGang -> the backend's gang resources.
//! One reconciler per kind, each woken by changes in caches that all share; status is written by reconcilers
//! of its own.
//!
//! - `program`: start and end; `configuration`: the configuration file; `install`: manifests
//! - `informer`, `caches`, `triggers`, `queues`, `reconcilers`, `reconcile_loop`, `agenda`: from a watch event to a
//!   reconciliation
//! - `context`: what reconcilers share; `ownership`: who owns what; `flow`: how much is under way
//! - `pod_clique_set`, `pod_clique_scaling_group`, `pod_clique`, `pod_gang`, `cluster_topology_binding`:
//!   reconcilers of objects
//! - `pod_clique_set_status`, `scaling_group_status`, `pod_clique_status`, `pod_gang_status`: reconcilers of status;
//!   `cluster_topology_binding_status`, `conditions`: the contents of a status
//! - `gang_composition`, `topology_translation`, `pod_gang_object`, `pod_clique_object`: what the objects
//!   look like
//! - `autoscaler`: HorizontalPodAutoscalers; `resource_sharing`, `resource_claims`: which ResourceClaims pods share, and the
//!   objects
//! - `gang_view`: a PodGang and its pods
//! - `minimums`: how much of what can be scaled has to be there
//! - `remembered_replicas`: of PodCliques that were deleted by hand
//! - `gang_termination`: when a scope is recycled; `half_gangs`: also what is bound in part; `generations`: which pods are of
//!   which generation; `duration`: how long
//! - `rolling_update`: what an update takes down next; `update_view`: what that is decided on
//! - `startup_order`: who waits for whom; `startup_wait`: which of them are not Ready yet; `init_access`: what it takes to see them
//! - `children`, `writes`, `json_diff`: writing no more than what differs; `written_versions`: what the caches do not show yet
//! - `admission`: webhooks; `servers`: the HTTP sides; `leader`: one leader at a time
//! - `events`, `metrics`, `api_layer`: what it reports; `faults`, `fault_injection`: how it is made to fail

pub mod admission;
mod agenda;
mod api_layer;
mod autoscaler;
mod caches;
mod children;
mod cluster_topology_binding;
mod cluster_topology_binding_status;
mod conditions;
mod configuration;
mod context;
mod duration;
mod error;
mod events;
mod fault_injection;
mod faults;
mod flow;
mod gang_composition;
mod gang_termination;
mod gang_view;
mod generations;
mod half_gangs;
mod informer;
mod init_access;
pub mod install;
mod json_diff;
mod leader;
mod metrics;
mod minimums;
mod namespace_termination;
mod ownership;
mod pod_clique;
mod pod_clique_object;
mod pod_clique_scaling_group;
mod pod_clique_set;
mod pod_clique_set_objects;
mod pod_clique_set_status;
mod pod_clique_status;
mod pod_gang;
mod pod_gang_names;
mod pod_gang_object;
mod pod_gang_status;
mod previous_template;
mod program;
mod queues;
mod reconcile_loop;
mod reconcilers;
mod remembered_replicas;
mod resource_claims;
mod resource_sharing;
mod rolling_update;
mod scaling_group_status;
mod servers;
mod shared_templates;
mod startup_order;
mod startup_wait;
#[cfg(test)]
mod test_api;
mod topology_translation;
mod triggers;
mod unbound_claims;
mod update_view;
mod writes;
mod written_versions;

pub use configuration::{Configuration, ConfigurationError};
pub use faults::{Fault, Faults};
pub use program::{Options, ProgramError, run_controller};
pub use webhook_server::ServerError;
