//! Documents that describe every release of a program. `variants` lists the differences between releases. The
//! first variant that matches the files in the source folder is merged over the other fields.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use grove_yaml::YamlError;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::SourceError;

const API_VERSION: &str = "conformance.grove.io/v1alpha1";

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct When {
    #[serde(default)]
    exists: Vec<String>,
    #[serde(default)]
    missing: Vec<String>,
    #[serde(default)]
    contains: BTreeMap<String, String>,
}

impl When {
    pub fn matches(&self, dir: &Path) -> bool {
        let exists = |file: &String| dir.join(file).exists();
        let contains = |(file, text): (&String, &String)| {
            std::fs::read_to_string(dir.join(file)).is_ok_and(|content| content.contains(text))
        };
        self.exists.iter().all(exists)
            && !self.missing.iter().any(exists)
            && self.contains.iter().all(contains)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Variant {
    name: String,
    #[serde(default)]
    when: When,
    refused: Option<String>,
    #[serde(default)]
    with: Map<String, Value>,
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error(transparent)]
    Yaml(#[from] YamlError),
    #[error("expected one YAML document, a mapping")]
    NoMapping,
    #[error("{field}: expected {expected}, found {found}")]
    Field { field: &'static str, expected: String, found: String },
}

#[derive(Debug, thiserror::Error)]
pub enum NoRelease {
    #[error("variants: {0}")]
    Variants(serde_json::Error),
    #[error("{0}")]
    Refused(String),
}

pub fn document(text: &str, kind: &str) -> Result<Map<String, Value>, DocumentError> {
    let mut documents = grove_yaml::documents(text)?;
    let (Some(Value::Object(mut fields)), true) = (documents.pop(), documents.is_empty()) else {
        return Err(DocumentError::NoMapping);
    };
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", kind)] {
        match fields.remove(field) {
            Some(Value::String(found)) if found == expected => {}
            found => {
                let found = found.map_or("nothing".to_owned(), |found| found.to_string());
                return Err(DocumentError::Field { field, expected: expected.to_owned(), found });
            }
        }
    }
    Ok(fields)
}

/// Returns the absolute path of a checkout that has the required files. `repository` is for messages.
pub fn top(repository: &str, dir: &Path, fields: &Map<String, Value>) -> Result<PathBuf, SourceError> {
    let no_checkout =
        |missing| SourceError::Checkout { repository: repository.into(), dir: dir.into(), missing };
    let top = dir
        .canonicalize()
        .map_err(|_| no_checkout(vec!["all files, because the folder does not exist".into()]))?;
    let files = fields.get("checkout").and_then(Value::as_array).into_iter().flatten();
    let files = files.filter_map(Value::as_str).map(str::to_owned);
    let missing: Vec<_> = files.filter(|file| !top.join(file).exists()).collect();
    if missing.is_empty() { Ok(top) } else { Err(no_checkout(missing)) }
}

/// Merges the matching variant into `fields`, and returns its name. `path` is for messages.
pub fn for_release(
    fields: &mut Map<String, Value>,
    dir: &Path,
    path: &Path,
) -> Result<Option<String>, NoRelease> {
    let variants = fields.remove("variants").unwrap_or_else(|| Value::Array(Vec::new()));
    let variants: Vec<Variant> = serde_json::from_value(variants).map_err(NoRelease::Variants)?;
    if variants.is_empty() {
        return Ok(None);
    }
    let matching = variants.iter().find(|variant| variant.when.matches(dir));
    let variant = matching.ok_or_else(|| {
        let names: Vec<_> = variants.iter().map(|variant| variant.name.as_str()).collect();
        let (path, names) = (path.display(), names.join(", "));
        NoRelease::Refused(format!("no variant in {path} matches the checkout; known: {names}"))
    })?;
    if let Some(reason) = &variant.refused {
        return Err(NoRelease::Refused(reason.clone()));
    }
    merge(fields, &variant.with);
    Ok(Some(variant.name.clone()))
}

/// Applies a merge patch (RFC 7386).
fn merge(into: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (into.get_mut(name), value) {
            (_, Value::Null) => drop(into.remove(name)),
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => drop(into.insert(name.clone(), value.clone())),
        }
    }
}
