//! kube-scheduler (`default-scheduler`), through the Workload API `scheduling.k8s.io` of Kubernetes 1.36 and 1.37.
//!
//! A PodGang becomes a Workload and PodGroups; a pod joins by `spec.schedulingGroup`, which is immutable, so
//! membership is decided when the pod is created. What is bound together is the [`GangScope`]: one podgroup of
//! the PodGang (flat, the proposal's mapping), the hard gang of the whole PodGang in one PodGroup, or, where
//! CompositePodGroup is served, a tree over a PodGroup per podgroup.
//!
//! - `config`: the profile's `config`
//! - `scope`: what is bound together, and which pod is in which PodGroup
//! - `names`: names of templates and groups
//! - `workload_api`: the API's types
//! - `outline`: PodGang -> PodGroups side by side, or a tree
//! - `plan`: an outline as objects
//! - `sync`: brings a plan into being, never changes what is there
//! - `detection`: what of the API is there
//! - `admission`: which PodCliqueSets can be expressed
//! - `release`: when a gated pod goes to the scheduler

mod admission;
mod backend;
mod config;
mod detection;
mod names;
mod outline;
mod plan;
mod release;
mod scope;
mod sync;
mod workload_api;

pub use backend::DefaultScheduler;
pub use config::{DefaultSchedulerConfig, SchedulerFeatureGates};
pub use scope::GangScope;
