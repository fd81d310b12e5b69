//! What an operator declares: per release and backend the features of the contract that it claims to have, and the
//! configuration under which it does. A file that is given with the operator, and nothing that is built in.

use std::collections::BTreeMap;
use std::path::Path;

use conformance_contract::backend_declaration::BackendDeclaration;
use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
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
    /// Whether it acts on PodGangs that a PodCliqueSet controls, and on no others.
    #[serde(default)]
    pub pod_gangs_of_sets_only: bool,
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
        let mut releases = releases(text, path, operator)?.into_iter();
        let release =
            releases.find(|release| release.when.holds(dir)).ok_or_else(|| SourceError::Release {
                of: operator.into(),
                dir: dir.into(),
                reason: format!("{} declares nothing of a release like it", path.display()),
            })?;
        Ok(Self::of(release, text))
    }

    /// Reads what an operator declares of whose source nothing is known: the release that is called like its version, or
    /// the only one.
    ///
    /// # Errors
    /// [`OperatorError::File`].
    pub fn of_version(path: &Path, operator: &str, version: &str) -> Result<Self, OperatorError> {
        let wrong = |reason: String| OperatorError::File { path: path.into(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let mut releases = releases(&text, path, operator)?;
        let named = releases.iter().position(|release| release.name == version);
        match named.or_else(|| (releases.len() == 1).then_some(0)) {
            Some(place) => Ok(Self::of(releases.swap_remove(place), &text)),
            None => {
                let names: Vec<_> = releases.iter().map(|release| release.name.as_str()).collect();
                Err(wrong(format!("no release is called {version:?}, but {}", names.join(", "))))
            }
        }
    }

    fn of(release: Release, text: &str) -> Self {
        let sha256 = hex(&Sha256::digest(text));
        Self { release: release.name, backends: release.backends, sha256 }
    }

    /// A target as `operator`, with its version, declares it; as it was if it declares nothing of the backend.
    #[must_use]
    pub fn declared(&self, operator: String, target: Target) -> Target {
        let Some(declared) = self.backends.get(target.backend()).cloned() else { return target };
        let Declared { features, configuration, pod_gangs_of_sets_only } = declared;
        target.declared_by(BackendDeclaration { operator, features, configuration, pod_gangs_of_sets_only })
    }
}

fn releases(text: &str, path: &Path, operator: &str) -> Result<Vec<Release>, OperatorError> {
    let wrong = |reason: String| OperatorError::File { path: path.into(), reason };
    let fields = document(text, KIND).map_err(wrong)?;
    let file: File =
        serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(error.to_string()))?;
    if file.implementation != operator {
        return Err(wrong(format!("implementation: {} is declared, not {operator}", file.implementation)));
    }
    Ok(file.releases)
}
