mod agenda;
mod api_layer;
mod configuration;
pub mod install;
mod leader;
mod program;
mod reconcile_loop;
mod reconcilers;
mod servers;

pub use configuration::{Configuration, ConfigurationError};
pub use program::{Options, ProgramError, run_controller};
pub use webhook_server::ServerError;

pub use crate::plan::pod_gang_names::PodGangNames;
