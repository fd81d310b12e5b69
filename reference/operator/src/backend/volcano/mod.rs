//! Volcano (`volcano`), 1.14 or newer. A PodGang becomes one PodGroup in which every podgroup is a subgroup
//! with its own minimum. A pod joins by annotation. Required topology uses tiers of HyperNodes.

mod admission;
mod api;
mod backend;
mod hyper_nodes;
mod hyper_tree;
mod plan;
mod queue;
mod tiers;

use std::sync::Arc;

use kube::Client;

pub use api::VOLCANO;
pub use backend::Volcano;

use super::profiles::{BuiltIn, Created, NoConfig, Profile};

pub(super) const BUILT_IN: BuiltIn = BuiltIn { name: VOLCANO, create };

fn create(profile: &Profile, client: &Client, _namespace: &str) -> Created {
    let NoConfig {} = profile.config()?;
    Ok(Arc::new(Volcano::new(client.clone())))
}
