use std::path::PathBuf;

use conformance_programs::source::GoBuild;
use serde::Deserialize;

use super::error::InvalidDescription;
use super::template::{Configuration, fill, fill_value};

const OF_VALUES: [&str; 7] =
    ["image-repository", "image-tag", "init-repository", "init-tag", "namespace", "version", "commit"];
const OF_TAGS: [&str; 2] = ["version", "commit"];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorChart {
    /// Relative to the source.
    pub folder: PathBuf,
    pub release: String,
    /// The operator's Deployment in its namespace. Its pods have this name as `app.kubernetes.io/name`.
    pub deployment: String,
    /// The lease for leader election of the replicas, in the same namespace.
    pub lease: String,
    pub init: Option<InitProgram>,
    pub values: Configuration,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InitProgram {
    pub name: String,
    pub build: GoBuild,
    /// May contain `{version}` and `{commit}`.
    pub tag: String,
}

impl OperatorChart {
    pub(super) fn check(&self) -> Result<(), InvalidDescription> {
        let all = |names: &[&'static str]| names.iter().map(|name| (*name, "1".to_owned())).collect();
        fill_value(&self.values.template, &all(&OF_VALUES))
            .map_err(InvalidDescription::in_field("chart.values.template"))?;
        self.values.check("chart.values.profiles")?;
        let Some(init) = &self.init else { return Ok(()) };
        fill(&init.tag, &all(&OF_TAGS)).map_err(InvalidDescription::in_field("chart.init.tag"))?;
        Ok(())
    }
}
