//! A kubelet device plugin that advertises GPUs that do not exist. A label and an annotation of the node set
//! how many GPUs exist and which are unhealthy. A container gets its device ids in an environment variable,
//! but no device. Data flows from `node` through `devices` (a watch channel) and `service` to the kubelet.

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
