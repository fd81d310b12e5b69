//! Creates a backend from a profile of the configuration file. An unknown field in the backend's `config`
//! prevents the start, and the error contains its path (KOORD-13, EXT-05).

use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::names::{MAX_LABEL, is_label_value};
use super::registry::is_reserved;
use super::{BUILT_IN, External, SchedulerBackend};

pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    /// The last argument is the controller's own namespace, which exists.
    pub(super) create: fn(&Profile, &Client, &str) -> Created,
}

pub(super) type Created = Result<Arc<dyn SchedulerBackend>, ProfileError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoConfig {}

#[derive(Clone, Debug)]
pub struct Profile {
    pub name: String,
    /// `None` for the built-in backend with the name of the profile.
    pub type_: Option<ProfileType>,
    pub config: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ProfileType {
    External,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ProfileError {
    pub path: String,
    pub message: String,
}

impl Profile {
    pub fn backend(
        &self,
        client: &Client,
        namespace: &str,
    ) -> Result<Arc<dyn SchedulerBackend>, ProfileError> {
        let name = self.name.as_str();
        let bad_name = |message| Err(ProfileError { path: "name".to_owned(), message });
        if let Some(ProfileType::External) = self.type_ {
            if is_reserved(name) {
                return bad_name(format!("{name:?} is the name of a built-in scheduler backend"));
            }
            // The name becomes the value of `grove.io/scheduler-name`.
            if !is_label_value(name) {
                return bad_name(format!(
                    "{name:?}: must be the value of a label: at most {MAX_LABEL} letters, digits, '-', '_' and '.', \
                     a letter or digit at either end"
                ));
            }
            return Ok(Arc::new(External::new(name, self.config()?)));
        }
        match BUILT_IN.iter().find(|built_in| built_in.name == name) {
            Some(built_in) => (built_in.create)(self, client, namespace),
            None => {
                let supported: Vec<_> = BUILT_IN.iter().map(|built_in| built_in.name).collect();
                bad_name(format!(
                    "no scheduler backend {name:?}; supported: {}, and with type: External any scheduler that reads \
                     PodGangs itself",
                    supported.join(", ")
                ))
            }
        }
    }

    pub(super) fn config<C: DeserializeOwned>(&self) -> Result<C, ProfileError> {
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
