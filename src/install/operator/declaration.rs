//! A file that comes with an operator. For each release and backend, it states the features that the operator
//! claims, and the configuration that it needs for them.

use std::collections::BTreeMap;
use std::path::Path;

use conformance_contract::backend_declaration::{BackendDeclaration, PodAddition};
use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_programs::components::hex;
use conformance_programs::source::{SourceError, When, document};
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::error::OperatorError;

const KIND: &str = "ImplementationDeclaration";

#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    pub release: String,
    pub backends: BTreeMap<String, Declared>,
    pub sha256: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declared {
    #[serde(default)]
    pub features: Vec<Feature>,
    /// Fields that are added to `config` in the backend's profile.
    #[serde(default)]
    pub configuration: Map<String, Value>,
    #[serde(default)]
    pub pod_gangs_of_sets_only: bool,
    /// The program that creates the gang resources, if the operator does not.
    pub gang_resources_by: Option<String>,
    /// What the operator adds to pods, each with a link.
    #[serde(default)]
    pub pod_additions: Vec<PodAddition>,
    /// The kinds of objects that the operator takes over if one with a name that it needs already exists.
    #[serde(default)]
    pub takes_over: Vec<TakenOver>,
}

/// The kinds of objects, other than Grove's own, that an operator needs for a PodCliqueSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum TakenOver {
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
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
    pub(super) fn read(text: &str, path: &Path, operator: &str, dir: &Path) -> Result<Self, OperatorError> {
        let mut releases = releases(text, path, operator)?.into_iter();
        let release =
            releases.find(|release| release.when.matches(dir)).ok_or_else(|| SourceError::Release {
                program: operator.into(),
                dir: dir.into(),
                reason: format!("{} has no release that matches the checkout", path.display()),
            })?;
        Ok(Self::of(release, text))
    }

    /// Selects the release whose name is the operator's version, or the only release.
    pub fn of_version(path: &Path, operator: &str, version: &str) -> Result<Self, OperatorError> {
        let text = std::fs::read_to_string(path).map_err(OperatorError::in_file(path))?;
        let mut releases = releases(&text, path, operator)?;
        let named = releases.iter().position(|release| release.name == version);
        match named.or_else(|| (releases.len() == 1).then_some(0)) {
            Some(index) => Ok(Self::of(releases.swap_remove(index), &text)),
            None => {
                let names: Vec<_> = releases.iter().map(|release| release.name.as_str()).collect();
                let reason = format!("unknown release {version:?}; known: {}", names.join(", "));
                Err(OperatorError::in_file(path)(reason))
            }
        }
    }

    fn of(release: Release, text: &str) -> Self {
        let sha256 = hex(&Sha256::digest(text));
        Self { release: release.name, backends: release.backends, sha256 }
    }

    /// A target whose backend is not declared stays the same. `operator` includes the version.
    #[must_use]
    pub fn declared(&self, operator: String, target: Target) -> Target {
        let Some(declared) = self.backends.get(target.backend()).cloned() else { return target };
        let Declared {
            features,
            configuration,
            pod_gangs_of_sets_only,
            gang_resources_by,
            pod_additions,
            takes_over,
        } = declared;
        target.declared_by(BackendDeclaration {
            operator,
            features,
            configuration,
            pod_gangs_of_sets_only,
            gang_resources_by,
            pod_additions,
            takes_over: takes_over.iter().map(|kind| format!("{kind:?}")).collect(),
        })
    }
}

fn releases(text: &str, path: &Path, operator: &str) -> Result<Vec<Release>, OperatorError> {
    let fields = document(text, KIND).map_err(OperatorError::in_file(path))?;
    let file: File = serde_json::from_value(Value::Object(fields)).map_err(OperatorError::in_file(path))?;
    if file.implementation != operator {
        let reason = format!("implementation: found {}, expected {operator}", file.implementation);
        return Err(OperatorError::in_file(path)(reason));
    }
    Ok(file.releases)
}
