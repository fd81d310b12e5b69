//! How an operator is installed in a kind cluster: by Helm, from the chart in its source, with images of the
//! programs that are built from it.

use std::path::{Path, PathBuf};

use conformance_programs::images::Image;
use conformance_programs::source::GoBuild;
use serde::Deserialize;
use serde_json::Value;

use super::description::Configuration;
use super::template::{Values, fill, fill_value};
use super::{Operator, OperatorError};
use crate::cluster_spec::ControllerSpec;

/// The placeholders of a chart's values.
const OF_VALUES: [&str; 7] =
    ["image-repository", "image-tag", "init-repository", "init-tag", "namespace", "version", "commit"];
/// The placeholders of the init image's tag.
const OF_TAGS: [&str; 2] = ["version", "commit"];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorChart {
    /// The folder, relative to the source.
    pub folder: PathBuf,
    pub release: String,
    /// The chart's Deployment in the operator's namespace. Its pods have this name as
    /// `app.kubernetes.io/name`.
    pub deployment: String,
    /// The lease for leader election of the replicas, in the same namespace.
    pub lease: String,
    /// The program of the init containers that the operator adds to pods.
    pub init: Option<InitProgram>,
    pub values: Configuration,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InitProgram {
    pub name: String,
    pub build: GoBuild,
    /// The tag under which the operator expects its image, with `{version}` and `{commit}`.
    pub tag: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorImages {
    pub operator: Image,
    /// The image of init containers.
    pub init: Option<Image>,
}

impl OperatorChart {
    /// Checks that all placeholders exist. The error names the field.
    pub(super) fn check(&self) -> Result<(), String> {
        let any = |names: &[&'static str]| names.iter().map(|name| (*name, "1".to_owned())).collect();
        let values = fill_value(&self.values.template, &any(&OF_VALUES));
        values.map_err(|error| format!("chart.values.template: {error}"))?;
        self.values.check().map_err(|error| format!("chart.values.profiles: {error}"))?;
        let Some(init) = &self.init else { return Ok(()) };
        fill(&init.tag, &any(&OF_TAGS)).map(drop).map_err(|error| format!("chart.init.tag: {error}"))
    }
}

impl Operator {
    pub fn chart(&self) -> Option<&OperatorChart> {
        self.description.chart.as_ref()
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn chart_folder(&self, chart: &OperatorChart) -> PathBuf {
        self.dir.join(&chart.folder)
    }

    pub fn init_tag(&self, init: &InitProgram) -> Result<String, OperatorError> {
        fill(&init.tag, &self.revision()).map_err(OperatorError::in_field("chart.init.tag"))
    }

    /// The chart's values in one cluster. Fails for a placeholder without a value.
    pub fn chart_values(
        &self,
        chart: &OperatorChart,
        images: &OperatorImages,
        spec: &ControllerSpec,
    ) -> Result<Value, OperatorError> {
        let mut values = self.revision();
        values.insert("namespace", self.description.namespace.clone());
        let of = [
            (Some(&images.operator), "image-repository", "image-tag"),
            (images.init.as_ref(), "init-repository", "init-tag"),
        ];
        for (image, repository, tag) in of {
            let parts = image.and_then(|image| image.reference.rsplit_once(':'));
            let (name, version) = parts.unwrap_or_default();
            values.insert(repository, name.to_owned());
            values.insert(tag, version.to_owned());
        }
        self.filled(&chart.values, &values, spec).map_err(OperatorError::in_field("chart.values"))
    }

    fn revision(&self) -> Values {
        [("version", self.version.clone()), ("commit", self.commit.clone().unwrap_or_default())].into()
    }
}
