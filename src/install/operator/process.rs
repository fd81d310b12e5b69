use std::path::{Path, PathBuf};

use conformance_programs::process::ProcessSpec;
use conformance_programs::{ProgramError, home};
use k8s_openapi::ByteString;

use super::error::OperatorError;
use super::open::Operator;
use super::template::{Values, fill};
use crate::InstallError;
use crate::controller_spec::ControllerSpec;

#[derive(Debug, Clone)]
pub struct OperatorHome {
    pub folder: PathBuf,
    pub kubeconfig: PathBuf,
    pub certificates: [PathBuf; 3],
    pub ca_bundle: String,
    pub webhook: u16,
    pub health: u16,
    pub metrics: u16,
}

impl Operator {
    pub fn process(&self, home: &OperatorHome, spec: &ControllerSpec) -> Result<ProcessSpec, InstallError> {
        let values = self.values(home, spec);
        let names = &self.description.certificates;
        for (name, from) in [&names.certificate, &names.key, &names.ca].into_iter().zip(&home.certificates) {
            let content = std::fs::read(from).map_err(ProgramError::file(from))?;
            home::write(&home.folder.join("certs").join(name), content)?;
        }
        let configuration = self.configuration(&values, spec);
        if let Some(content) = configuration.map_err(OperatorError::in_file("configuration"))? {
            home::write(&home.folder.join("config.yaml"), content)?;
        }
        let mut args = Vec::new();
        for arg in &self.description.args {
            args.push(fill(arg, &values).map_err(OperatorError::in_file("args"))?);
        }
        let mut env = Vec::new();
        for (name, value) in &self.description.env {
            env.push((name.clone(), fill(value, &values).map_err(OperatorError::in_file("env"))?));
        }
        Ok(ProcessSpec { name: self.description.name.clone(), program: self.program.clone(), args, env })
    }

    pub(super) fn values(&self, home: &OperatorHome, spec: &ControllerSpec) -> Values {
        let path = |path: &Path| path.display().to_string();
        let bundle = ByteString(home.ca_bundle.clone().into_bytes());
        let bundle = serde_json::to_value(bundle).ok().and_then(|value| value.as_str().map(str::to_owned));
        [
            ("kubeconfig", path(&home.kubeconfig)),
            ("config", path(&home.folder.join("config.yaml"))),
            ("cert-dir", path(&home.folder.join("certs"))),
            ("webhook-port", home.webhook.to_string()),
            ("health-port", home.health.to_string()),
            ("metrics-port", home.metrics.to_string()),
            ("webhook-url", format!("https://127.0.0.1:{}", home.webhook)),
            ("ca-bundle", bundle.unwrap_or_default()),
            ("namespace", self.description.namespace.clone()),
            ("dir", path(&self.dir)),
            ("version", self.version.clone()),
            ("commit", self.commit.clone().unwrap_or_default()),
            ("backends", self.enabled(spec).join(",")),
        ]
        .into()
    }
}
