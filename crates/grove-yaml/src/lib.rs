//! YAML in and out: the one place that knows the library.

use serde::Deserialize;
use serde_json::Value;

/// A document that is no YAML or does not fit; the message names line and column.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(#[from] serde_yaml::Error);

/// All documents of a stream; empty ones are left out.
///
/// # Errors
/// [`YamlError`] with line and column.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut all = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = Value::deserialize(document)?;
        if !value.is_null() {
            all.push(value);
        }
    }
    Ok(all)
}

/// One value as a document.
///
/// # Errors
/// [`YamlError`] if it has no YAML form.
pub fn write(value: &impl serde::Serialize) -> Result<String, YamlError> {
    Ok(serde_yaml::to_string(value)?)
}
