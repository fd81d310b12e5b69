//! A kubelet device plugin that advertises GPUs that do not exist, so that real kubelets can be tested without any.
//!
//! The node object says how many GPUs there are and which of them are unhealthy; the kubelet is notified, and again
//! whenever that changes. A container gets an environment variable with its device ids, and nothing to compute
//! with.
//!
//! - `program`: start and end; `shutdown`: how its parts learn of the end; `health`: `/healthz` and `/readyz`
//! - `devices`: the pure state; `node`: who writes it; `service`: who answers the kubelet from it
//! - `plugin`: serving, registering, and both again when the kubelet restarts; `kubelet`: registering once;
//!   `socket`: socket files
//! - `resource_name`: what is advertised; `reasons`: logs every reason once
//! - `faults`: deliberately broken promises, for mutants
//! - `v1beta1`: the kubelet's API, generated
//!
//! Arrows: `node` -> `devices` (a watch channel) -> `service` -> the kubelet. Nothing here knows of Grove.

pub mod command_line;
mod devices;
mod faults;
mod health;
mod kubelet;
#[cfg(test)]
mod mock_kubelet;
mod node;
mod plugin;
mod program;
mod reasons;
mod resource_name;
mod service;
mod shutdown;
mod socket;
mod v1beta1;

pub use faults::{Fault, Faults};
pub use health::HealthError;
pub use node::{COUNT_LABEL, ConnectionError, NodeOptions, UNHEALTHY_ANNOTATION};
pub use plugin::PLUGINS_DIR;
pub use program::{Options, PluginError, run_plugin, run_until};
pub use resource_name::{InvalidResourceName, ResourceName};
