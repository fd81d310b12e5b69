//! Volcano (`volcano`), 1.14 or newer.
//!
//! A PodGang becomes one PodGroup in which every podgroup is a subgroup with its own minimum, so that
//! the hard gang is bound across cliques or not at all; a pod joins by annotation. Required topology goes by
//! tiers of HyperNodes, which are made from a ClusterTopologyBinding and the labels of nodes.
//!
//! - `api`: kinds and keys, and the CRDs that have to be there
//! - `plan`: PodGang -> PodGroup
//! - `queue`: which queue a PodCliqueSet names, and whether it takes gangs
//! - `admission`: which PodCliqueSets can be expressed
//! - `tiers`: from the node-label keys of a PodGang to tiers
//! - `hyper_tree`: nodes and levels -> HyperNodes
//! - `hyper_nodes`: brings HyperNodes into being
//! - `backend`: puts the parts together

mod admission;
mod api;
mod backend;
mod hyper_nodes;
mod hyper_tree;
mod plan;
mod queue;
mod tiers;

pub use backend::{VOLCANO, Volcano};
