//! The reference operator: turns a PodCliqueSet into pods that a gang scheduler binds together.
//!
//! A PodCliqueSet becomes PodCliques, scaling groups and PodGangs; PodCliques become pods, and PodGangs the
//! backend's gang resources. One reconciler per kind runs on changes in the shared caches. Separate
//! reconcilers write the statuses.
//!
//! - from watch event to reconciliation: `informer`, `caches`, `triggers`, `queues`, `agenda`,
//!   `reconcile_loop`, `reconcilers`
//! - desired objects: `gang_composition`, `topology_translation`, `pod_gang_object`, `pod_clique_object`,
//!   `pod_clique_set_objects`
//! - gang termination: `gang_termination`, `half_gangs`, `generations`
//! - updates: `rolling_update`, `update_view`, `previous_template`
//! - startup order: `startup_order`, `startup_wait`, `init_access`
//! - writes: `children`, `writes`, `json_diff`, `written_versions`
//! - faults for mutants, in addition to `crate::faults`: `fault_injection`

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
pub use pod_gang_names::PodGangNames;
pub use program::{Options, ProgramError, run_controller};
pub use webhook_server::ServerError;
