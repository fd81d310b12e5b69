//! What an operator declares: per release and backend the features of the contract that it claims to have, and the
//! configuration under which it does. A file that is given with the operator, and nothing that is built in.

use std::collections::BTreeMap;
use std::path::Path;

use conformance_contract::clauses::Feature;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::OperatorError;
use crate::components::hex;
use crate::source::{SourceError, When, document};

const KIND: &str = "ImplementationDeclaration";

/// What one release declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The release, as the file calls it.
    pub release: String,
    /// Per backend, by schedulerName.
    pub backends: BTreeMap<String, Declared>,
    /// SHA-256 of the file, hex.
    pub sha256: String,
}

/// What is declared of a backend.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declared {
    /// Its features.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// `config` of its profile.
    #[serde(default)]
    pub configuration: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    implementation: String,
    releases: Vec<Release>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Release {
    name: String,
    #[serde(default)]
    when: When,
    backends: BTreeMap<String, Declared>,
}

impl Declaration {
    /// Reads a file: the first of its releases that is like the source in `dir`.
    ///
    /// # Errors
    /// [`OperatorError::File`], [`SourceError::Release`].
    pub(super) fn read(text: &str, path: &Path, operator: &str, dir: &Path) -> Result<Self, OperatorError> {
        let wrong = |reason: String| OperatorError::File { path: path.into(), reason };
        let fields = document(text, KIND).map_err(wrong)?;
        let file: File =
            serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(error.to_string()))?;
        if file.implementation != operator {
            return Err(wrong(format!(
                "implementation: {} is declared, not {operator}",
                file.implementation
            )));
        }
        let release = file.releases.into_iter().find(|release| release.when.holds(dir));
        let release = release.ok_or_else(|| SourceError::Release {
            of: operator.into(),
            dir: dir.into(),
            reason: format!("{} declares nothing of a release like it", path.display()),
        })?;
        let sha256 = hex(&Sha256::digest(text));
        Ok(Self { release: release.name, backends: release.backends, sha256 })
    }
}
