//! The description of an operator: a YAML file whose fields docs/operators.md explains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::metrics::MetricNames;
use conformance_contract::target::TARGETS;
use conformance_programs::source::{
    GoBuild, NoRelease, SourceError, VersionFrom, document, for_release, top,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::template::{any, fill, fill_value};
use super::{OperatorChart, OperatorError, RoleFile};

const KIND: &str = "OperatorDescription";

/// How an operator is built, started and checked for readiness.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Description {
    /// The name of its program and its log, and in reports.
    pub name: String,
    pub organization: Option<String>,
    pub url: Option<String>,
    /// The folder of its source, relative to the file. By default the folder of the file.
    pub source: Option<PathBuf>,
    /// Files that identify a folder as its source.
    #[serde(default)]
    pub checkout: Vec<String>,
    #[serde(default)]
    pub version: VersionFrom,
    pub build: Option<GoBuild>,
    /// A program to use instead of building one.
    pub program: Option<PathBuf>,
    /// Arguments, with placeholders.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables, with placeholders.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The operator's own namespace.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The user of its kubeconfig; an administrator by default.
    pub identity: Option<User>,
    #[serde(default)]
    pub roles: Vec<RoleFile>,
    /// Whether its identity has all rights instead of roles. Then the run does not detect rules that its own
    /// roles lack.
    #[serde(default)]
    pub cluster_admin: bool,
    /// Files with CRDs, relative to its source. `*` matches any part of a file name.
    #[serde(default)]
    pub crds: Vec<String>,
    /// Other objects that it needs before it starts, with placeholders.
    #[serde(default)]
    pub manifests: Vec<Value>,
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
    /// Names of the files in `{cert-dir}`.
    #[serde(default)]
    pub certificates: Certificates,
    pub configuration: Option<Configuration>,
    /// The backends that it has, by schedulerName.
    pub backends: BTreeMap<String, Backend>,
    pub readiness: Readiness,
    /// Where its metrics of gangs are, if it has any.
    pub metrics: Option<Metrics>,
    /// How it is installed in a kind cluster.
    pub chart: Option<OperatorChart>,
    /// The file of its declaration, relative to this file.
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
    /// The name, with dots.
    pub name: String,
    pub kind: WebhookKind,
    pub path: String,
    /// The `rules` of its webhook configuration.
    pub rules: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum WebhookKind {
    Mutating,
    Validating,
}

/// Names of files in `{cert-dir}`.
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

/// A configuration file, or the values of a chart.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// The content, with placeholders.
    pub template: Value,
    /// JSON pointer to the list in the template that receives the profile of each enabled backend.
    pub profiles: Option<String>,
}

impl Configuration {
    /// Checks that the template has the list for profiles.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_list = |pointer: &String| self.template.pointer(pointer).is_some_and(Value::is_array);
        match self.profiles.as_ref().filter(|pointer| !is_list(pointer)) {
            Some(pointer) => Err(format!("the template has no list at {pointer}")),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// Its profile in the configuration; `{"name": …}` by default.
    pub profile: Option<Map<String, Value>>,
    /// The gang scopes that it has, if its scheduler has several targets. By default only the first scope.
    #[serde(default)]
    pub gang_scopes: Vec<String>,
}

/// The condition for an operator's readiness.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Readiness {
    /// A path on `{health-port}` that answers 200.
    pub path: Option<String>,
    /// Text that a line of its log contains.
    pub log_line: Option<String>,
    /// The limit in seconds.
    #[serde(default = "a_minute")]
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metrics {
    /// The path on `{metrics-port}`.
    pub path: String,
    #[serde(default)]
    pub names: MetricNames,
}

fn a_minute() -> u64 {
    60
}

/// A description, the source folder that it applies to, and the release variant that was selected.
#[derive(Debug)]
pub(super) struct Read {
    pub description: Description,
    pub dir: PathBuf,
    pub variant: Option<String>,
}

impl Description {
    /// Reads a description for the source in `dir`, or, without one, in the folder that the file names.
    /// `path` is the file, for messages and relative paths.
    pub(super) fn read(text: &str, path: &Path, dir: Option<&Path>) -> Result<Read, OperatorError> {
        let wrong = |reason: String| OperatorError::File { path: path.into(), reason };
        let mut fields = document(text, KIND).map_err(wrong)?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let source = fields.get("source").and_then(Value::as_str).map(|folder| beside.join(folder));
        let given = dir.map(Path::to_owned).or(source).unwrap_or_else(|| beside.to_owned());
        let of = fields.get("name").and_then(Value::as_str).unwrap_or("the operator").to_owned();
        let dir = top(&of, &given, &fields)?;
        let variant = for_release(&mut fields, &dir, path).map_err(|no| match no {
            NoRelease::Document(reason) => wrong(reason),
            NoRelease::Refused(reason) => SourceError::Release { of, dir: dir.clone(), reason }.into(),
        })?;
        let description: Self =
            serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(error.to_string()))?;
        description.check().map_err(wrong)?;
        Ok(Read { description, dir, variant })
    }

    fn check(&self) -> Result<(), String> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(is_name) {
            return Err(format!("name: {:?}: expected lower-case letters, digits and '-'", self.name));
        }
        if self.build.is_some() == self.program.is_some() {
            return Err("give either build or program".into());
        }
        if self.readiness.path.is_some() == self.readiness.log_line.is_some() {
            return Err("readiness: give either path or logLine".into());
        }
        if !self.backends.contains_key("default-scheduler") {
            return Err("backends: default-scheduler is missing; every cluster has it".into());
        }
        let has_scope = |backend: &str, scope: &str| {
            TARGETS.iter().any(|target| target.backend() == backend && target.scope() == Some(scope))
        };
        for (name, backend) in &self.backends {
            if let Some(scope) = backend.gang_scopes.iter().find(|scope| !has_scope(name, scope)) {
                return Err(format!("backends: {name}: unknown gang scope {scope:?}"));
            }
        }
        if self.cluster_admin && !self.roles.is_empty() {
            return Err("give either roles or clusterAdmin".into());
        }
        if self.identity.is_none() && (self.cluster_admin || !self.roles.is_empty()) {
            return Err("identity: name the user who has the roles".into());
        }
        let any = any();
        let of = |field: &str, outcome: Result<(), String>| outcome.map_err(|e| format!("{field}: {e}"));
        of("args", self.args.iter().try_for_each(|arg| fill(arg, &any).map(drop)))?;
        of("env", self.env.values().try_for_each(|value| fill(value, &any).map(drop)))?;
        of("manifests", self.manifests.iter().try_for_each(|object| fill_value(object, &any).map(drop)))?;
        if let Some(configuration) = &self.configuration {
            of("configuration.template", fill_value(&configuration.template, &any).map(drop))?;
            of("configuration.profiles", configuration.check())?;
        }
        self.chart.as_ref().map_or(Ok(()), OperatorChart::check)
    }
}
