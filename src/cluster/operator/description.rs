//! The description of an operator: a YAML file whose fields docs/operators.md explains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::metrics::MetricNames;
use conformance_contract::target::TARGETS;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::template::{any, fill, fill_value};
use super::{OperatorChart, OperatorError, RoleFile};
use crate::source::{GoBuild, NoRelease, SourceError, VersionFrom, document, for_release, top};

const KIND: &str = "OperatorDescription";

/// How an operator is built, started and known to be ready.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Description {
    /// Its name: of its program, its log, and in reports.
    pub name: String,
    /// Who makes it.
    pub organization: Option<String>,
    /// Where it is found.
    pub url: Option<String>,
    /// The folder of its source, relative to the file; the file's own if there is none.
    pub source: Option<PathBuf>,
    /// Files that show that a folder is its source.
    #[serde(default)]
    pub checkout: Vec<String>,
    /// Where its version is read.
    #[serde(default)]
    pub version: VersionFrom,
    /// How its program is built.
    pub build: Option<GoBuild>,
    /// Its program, instead of building it.
    pub program: Option<PathBuf>,
    /// Arguments, with placeholders.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment, with placeholders.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The namespace that is its own.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// Whom its kubeconfig speaks for; an administrator if nobody is named.
    pub identity: Option<User>,
    /// The ClusterRoles that its identity has.
    #[serde(default)]
    pub roles: Vec<RoleFile>,
    /// Whether its identity may do everything instead, so that what its own roles lack is not found out.
    #[serde(default)]
    pub cluster_admin: bool,
    /// Files with CRDs, relative to its source; `*` stands for a part of a file's name.
    #[serde(default)]
    pub crds: Vec<String>,
    /// Other objects that it needs before it starts, with placeholders.
    #[serde(default)]
    pub manifests: Vec<Value>,
    /// Its admission webhooks.
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
    /// Names of the files in `{cert-dir}`.
    #[serde(default)]
    pub certificates: Certificates,
    /// Its configuration file.
    pub configuration: Option<Configuration>,
    /// The backends it has, by schedulerName.
    pub backends: BTreeMap<String, Backend>,
    /// How it says that it is ready.
    pub readiness: Readiness,
    /// Where its metrics of gangs are, if it has any.
    pub metrics: Option<Metrics>,
    /// How it is installed where nodes are containers.
    pub chart: Option<OperatorChart>,
    /// What it declares: a file relative to this one.
    pub declares: Option<PathBuf>,
}

fn default_namespace() -> String {
    "grove-system".into()
}

/// A user of the API server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    /// Its name.
    pub user: String,
    /// Its group.
    pub group: Option<String>,
}

/// A webhook, served at its path on `{webhook-port}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Its name, with dots.
    pub name: String,
    /// What it does.
    pub kind: WebhookKind,
    /// Its path.
    pub path: String,
    /// What it is asked about: `rules` of a webhook configuration.
    pub rules: Vec<Value>,
}

/// What a webhook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum WebhookKind {
    /// Mutating: it may change the object.
    Mutating,
    /// It admits or refuses it.
    Validating,
}

/// Names of files in `{cert-dir}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Certificates {
    /// The serving certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The CA's certificate.
    pub ca: String,
}

impl Default for Certificates {
    fn default() -> Self {
        let [certificate, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map(str::to_owned);
        Self { certificate, key, ca }
    }
}

/// What configures it: a file, or a chart's values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// Its content, with placeholders.
    pub template: Value,
    /// Where in it the list is that takes the profile of every enabled backend, as a JSON pointer.
    pub profiles: Option<String>,
}

impl Configuration {
    /// Whether there is a list for profiles.
    ///
    /// # Errors
    /// That there is none.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_list = |pointer: &String| self.template.pointer(pointer).is_some_and(Value::is_array);
        match self.profiles.as_ref().filter(|pointer| !is_list(pointer)) {
            Some(pointer) => Err(format!("the template has no list at {pointer}")),
            None => Ok(()),
        }
    }
}

/// A backend of the operator's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// Its profile in the configuration; `{"name": …}` by default.
    pub profile: Option<Map<String, Value>>,
    /// The gang scopes that it has, of a scheduler that is judged on several; the first alone if it names none.
    #[serde(default)]
    pub gang_scopes: Vec<String>,
}

/// How an operator says that it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Readiness {
    /// This path on `{health-port}` answers 200.
    pub path: Option<String>,
    /// Its log has a line that contains this text.
    pub log_line: Option<String>,
    /// How long it may take.
    #[serde(default = "a_minute")]
    pub seconds: u64,
}

/// Where an operator's metrics are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metrics {
    /// Their path on `{metrics-port}`.
    pub path: String,
    /// What they are called.
    #[serde(default)]
    pub names: MetricNames,
}

fn a_minute() -> u64 {
    60
}

/// The name, kept beside a description, of the folder it is about and of the release that was recognised.
#[derive(Debug)]
pub(super) struct Read {
    pub description: Description,
    pub dir: PathBuf,
    pub variant: Option<String>,
}

impl Description {
    /// Reads a description for the source in `dir`, or, without one, in the folder that the file names. `path` is the
    /// file, for messages and relative paths.
    ///
    /// # Errors
    /// [`OperatorError::File`], [`SourceError::Checkout`], [`SourceError::Release`].
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
                return Err(format!("backends: {name}: there is no gang scope {scope:?}"));
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
