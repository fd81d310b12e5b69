//! Creates a backend from a profile of the configuration file.
//!
//! Only this module knows every backend by name. A profile's `config` belongs to the backend and is parsed
//! strictly: an unknown field prevents the start, and the error contains its path (KOORD-13, EXT-05).

use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::names::{MAX_LABEL, is_label_value};
use super::registry::BUILT_IN;
use super::{
    DEFAULT_SCHEDULER, DefaultScheduler, External, KAI_SCHEDULER, KOORD_SCHEDULER, Kai, Koordinator,
    SchedulerBackend, VOLCANO, Volcano,
};

#[derive(Clone, Debug)]
pub struct Profile {
    pub name: String,
    /// The kind of backend; `None` for the built-in backend with the name of the profile.
    pub type_: Option<ProfileType>,
    /// The backend's own configuration, an object.
    pub config: Option<Value>,
}

/// Kinds of backends that may have any name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ProfileType {
    External,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoConfig {}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ProfileError {
    /// Path within the profile, such as `config.gangScope`.
    pub path: String,
    pub message: String,
}

impl Profile {
    /// Creates the backend of this profile. `namespace` is the controller's own, which exists.
    pub fn backend(
        &self,
        client: &Client,
        namespace: &str,
    ) -> Result<Arc<dyn SchedulerBackend>, ProfileError> {
        let bad_name = |message| Err(ProfileError { path: "name".to_owned(), message });
        match (self.type_, self.name.as_str()) {
            (Some(ProfileType::External), name) if BUILT_IN.contains(&name) => {
                bad_name(format!("{name:?} is the name of a built-in scheduler backend"))
            }
            // The name becomes the value of `grove.io/scheduler-name`.
            (Some(ProfileType::External), name) if !is_label_value(name) => bad_name(format!(
                "{name:?}: must be the value of a label: at most {MAX_LABEL} letters, digits, '-', '_' and '.', \
                 a letter or digit at either end"
            )),
            (Some(ProfileType::External), name) => Ok(Arc::new(External::new(name, self.config()?))),
            (None, DEFAULT_SCHEDULER) => {
                Ok(Arc::new(DefaultScheduler::new(client.clone(), self.config()?, namespace)))
            }
            (None, KAI_SCHEDULER) => {
                let NoConfig {} = self.config()?;
                Ok(Arc::new(Kai::new(client.clone())))
            }
            (None, KOORD_SCHEDULER) => Ok(Arc::new(Koordinator::new(client.clone(), self.config()?))),
            (None, VOLCANO) => {
                let NoConfig {} = self.config()?;
                Ok(Arc::new(Volcano::new(client.clone())))
            }
            (None, name) => bad_name(format!(
                "no scheduler backend {name:?}; supported: {DEFAULT_SCHEDULER}, {KAI_SCHEDULER}, {KOORD_SCHEDULER}, \
                 {VOLCANO}, and with type: External any scheduler that reads PodGangs itself"
            )),
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
