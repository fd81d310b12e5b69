//! How an operator's process is started in one cluster.

use std::path::PathBuf;

use conformance_programs::process::ProcessSpec;
use conformance_programs::{ProgramError, home};
use k8s_openapi::ByteString;

use super::template::{Values, fill};
use super::{Operator, OperatorError};
use crate::InstallError;
use crate::cluster_spec::ControllerSpec;

/// The files and ports of an operator in a cluster.
#[derive(Debug, Clone)]
pub struct OperatorHome {
    pub folder: PathBuf,
    pub kubeconfig: PathBuf,
    /// The serving certificate, its key, and the CA's certificate.
    pub certificates: [PathBuf; 3],
    /// The CA's certificate, PEM.
    pub ca_bundle: String,
    pub webhook: u16,
    /// The port of its probes.
    pub health: u16,
    pub metrics: u16,
}

impl Operator {
    /// Writes the operator's certificates and configuration, and returns how to start it. Fails for a
    /// placeholder without a value.
    pub fn process(&self, place: &OperatorHome, spec: &ControllerSpec) -> Result<ProcessSpec, InstallError> {
        let values = self.values(place, spec);
        let names = &self.description.certificates;
        for (name, from) in [&names.certificate, &names.key, &names.ca].into_iter().zip(&place.certificates) {
            let content = std::fs::read(from).map_err(ProgramError::file(from))?;
            home::write(&place.folder.join("certs").join(name), content)?;
        }
        let wrong = OperatorError::in_field;
        if let Some(content) = self.configuration(&values, spec).map_err(wrong("configuration"))? {
            home::write(&place.folder.join("config.yaml"), content)?;
        }
        let args = self.description.args.iter().map(|arg| fill(arg, &values));
        let env = self.description.env.iter();
        let env = env.map(|(name, value)| Ok::<_, String>((name.clone(), fill(value, &values)?)));
        Ok(ProcessSpec {
            name: self.description.name.clone(),
            program: self.program.clone(),
            args: args.collect::<Result<_, _>>().map_err(wrong("args"))?,
            env: env.collect::<Result<_, _>>().map_err(wrong("env"))?,
        })
    }

    pub(super) fn values(&self, place: &OperatorHome, spec: &ControllerSpec) -> Values {
        let path = |path: &std::path::Path| path.display().to_string();
        let bundle = ByteString(place.ca_bundle.clone().into_bytes());
        let bundle = serde_json::to_value(bundle).ok().and_then(|value| value.as_str().map(str::to_owned));
        [
            ("kubeconfig", path(&place.kubeconfig)),
            ("config", path(&place.folder.join("config.yaml"))),
            ("cert-dir", path(&place.folder.join("certs"))),
            ("webhook-port", place.webhook.to_string()),
            ("health-port", place.health.to_string()),
            ("metrics-port", place.metrics.to_string()),
            ("webhook-url", format!("https://127.0.0.1:{}", place.webhook)),
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
