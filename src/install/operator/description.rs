//! The description of an operator: a YAML file whose fields docs/your-operator.md explains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::metrics::MetricNames;
use conformance_contract::target::TARGETS;
use conformance_programs::source::{
    GoBuild, NoRelease, SourceError, VersionFrom, document, for_release, top,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::chart::OperatorChart;
use super::error::{InvalidDescription, OperatorError};
use super::roles::RoleFile;
use super::template::{Configuration, any, fill, fill_value};

const KIND: &str = "OperatorDescription";

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Description {
    /// The operator's name in reports. Its program and its log have the same name.
    pub name: String,
    pub organization: Option<String>,
    pub url: Option<String>,
    /// Relative to this file. By default the folder of this file.
    pub source: Option<PathBuf>,
    /// Files that identify a folder as the operator's source.
    #[serde(default)]
    pub checkout: Vec<String>,
    #[serde(default)]
    pub version: VersionFrom,
    pub build: Option<GoBuild>,
    pub program: Option<PathBuf>,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The user in the operator's kubeconfig; an administrator by default.
    pub identity: Option<User>,
    #[serde(default)]
    pub roles: Vec<RoleFile>,
    /// Whether the operator runs as an administrator, so that missing rules in its roles stay undetected.
    #[serde(default)]
    pub cluster_admin: bool,
    /// Relative to the source. `*` matches any part of a file name.
    #[serde(default)]
    pub crds: Vec<String>,
    /// Other objects that the operator needs before it starts, with placeholders.
    #[serde(default)]
    pub manifests: Vec<Value>,
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
    #[serde(default)]
    pub certificates: Certificates,
    pub configuration: Option<Configuration>,
    pub backends: BTreeMap<String, Backend>,
    pub readiness: Readiness,
    /// Where the operator serves its metrics about gangs, if it has any.
    pub metrics: Option<Metrics>,
    pub chart: Option<OperatorChart>,
    /// Relative to this file.
    pub declares: Option<PathBuf>,
}

fn default_namespace() -> String {
    "grove-system".into()
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    pub user: String,
    pub group: Option<String>,
}

/// A webhook, served at its path on `{webhook-port}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// The webhook's fully qualified name, such as `pcs.validating.webhooks.grove.io`.
    pub name: String,
    pub kind: WebhookKind,
    pub path: String,
    pub rules: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum WebhookKind {
    Mutating,
    Validating,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Certificates {
    pub certificate: String,
    pub key: String,
    pub ca: String,
}

impl Default for Certificates {
    fn default() -> Self {
        let [certificate, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map(str::to_owned);
        Self { certificate, key, ca }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// `{"name": …}` by default.
    pub profile: Option<Map<String, Value>>,
    /// By default only the first scope of the scheduler.
    #[serde(default)]
    pub gang_scopes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Readiness {
    /// A path on `{health-port}` that answers 200.
    pub path: Option<String>,
    /// Text that a line of the operator's log contains.
    pub log_line: Option<String>,
    #[serde(default = "a_minute")]
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metrics {
    pub path: String,
    #[serde(default)]
    pub names: MetricNames,
}

fn a_minute() -> u64 {
    60
}

#[derive(Debug)]
pub(super) struct Read {
    pub description: Description,
    pub dir: PathBuf,
    pub variant: Option<String>,
}

impl Description {
    /// `dir` is by default the folder that the file names. `path` is for messages and relative paths.
    pub(super) fn read(text: &str, path: &Path, dir: Option<&Path>) -> Result<Read, OperatorError> {
        let mut fields = document(text, KIND).map_err(OperatorError::in_file(path))?;
        let parent = path.parent().unwrap_or(Path::new("."));
        let source = fields.get("source").and_then(Value::as_str).map(|folder| parent.join(folder));
        let given = dir.map(Path::to_owned).or(source).unwrap_or_else(|| parent.to_owned());
        let program = fields.get("name").and_then(Value::as_str).unwrap_or("the operator").to_owned();
        let dir = top(&program, &given, &fields)?;
        let variant = for_release(&mut fields, &dir, path).map_err(|error| match error {
            NoRelease::Variants(_) => OperatorError::in_file(path)(error),
            NoRelease::Refused(reason) => SourceError::Release { program, dir: dir.clone(), reason }.into(),
        })?;
        let description: Self =
            serde_json::from_value(Value::Object(fields)).map_err(OperatorError::in_file(path))?;
        description.check().map_err(OperatorError::in_file(path))?;
        Ok(Read { description, dir, variant })
    }

    fn check(&self) -> Result<(), InvalidDescription> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(is_name) {
            return Err(InvalidDescription::Name(self.name.clone()));
        }
        if self.build.is_some() == self.program.is_some() {
            return Err(InvalidDescription::BuildOrProgram);
        }
        if self.readiness.path.is_some() == self.readiness.log_line.is_some() {
            return Err(InvalidDescription::Readiness);
        }
        if !self.backends.contains_key("default-scheduler") {
            return Err(InvalidDescription::NoDefaultScheduler);
        }
        let has_scope = |backend: &str, scope: &str| {
            TARGETS.iter().any(|target| target.backend() == backend && target.scope() == Some(scope))
        };
        for (name, backend) in &self.backends {
            if let Some(scope) = backend.gang_scopes.iter().find(|scope| !has_scope(name, scope)) {
                return Err(InvalidDescription::GangScope { backend: name.clone(), scope: scope.clone() });
            }
        }
        if self.cluster_admin && !self.roles.is_empty() {
            return Err(InvalidDescription::RolesOrClusterAdmin);
        }
        if self.identity.is_none() && (self.cluster_admin || !self.roles.is_empty()) {
            return Err(InvalidDescription::NoIdentity);
        }
        self.check_placeholders()?;
        self.chart.as_ref().map_or(Ok(()), OperatorChart::check)
    }

    fn check_placeholders(&self) -> Result<(), InvalidDescription> {
        let any = any();
        for arg in &self.args {
            fill(arg, &any).map_err(InvalidDescription::in_field("args"))?;
        }
        for value in self.env.values() {
            fill(value, &any).map_err(InvalidDescription::in_field("env"))?;
        }
        for object in &self.manifests {
            fill_value(object, &any).map_err(InvalidDescription::in_field("manifests"))?;
        }
        if let Some(configuration) = &self.configuration {
            fill_value(&configuration.template, &any)
                .map_err(InvalidDescription::in_field("configuration.template"))?;
            configuration.check("configuration.profiles")?;
        }
        Ok(())
    }
}
