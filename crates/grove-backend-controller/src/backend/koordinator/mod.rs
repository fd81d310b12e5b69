//! Koordinator (`koord-scheduler`), through the PodGroups `scheduling.sigs.k8s.io/v1alpha1` of its gang scheduler.
//!
//! Each podgroup of a PodGang becomes a PodGroup, and all of them together a GangGroup: Koordinator binds none
//! of their pods before every PodGroup has its minimum. A pod joins by a label. Where the gang goes is one rule
//! for the whole GangGroup, in layers of the administrator's ClusterNetworkTopology, which is only read here.
//!
//! - `config`: the profile's `config`
//! - `layers`: maps node-label keys to layers
//! - `pod_group`: names and annotations of Koordinator's API
//! - `gather`: what of a PodGang's topology Koordinator can keep
//! - `network_topology`: which layers the cluster declares
//! - `plan`: PodGang -> PodGroups
//! - `admission`: which PodCliqueSets can be expressed
//! - `backend`: puts the parts together

mod admission;
mod backend;
mod config;
mod gather;
mod layers;
mod network_topology;
mod plan;
mod pod_group;

pub use backend::{KOORD_SCHEDULER, Koordinator};
pub use config::KoordinatorConfig;
