//! KAI (`kai-scheduler`), through its PodGroup `scheduling.run.ai/v2alpha2`.
//!
//! A PodGang becomes one PodGroup of the same name. Its podgroups are the leaves of a tree of subgroups, a topology
//! group config is a parent of some of them, and a pod joins by annotation and label. KAI's podgrouper, which makes
//! PodGroups of its own for pods that have none, is told to keep off. ClusterTopologyBindings become KAI Topologies.
//!
//! - `api`: the API's kinds and keys, and by what a release of KAI is recognised
//! - `node_pool`: the one node pool of a PodCliqueSet
//! - `queue`: the one queue of a PodCliqueSet
//! - `plan`: PodGang -> PodGroup
//! - `admission`: which PodCliqueSets can be expressed
//! - `backend`: puts them together
//! - `topology`: ClusterTopologyBinding -> Topology

mod admission;
mod api;
mod backend;
#[cfg(test)]
mod made_up;
mod node_pool;
mod plan;
mod queue;
mod topology;

pub use backend::{KAI_SCHEDULER, Kai};
