//! From a profile of the configuration file to a backend.
//!
//! The only place that knows every backend by name. A profile's `config` is the backend's own business and
//! parsed strictly: what it does not know stops the start, with its path (KOORD-06, EXT-02).

use std::sync::Arc;

use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{DEFAULT_SCHEDULER, DefaultScheduler, SchedulerBackend};

/// A profile as the configuration file has it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// schedulerName.
    pub name: String,
    /// The backend's own configuration, an object.
    pub config: Option<Value>,
}

/// Why a profile is no good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ProfileError {
    /// Path within the profile, such as `config.gangScope`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl Profile {
    /// The backend of this profile. `namespace` is the controller's own, which exists.
    ///
    /// # Errors
    /// There is no such backend, or its configuration is no good.
    pub fn backend(
        &self,
        client: &Client,
        namespace: &str,
    ) -> Result<Arc<dyn SchedulerBackend>, ProfileError> {
        match self.name.as_str() {
            DEFAULT_SCHEDULER => {
                Ok(Arc::new(DefaultScheduler::new(client.clone(), self.config()?, namespace)))
            }
            name => Err(ProfileError {
                path: "name".to_owned(),
                message: format!("no scheduler backend {name:?}; supported: {DEFAULT_SCHEDULER}"),
            }),
        }
    }

    fn config<C: DeserializeOwned>(&self) -> Result<C, ProfileError> {
        let config = self.config.clone().unwrap_or_else(|| json!({}));
        serde_path_to_error::deserialize(config).map_err(|error| {
            let path = match error.path().to_string().as_str() {
                "." => "config".to_owned(),
                path => format!("config.{path}"),
            };
            ProfileError { path, message: error.into_inner().to_string() }
        })
    }
}
