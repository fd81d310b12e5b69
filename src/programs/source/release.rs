//! Documents that cover every release of a program. The differences between releases are in `variants`. The
//! first variant whose files are in the folder is merged over the rest, as a JSON merge patch. So each field
//! is written once for all releases or once per variant.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::SourceError;

/// The version of the format.
const API_VERSION: &str = "conformance.grove.io/v1alpha1";

/// Files that exist, or do not exist, in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct When {
    #[serde(default)]
    exists: Vec<String>,
    #[serde(default)]
    missing: Vec<String>,
}

impl When {
    pub fn holds(&self, dir: &Path) -> bool {
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
    /// Why the suite cannot test such a release.
    refused: Option<String>,
    #[serde(default)]
    with: Map<String, Value>,
}

/// Why a document does not apply to a folder.
#[derive(Debug, PartialEq, Eq)]
pub enum NoRelease {
    /// The document is invalid.
    Document(String),
    /// The suite cannot test the release.
    Refused(String),
}

/// Reads a document of this kind. Returns it without `apiVersion` and `kind`.
pub fn document(text: &str, kind: &str) -> Result<Map<String, Value>, String> {
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

/// The absolute path of the folder, if it has the document's `checkout` files. `of` is the repository's name.
pub fn top(of: &str, dir: &Path, fields: &Map<String, Value>) -> Result<PathBuf, SourceError> {
    let none = |lacks| SourceError::Checkout { of: of.into(), dir: dir.into(), lacks };
    let top = dir.canonicalize().map_err(|_| none(vec!["everything: no such folder".into()]))?;
    let files = fields.get("checkout").and_then(Value::as_array).into_iter().flatten();
    let files = files.filter_map(Value::as_str).map(str::to_owned);
    let lacks: Vec<_> = files.filter(|file| !top.join(file).exists()).collect();
    if lacks.is_empty() { Ok(top) } else { Err(none(lacks)) }
}

/// Merges the variant that matches the folder over the rest of the document, and returns its name. `path` is
/// the document's.
pub fn for_release(
    fields: &mut Map<String, Value>,
    dir: &Path,
    path: &Path,
) -> Result<Option<String>, NoRelease> {
    let variants = fields.remove("variants").unwrap_or_else(|| Value::Array(Vec::new()));
    let variants: Vec<Variant> = serde_json::from_value(variants)
        .map_err(|error| NoRelease::Document(format!("variants: {error}")))?;
    if variants.is_empty() {
        return Ok(None);
    }
    let of_this = variants.iter().find(|variant| variant.when.holds(dir));
    let variant = of_this.ok_or_else(|| {
        let names: Vec<_> = variants.iter().map(|variant| variant.name.as_str()).collect();
        let (path, names) = (path.display(), names.join(", "));
        NoRelease::Refused(format!("no variant in {path} matches it; known: {names}"))
    })?;
    if let Some(reason) = &variant.refused {
        return Err(NoRelease::Refused(reason.clone()));
    }
    merge(fields, &variant.with);
    Ok(Some(variant.name.clone()))
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
