//! Computes the desired objects, their names and their patches. The functions send no requests.

pub(crate) mod autoscaler_objects;
pub(crate) mod conditions;
pub(crate) mod duration;
pub(crate) mod gang_composition;
pub(crate) mod gate;
pub(crate) mod json_diff;
pub(crate) mod minimums;
pub(crate) mod patches;
pub(crate) mod pod;
pub(crate) mod pod_clique_object;
pub(crate) mod pod_clique_set_objects;
pub(crate) mod pod_gang_names;
pub(crate) mod pod_gang_object;
pub(crate) mod replicas;
pub(crate) mod resource_sharing;
pub(crate) mod startup_order;
pub(crate) mod startup_parents;
pub(crate) mod topology_translation;
