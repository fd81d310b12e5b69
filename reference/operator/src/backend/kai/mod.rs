//! KAI (`kai-scheduler`), through its PodGroup `scheduling.run.ai/v2alpha2`.
//!
//! A PodGang becomes one PodGroup of the same name. The podgroups become the leaves of a tree of subgroups. A
//! pod joins by annotation and label. An annotation makes KAI's podgrouper ignore these pods, because it
//! would create its own PodGroups for them. Pods are released at once: KAI holds back a gang that does not
//! fit as a whole, and schedules pods beyond the minimum one by one.

mod admission;
mod api;
mod backend;
#[cfg(test)]
mod fake_cluster;
mod node_pool;
mod plan;
mod queue;
mod topology;

use std::sync::Arc;

use kube::Client;

pub use api::KAI_SCHEDULER;
pub use backend::Kai;

use super::profiles::{BuiltIn, Created, NoConfig, Profile};

pub(super) const BUILT_IN: BuiltIn = BuiltIn { name: KAI_SCHEDULER, create };

fn create(profile: &Profile, client: &Client, _namespace: &str) -> Created {
    let NoConfig {} = profile.config()?;
    Ok(Arc::new(Kai::new(client.clone())))
}
