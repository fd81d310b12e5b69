//! Reads the OperatorConfiguration. An unknown field or value stops the controller before its first write.

use std::sync::Arc;

use grove_yaml as yaml;
use kube::Client;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::{DEFAULT_SCHEDULER, Profile, ProfileType, Registry, SchedulerBackend};

const API_VERSION: &str = "operator.config.grove.io/v1alpha1";
const KIND: &str = "OperatorConfiguration";
/// The image that is built from `images/grove-initc`.
const DEFAULT_INIT_IMAGE: &str = "grove-conformance/grove-initc:dev";

#[derive(Clone, Debug)]
pub struct Configuration {
    default_profile_name: String,
    profiles: Vec<Profile>,
    init_image: String,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("configuration: {path}: {message}")]
pub struct ConfigurationError {
    pub path: String,
    pub message: String,
}

impl ConfigurationError {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    api_version: String,
    kind: String,
    scheduler: Scheduler,
    init_container: Option<InitContainer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InitContainer {
    image: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Scheduler {
    default_profile_name: Option<String>,
    profiles: Vec<FileProfile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileProfile {
    name: String,
    #[serde(rename = "type")]
    type_: Option<ProfileType>,
    config: Option<Value>,
}

impl Configuration {
    /// Always enables `default-scheduler`. [`registry`](Self::registry) checks the `config` of the profiles.
    pub fn parse(text: &str) -> Result<Self, ConfigurationError> {
        let documents =
            yaml::documents(text).map_err(|error| ConfigurationError::new(".", error.to_string()))?;
        let Ok([document]) = <[Value; 1]>::try_from(documents) else {
            return Err(ConfigurationError::new(".", "the file must have one document"));
        };
        let file: File = serde_path_to_error::deserialize(document)
            .map_err(|error| ConfigurationError::new(error.path().to_string(), error.inner().to_string()))?;
        for (path, found, wanted) in
            [("apiVersion", &file.api_version, API_VERSION), ("kind", &file.kind, KIND)]
        {
            if found != wanted {
                return Err(ConfigurationError::new(path, format!("{found:?}: must be {wanted}")));
            }
        }
        let mut profiles: Vec<Profile> = Vec::new();
        for (i, FileProfile { name, type_, config }) in file.scheduler.profiles.into_iter().enumerate() {
            if profiles.iter().any(|profile| profile.name == name) {
                return Err(ConfigurationError::new(
                    format!("scheduler.profiles[{i}].name"),
                    format!("{name:?} occurs twice"),
                ));
            }
            profiles.push(Profile { name, type_, config });
        }
        if !profiles.iter().any(|profile| profile.name == DEFAULT_SCHEDULER) {
            profiles.push(Profile { name: DEFAULT_SCHEDULER.to_owned(), type_: None, config: None });
        }
        let default_profile_name =
            file.scheduler.default_profile_name.unwrap_or_else(|| DEFAULT_SCHEDULER.to_owned());
        if !profiles.iter().any(|profile| profile.name == default_profile_name) {
            return Err(ConfigurationError::new(
                "scheduler.defaultProfileName",
                format!("{default_profile_name:?}: default profile must be one of the configured profiles"),
            ));
        }
        let init_image =
            file.init_container.map_or_else(|| DEFAULT_INIT_IMAGE.to_owned(), |container| container.image);
        if init_image.is_empty() {
            return Err(ConfigurationError::new("initContainer.image", "must not be empty"));
        }
        Ok(Self { default_profile_name, profiles, init_image })
    }

    pub fn init_image(&self) -> &str {
        &self.init_image
    }

    /// `namespace` is the controller's own namespace, which exists.
    pub fn registry(&self, client: &Client, namespace: &str) -> Result<Registry, ConfigurationError> {
        let backend =
            |(i, profile): (usize, &Profile)| -> Result<Arc<dyn SchedulerBackend>, ConfigurationError> {
                profile.backend(client, namespace).map_err(|error| {
                    ConfigurationError::new(format!("scheduler.profiles[{i}].{}", error.path), error.message)
                })
            };
        let backends = self.profiles.iter().enumerate().map(backend).collect::<Result<Vec<_>, _>>()?;
        Registry::new(&self.default_profile_name, backends)
            .map_err(|error| ConfigurationError::new("scheduler.defaultProfileName", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(text: &str) -> Result<Registry, ConfigurationError> {
        let (service, _) =
            tower_test::mock::pair::<http::Request<kube::client::Body>, http::Response<kube::client::Body>>();
        Configuration::parse(text)?.registry(&Client::new(service, "default"), "grove-system")
    }

    fn file(scheduler: &str) -> String {
        format!("apiVersion: {API_VERSION}\nkind: {KIND}\nscheduler: {scheduler}\n")
    }

    #[tokio::test]
    async fn a_file_with_all_fields_is_accepted() {
        let registry = start(&file(
            "{defaultProfileName: default-scheduler, profiles: [{name: default-scheduler, config: {gangScheduling: true, \
             gangScope: PodGang, schedulerFeatureGates: {GangScheduling: true, TopologyAwareWorkloadScheduling: true}}}]}",
        ));
        assert_eq!(
            registry.map(|registry| registry.default_name().to_owned()),
            Ok("default-scheduler".to_owned())
        );
    }

    #[tokio::test]
    async fn the_default_scheduler_needs_no_profile() {
        assert!(
            start(&file("{profiles: []}")).is_ok_and(|registry| registry.get(DEFAULT_SCHEDULER).is_some())
        );
    }

    #[tokio::test]
    async fn an_external_scheduler_may_be_the_default() {
        let registry = start(&file(
            "{defaultProfileName: outside, profiles: [{name: outside, type: External, config: {topologyConstraints: true}}]}",
        ));
        assert!(registry.is_ok_and(|registry| {
            registry.default_name() == "outside" && registry.get(DEFAULT_SCHEDULER).is_some()
        }));
    }

    #[rstest::rstest]
    #[case::field("{profiles: [], shceduler: 1}", "scheduler.shceduler")]
    #[case::value(
        "{profiles: [{name: default-scheduler, config: {gangScope: Pod}}]}",
        "scheduler.profiles[0].config.gangScope"
    )]
    #[case::gate(
        "{profiles: [{name: default-scheduler, config: {schedulerFeatureGates: {Gang: true}}}]}",
        "scheduler.profiles[0].config.schedulerFeatureGates.Gang"
    )]
    #[case::no_object("{profiles: [{name: default-scheduler, config: 1}]}", "scheduler.profiles[0].config")]
    #[case::backend("{profiles: [{name: default-scheduler}, {name: slurm}]}", "scheduler.profiles[1].name")]
    #[case::twice(
        "{profiles: [{name: default-scheduler}, {name: default-scheduler}]}",
        "scheduler.profiles[1].name"
    )]
    #[case::type_("{profiles: [{name: outside, type: Outside}]}", "scheduler.profiles[0].type")]
    #[case::external_field(
        "{profiles: [{name: outside, type: External, config: {topology: true}}]}",
        "scheduler.profiles[0].config.topology"
    )]
    #[case::external_value(
        "{profiles: [{name: outside, type: External, config: {topologyConstraints: rack}}]}",
        "scheduler.profiles[0].config.topologyConstraints"
    )]
    #[case::koordinator_value(
        "{profiles: [{name: koord-scheduler, config: {gangMode: strict}}]}",
        "scheduler.profiles[0].config.gangMode"
    )]
    #[case::shadowed("{profiles: [{name: volcano, type: External}]}", "scheduler.profiles[0].name")]
    #[case::shadowed_default(
        "{profiles: [{name: default-scheduler, type: External}]}",
        "scheduler.profiles[0].name"
    )]
    #[case::no_label("{profiles: [{name: a/b, type: External}]}", "scheduler.profiles[0].name")]
    #[case::no_name("{profiles: [{name: '', type: External}]}", "scheduler.profiles[0].name")]
    #[case::external_twice(
        "{profiles: [{name: outside, type: External}, {name: outside, type: External}]}",
        "scheduler.profiles[1].name"
    )]
    #[case::default("{defaultProfileName: volcano, profiles: []}", "scheduler.defaultProfileName")]
    #[tokio::test]
    async fn an_invalid_file_is_refused_with_the_path_of_the_error(
        #[case] scheduler: &str,
        #[case] path: &str,
    ) {
        let error = start(&file(scheduler)).err();
        assert_eq!(error.as_ref().map(|error| error.path.as_str()), Some(path), "{error:?}");
    }

    #[test]
    fn the_init_container_image_is_read_and_validated() {
        let image = |rest: &str| {
            let text = format!("{}{rest}", file("{profiles: []}"));
            Configuration::parse(&text).map(|configuration| configuration.init_image().to_owned())
        };
        assert_eq!(image(""), Ok(DEFAULT_INIT_IMAGE.to_owned()));
        assert_eq!(image("initContainer: {image: 'r/initc:1'}\n"), Ok("r/initc:1".to_owned()));
        let path = |rest: &str| image(rest).err().map(|error| error.path);
        assert_eq!(path("initContainer: {image: ''}\n").as_deref(), Some("initContainer.image"));
        assert_eq!(path("initContainer: {tag: a}\n").as_deref(), Some("initContainer.tag"));
    }

    #[tokio::test]
    async fn another_api_version_is_refused() {
        let text = file("{profiles: []}").replace("v1alpha1", "v2");
        assert_eq!(start(&text).err().map(|error| error.path), Some("apiVersion".to_owned()));
    }
}
