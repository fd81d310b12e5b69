//! The description of an operator: a YAML file whose fields docs/operators.md explains.
//!
//! Releases differ. Where they do, the file has `variants`: the first whose files are in the folder is merged over the
//! rest of the document (as a JSON merge patch), so that a field is written once for all releases or once per variant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::OperatorError;
use super::template::{any, fill, fill_value};

/// The version of the format, of descriptions and declarations.
pub(super) const API_VERSION: &str = "conformance.grove.io/v1alpha1";
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
    /// Files with CRDs, relative to its source; `*` matches a part of a file's name.
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
    /// What it declares: a file relative to this one.
    pub declares: Option<PathBuf>,
}

fn default_namespace() -> String {
    "grove-system".into()
}

/// Where a version is read: of git's tags in a checkout, else in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VersionFrom {
    /// Which tags tell a version, as a pattern of `git describe --match`.
    pub git_tags: Option<String>,
    /// A text file with the version and nothing else, or a Helm chart's Chart.yaml.
    pub file: Option<String>,
}

/// A program that Go builds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoBuild {
    /// The folder of its module.
    pub module: String,
    /// Its package, as `go build` takes it there.
    pub package: String,
    /// Folders whose files decide what is built: the module's own, and those that it replaces modules by.
    pub inputs: Vec<String>,
    /// Value of `-ldflags`, with `{version}` and `{commit}`.
    #[serde(default)]
    pub ldflags: String,
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

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// Its content, with placeholders.
    pub template: Value,
    /// Where in it the list is that takes the profile of every enabled backend, as a JSON pointer.
    pub profiles: Option<String>,
}

/// A backend of the operator's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// Its profile in the configuration; `{"name": …}` by default.
    pub profile: Option<Map<String, Value>>,
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

fn a_minute() -> u64 {
    60
}

/// Files that are, or are not, in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct When {
    #[serde(default)]
    exists: Vec<String>,
    #[serde(default)]
    missing: Vec<String>,
}

impl When {
    /// Whether a folder is like that.
    pub(super) fn holds(&self, dir: &Path) -> bool {
        let is_there = |file: &String| dir.join(file).exists();
        self.exists.iter().all(is_there) && !self.missing.iter().any(is_there)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Variant {
    name: String,
    #[serde(default)]
    when: When,
    /// Why the suite cannot judge such a release.
    refused: Option<String>,
    #[serde(default)]
    with: Map<String, Value>,
}

/// Reads a document of that kind, without `apiVersion` and `kind`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn document(text: &str, kind: &str) -> Result<Map<String, Value>, String> {
    let mut documents = grove_yaml::documents(text).map_err(|error| error.to_string())?;
    let (Some(Value::Object(mut fields)), true) = (documents.pop(), documents.is_empty()) else {
        return Err("expected one YAML document, a mapping".into());
    };
    for (field, wanted) in [("apiVersion", API_VERSION), ("kind", kind)] {
        match fields.remove(field) {
            Some(Value::String(found)) if found == wanted => {}
            found => {
                let found = found.map_or("nothing".to_owned(), |found| found.to_string());
                return Err(format!("{field}: expected {wanted}, found {found}"));
            }
        }
    }
    Ok(fields)
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
    /// [`OperatorError::File`], [`OperatorError::Checkout`], [`OperatorError::Release`].
    pub(super) fn read(text: &str, path: &Path, dir: Option<&Path>) -> Result<Read, OperatorError> {
        let wrong = |reason: String| OperatorError::File { path: path.into(), reason };
        let mut fields = document(text, KIND).map_err(wrong)?;
        let variants = fields.remove("variants").unwrap_or_else(|| Value::Array(Vec::new()));
        let variants: Vec<Variant> =
            serde_json::from_value(variants).map_err(|error| wrong(format!("variants: {error}")))?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let source = fields.get("source").and_then(Value::as_str).map(|folder| beside.join(folder));
        let given = dir.map(Path::to_owned).or(source).unwrap_or_else(|| beside.to_owned());
        let operator = fields.get("name").and_then(Value::as_str).unwrap_or("the operator").to_owned();
        let marks = fields.get("checkout").and_then(Value::as_array).into_iter().flatten();
        let marks: Vec<_> = marks.filter_map(Value::as_str).map(str::to_owned).collect();
        let no_checkout =
            |lacks| OperatorError::Checkout { operator: operator.clone(), dir: given.clone(), lacks };
        let dir = given.canonicalize().map_err(|_| no_checkout(vec!["everything: no such folder".into()]))?;
        let lacks: Vec<_> = marks.into_iter().filter(|mark| !dir.join(mark).exists()).collect();
        if !lacks.is_empty() {
            return Err(no_checkout(lacks));
        }
        let no_release =
            |reason: String| OperatorError::Release { operator: operator.clone(), dir: dir.clone(), reason };
        let mut name = None;
        if !variants.is_empty() {
            let names =
                || variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ");
            let of_this = variants.iter().find(|variant| variant.when.holds(&dir));
            let variant = of_this.ok_or_else(|| {
                no_release(format!("none of the variants in {} is like it: {}", path.display(), names()))
            })?;
            if let Some(reason) = &variant.refused {
                return Err(no_release(reason.clone()));
            }
            merge(&mut fields, &variant.with);
            name = Some(variant.name.clone());
        }
        let description: Self =
            serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(error.to_string()))?;
        description.check().map_err(wrong)?;
        Ok(Read { description, dir, variant: name })
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
        let any = any();
        let of = |field: &str, outcome: Result<(), String>| outcome.map_err(|e| format!("{field}: {e}"));
        of("args", self.args.iter().try_for_each(|arg| fill(arg, &any).map(drop)))?;
        of("env", self.env.values().try_for_each(|value| fill(value, &any).map(drop)))?;
        of("manifests", self.manifests.iter().try_for_each(|object| fill_value(object, &any).map(drop)))?;
        if let Some(configuration) = &self.configuration {
            of("configuration.template", fill_value(&configuration.template, &any).map(drop))?;
            let list =
                |pointer: &String| configuration.template.pointer(pointer).is_some_and(Value::is_array);
            if let Some(pointer) = configuration.profiles.as_ref().filter(|pointer| !list(pointer)) {
                return Err(format!("configuration.profiles: the template has no list at {pointer}"));
            }
        }
        Ok(())
    }
}

/// A JSON merge patch of objects (RFC 7386).
fn merge(into: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (into.get_mut(name), value) {
            (_, Value::Null) => drop(into.remove(name)),
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => drop(into.insert(name.clone(), value.clone())),
        }
    }
}
