//! Koordinator (`koord-scheduler`), through the PodGroups `scheduling.sigs.k8s.io/v1alpha1` of its gangs.
//!
//! Each podgroup of a PodGang becomes a PodGroup. All PodGroups of the PodGang form a GangGroup. Koordinator
//! binds none of their pods before every PodGroup has its minimum. A pod joins by a label. One topology rule
//! applies to the whole GangGroup, in layers of the administrator's ClusterNetworkTopology.

mod admission;
mod backend;
mod config;
mod gather;
mod layers;
mod network_topology;
mod plan;
mod pod_group;

use std::sync::Arc;

use kube::Client;

pub use backend::Koordinator;
pub use config::KoordinatorConfig;
pub use pod_group::KOORD_SCHEDULER;

use super::profiles::{BuiltIn, Created, Profile};

pub(super) const BUILT_IN: BuiltIn = BuiltIn { name: KOORD_SCHEDULER, create };

fn create(profile: &Profile, client: &Client, _namespace: &str) -> Created {
    Ok(Arc::new(Koordinator::new(client.clone(), profile.config()?)))
}
