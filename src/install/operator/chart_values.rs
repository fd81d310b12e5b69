use std::path::{Path, PathBuf};

use conformance_programs::images::Image;
use serde_json::Value;

use super::chart::{InitProgram, OperatorChart};
use super::error::OperatorError;
use super::open::Operator;
use super::template::{Values, fill};
use crate::controller_spec::ControllerSpec;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorImages {
    pub operator: Image,
    pub init: Option<Image>,
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
        fill(&init.tag, &self.revision()).map_err(OperatorError::in_file("chart.init.tag"))
    }

    pub fn chart_values(
        &self,
        chart: &OperatorChart,
        images: &OperatorImages,
        spec: &ControllerSpec,
    ) -> Result<Value, OperatorError> {
        let mut values = self.revision();
        values.insert("namespace", self.description.namespace.clone());
        let placeholders = [
            (Some(&images.operator), "image-repository", "image-tag"),
            (images.init.as_ref(), "init-repository", "init-tag"),
        ];
        for (image, repository, tag) in placeholders {
            let parts = image.and_then(|image| image.reference.rsplit_once(':'));
            let (name, version) = parts.unwrap_or_default();
            values.insert(repository, name.to_owned());
            values.insert(tag, version.to_owned());
        }
        self.filled(&chart.values, &values, spec).map_err(OperatorError::in_file("chart.values"))
    }

    fn revision(&self) -> Values {
        [("version", self.version.clone()), ("commit", self.commit.clone().unwrap_or_default())].into()
    }
}
