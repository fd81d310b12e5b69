use std::fmt::Display;
use std::path::PathBuf;

use conformance_programs::source::{SourceError, UnknownPlaceholder};

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error(
        "operator {word}: {reason}; expected upstream=DIR (a checkout of ai-dynamo/grove), exec:FILE (a description, see docs/your-operator.md), existing (the one that runs in the cluster) or reference"
    )]
    Word { word: String, reason: String },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{operator} declares no backend {backend}: it declares {}; choose one of them with --backend, or describe the backend in the operator's files", declared.join(", "))]
    Backend { operator: String, backend: String, declared: Vec<String> },
    #[error(
        "{operator} {how} before it was ready; it was started as `{command}`, and its log ends with:\n{tail}\ncheck the arguments and the configuration in its description"
    )]
    Ended { operator: String, how: String, command: String, tail: String },
    #[error(
        "{operator} was not ready after {seconds} s: {last}; its log ends with:\n{tail}\ncheck `readiness` in its description"
    )]
    NotReady { operator: String, seconds: u64, last: String, tail: String },
    #[error(
        "{operator} is ready, but its webhook {url} does not answer: {last}; its log ends with:\n{tail}\ncheck the paths, the port and the certificates in its description"
    )]
    Webhook { operator: String, url: String, last: String, tail: String },
}

impl OperatorError {
    /// Adds the path of the file, or the name of the field, in which something is wrong.
    pub(super) fn in_file<E: Display>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |reason| Self::File { path, reason: reason.to_string() }
    }

    pub fn is_usage(&self) -> bool {
        match self {
            Self::Word { .. } | Self::File { .. } | Self::Backend { .. } => true,
            Self::Source(error) => error.is_usage(),
            Self::Ended { .. } | Self::NotReady { .. } | Self::Webhook { .. } => false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidDescription {
    #[error("name: {0:?}: expected lower-case letters, digits and '-'")]
    Name(String),
    #[error("expected exactly one of build and program")]
    BuildOrProgram,
    #[error("readiness: expected exactly one of path and logLine")]
    Readiness,
    #[error("backends: default-scheduler is missing: add it, because every cluster has it")]
    NoDefaultScheduler,
    #[error("backends: {backend}: unknown gang scope {scope:?}")]
    GangScope { backend: String, scope: String },
    #[error("roles and clusterAdmin: give only one of them")]
    RolesOrClusterAdmin,
    #[error("identity is missing: name the user who has the roles")]
    NoIdentity,
    #[error("{field}: {source}")]
    Placeholder { field: &'static str, source: UnknownPlaceholder },
    #[error("{field}: the template has no list at {pointer}")]
    NoList { field: &'static str, pointer: String },
}

impl InvalidDescription {
    pub(super) fn in_field(field: &'static str) -> impl Fn(UnknownPlaceholder) -> Self {
        move |source| Self::Placeholder { field, source }
    }
}
