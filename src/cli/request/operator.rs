use std::path::PathBuf;

use conformance_contract::kubernetes::Kubernetes;

use crate::Failure;
use crate::options::OperatorOptions;

#[derive(Debug, Clone)]
pub(crate) struct OperatorRequest {
    pub source: OperatorSource,
    /// Replaces the declaration that comes with the operator's description.
    pub declaration: Option<PathBuf>,
    pub upgrade_from: Option<UpgradeFrom>,
    /// Name of an operator that the user runs.
    pub name: String,
    pub version: String,
    pub probe_undeclared: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OperatorSource {
    Reference,
    Existing,
    /// An operator that the harness starts: `upstream=DIR` or `exec:FILE`.
    Started(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UpgradeFrom {
    Operator(OperatorSource),
    /// The control plane of this version. The operator under test runs before and after the upgrade.
    Kubernetes(Kubernetes),
}

impl UpgradeFrom {
    fn of(word: &str) -> Result<Self, Failure> {
        let Some(minor) = word.strip_prefix("kubernetes=") else {
            return match OperatorSource::of(Some(word)) {
                OperatorSource::Existing => Err(Failure::Usage(
                    "--upgrade-from existing: the harness starts the operator that is replaced: pass reference, upstream=DIR or exec:FILE"
                        .into(),
                )),
                source => Ok(Self::Operator(source)),
            };
        };
        let known: Vec<_> =
            Kubernetes::ALL.into_iter().filter(|version| version.successor().is_some()).collect();
        match known.iter().find(|version| version.minor() == minor) {
            Some(version) => Ok(Self::Kubernetes(*version)),
            None => Err(Failure::Usage(format!(
                "--upgrade-from {word}: unknown version of Kubernetes, or no later one is released: expected {}",
                known.iter().map(|version| version.minor()).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    pub(crate) fn word(&self) -> String {
        match self {
            Self::Operator(source) => source.word().to_owned(),
            Self::Kubernetes(version) => format!("kubernetes={version}"),
        }
    }
}

const EXISTING: &str = "existing";
const REFERENCE: &str = "reference";

impl OperatorSource {
    pub(crate) fn of(word: Option<&str>) -> Self {
        match word {
            None | Some(REFERENCE) => Self::Reference,
            Some(EXISTING) => Self::Existing,
            Some(word) => Self::Started(word.to_owned()),
        }
    }

    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Reference => REFERENCE,
            Self::Existing => EXISTING,
            Self::Started(word) => word,
        }
    }

    pub(crate) fn is_existing(&self) -> bool {
        *self == Self::Existing
    }
}

impl OperatorRequest {
    pub(crate) fn replaced_kubernetes(&self) -> Option<Kubernetes> {
        match self.upgrade_from {
            Some(UpgradeFrom::Kubernetes(version)) => Some(version),
            Some(UpgradeFrom::Operator(_)) | None => None,
        }
    }

    pub(super) fn of(options: OperatorOptions) -> Result<Self, Failure> {
        let upgrade_from = options.upgrade_from.as_deref().map(UpgradeFrom::of).transpose()?;
        let probe_undeclared = options.probe_undeclared.unwrap_or_default();
        for (field, is_given) in
            [("declaration", options.declaration.is_some()), ("probeUndeclared", probe_undeclared)]
        {
            if is_given && options.source.is_none() {
                return Err(Failure::Usage(format!(
                    "operator.{field} needs --operator: pass it, or omit the field"
                )));
            }
        }
        Ok(Self {
            source: OperatorSource::of(options.source.as_deref()),
            declaration: options.declaration,
            upgrade_from,
            name: options.name.unwrap_or_else(|| "unnamed".into()),
            version: options.version.unwrap_or_else(|| "unknown".into()),
            probe_undeclared,
        })
    }
}
