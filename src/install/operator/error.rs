//! Errors of an operator that the user gave. Each message includes what to do.

use std::path::PathBuf;

use conformance_programs::source::SourceError;

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The value of a flag does not name an operator.
    #[error(
        "operator {word}: {reason}; expected upstream=DIR (a checkout of ai-dynamo/grove), exec:FILE (a description, see docs/operators.md), existing (the one that runs in the cluster) or reference"
    )]
    Word { word: String, reason: String },
    /// A description or a declaration is invalid.
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{operator} declares no backend {backend}: it declares {}; choose one of them with --backend, or describe the backend in the operator's files", declared.join(", "))]
    Backend { operator: String, backend: String, declared: Vec<String> },
    /// The operator exited before it was ready.
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
    pub(super) fn in_field(field: &'static str) -> impl Fn(String) -> Self {
        move |reason| Self::File { path: field.into(), reason }
    }

    /// Whether the command line, or a file that it names, is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Word { .. } | Self::File { .. } | Self::Backend { .. } => true,
            Self::Source(error) => error.is_usage(),
            Self::Ended { .. } | Self::NotReady { .. } | Self::Webhook { .. } => false,
        }
    }
}
