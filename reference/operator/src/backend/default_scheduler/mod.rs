//! kube-scheduler (`default-scheduler`), through the API `scheduling.k8s.io` of Kubernetes 1.36 and 1.37.
//!
//! A PodGang becomes a Workload and PodGroups. A pod joins by `spec.schedulingGroup`, which is immutable, so
//! its membership is decided when it is created. The [`GangScope`] determines which pods are bound together.
//! `outline` maps a PodGang to PodGroups or a tree, `plan` converts that to objects, and `sync` creates them.

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

use std::sync::Arc;

use kube::Client;

pub use backend::DefaultScheduler;
pub use config::{DefaultSchedulerConfig, SchedulerFeatureGates};
pub use scope::GangScope;

use super::DEFAULT_SCHEDULER;
use super::profiles::{BuiltIn, Created, Profile};

pub(super) const BUILT_IN: BuiltIn = BuiltIn { name: DEFAULT_SCHEDULER, create };

fn create(profile: &Profile, client: &Client, namespace: &str) -> Created {
    Ok(Arc::new(DefaultScheduler::new(client.clone(), profile.config()?, namespace)))
}
