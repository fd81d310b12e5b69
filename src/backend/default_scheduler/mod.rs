//! kube-scheduler (`default-scheduler`), through the Workload API `scheduling.k8s.io/v1alpha2` of Kubernetes
//! 1.36.
//!
//! A PodGang becomes a Workload and PodGroups; a pod joins by `spec.schedulingGroup`, which is immutable, so
//! membership is decided when the pod is created. What a PodGroup spans is the [`GangScope`]: one podgroup of
//! the PodGang (flat, the proposal's mapping), or the hard gang of the whole PodGang.
//!
//! - `config`: the profile's `config`
//! - `scope`: what a PodGroup spans, and which pod is in it
//! - `names`: names of templates and PodGroups
//! - `workload_api`: the API's types
//! - `plan`: PodGang -> Workload and PodGroups
//! - `sync`: brings a plan into being, never changes what is there
//! - `detection`: what of the API is there
//! - `admission`: which PodCliqueSets can be expressed
//! - `release`: when a gated pod goes to the scheduler

mod admission;
mod backend;
mod config;
mod detection;
mod names;
mod plan;
mod release;
mod scope;
mod sync;
mod workload_api;

pub use backend::DefaultScheduler;
pub use config::{DefaultSchedulerConfig, SchedulerFeatureGates};
pub use scope::GangScope;
