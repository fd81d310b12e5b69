//! KAI (`kai-scheduler`), through its PodGroup `scheduling.run.ai/v2alpha2`.
//!
//! A PodGang becomes one PodGroup of the same name. Its podgroups are the leaves of a tree of subgroups; a
//! topology group config is the parent of some of them. A pod joins by annotation and label. An annotation
//! makes KAI's podgrouper ignore these pods, because it would create its own PodGroups for them.
//! ClusterTopologyBindings become KAI Topologies.

mod admission;
mod api;
mod backend;
#[cfg(test)]
mod fake_cluster;
mod node_pool;
mod plan;
mod queue;
mod topology;

pub use api::KAI_SCHEDULER;
pub use backend::Kai;
