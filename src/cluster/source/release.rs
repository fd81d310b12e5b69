//! Documents about every release of a program. Releases differ: where they do, a document has `variants`, of which the
//! first whose files are in the folder is merged over the rest of it (as a JSON merge patch), so that a field is told once
//! for all releases or once per variant.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::SourceError;

/// The version of the format.
const API_VERSION: &str = "conformance.grove.io/v1alpha1";

/// Files that are, or are not, in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct When {
    #[serde(default)]
    exists: Vec<String>,
    #[serde(default)]
    missing: Vec<String>,
}

impl When {
    /// Whether a folder is like that.
    pub(crate) fn holds(&self, dir: &Path) -> bool {
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

/// Why a document does not serve a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRelease {
    /// The document is wrong.
    Document(String),
    /// The release cannot be judged.
    Refused(String),
}

/// Reads a document of that kind, without `apiVersion` and `kind`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn document(text: &str, kind: &str) -> Result<Map<String, Value>, String> {
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

/// The folder itself, if it has the document's `checkout` files; `of` is whose checkout it should be.
///
/// # Errors
/// [`SourceError::Checkout`].
pub(crate) fn top(of: &str, dir: &Path, fields: &Map<String, Value>) -> Result<PathBuf, SourceError> {
    let none = |lacks| SourceError::Checkout { of: of.into(), dir: dir.into(), lacks };
    let top = dir.canonicalize().map_err(|_| none(vec!["everything: no such folder".into()]))?;
    let files = fields.get("checkout").and_then(Value::as_array).into_iter().flatten();
    let files = files.filter_map(Value::as_str).map(str::to_owned);
    let lacks: Vec<_> = files.filter(|file| !top.join(file).exists()).collect();
    if lacks.is_empty() { Ok(top) } else { Err(none(lacks)) }
}

/// Merges the variant that fits the folder over the rest of the document, and names it; `path` is the document's.
///
/// # Errors
/// [`NoRelease`].
pub(crate) fn for_release(
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
        NoRelease::Refused(format!("none of the variants in {path} is like it: {names}"))
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
