//! What can be wrong with an operator that was given, and what to do about it.

use std::path::PathBuf;

use crate::source::SourceError;

/// Why an operator cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// A word that names no operator.
    #[error(
        "operator {word}: {reason}; expected upstream=DIR (a checkout of ai-dynamo/grove), exec:FILE (a description, see docs/operators.md), existing (the one that runs in the cluster) or reference"
    )]
    Word {
        /// The word.
        word: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A description or a declaration that does not serve.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder from which it cannot be built.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A backend that the operator does not have.
    #[error("{operator} declares no backend {backend}: it declares {}; choose one of them with --backend, or describe the backend in the operator's files", declared.join(", "))]
    Backend {
        /// Its name.
        operator: String,
        /// Which backend.
        backend: String,
        /// Those it has.
        declared: Vec<String>,
    },
    /// It ended before it was ready.
    #[error(
        "{operator} {how} before it was ready; it was started as `{command}`, and its log ends with:\n{tail}\ncheck the arguments and the configuration in its description"
    )]
    Ended {
        /// Its name.
        operator: String,
        /// How.
        how: String,
        /// Its command line.
        command: String,
        /// The last lines of its log.
        tail: String,
    },
    /// It runs and never said that it is ready.
    #[error(
        "{operator} was not ready after {seconds} s: {last}; its log ends with:\n{tail}\ncheck `readiness` in its description"
    )]
    NotReady {
        /// Its name.
        operator: String,
        /// For how long it was asked.
        seconds: u64,
        /// The last answer.
        last: String,
        /// The last lines of its log.
        tail: String,
    },
    /// It is ready and a webhook of its does not answer.
    #[error(
        "{operator} is ready, but its webhook {url} does not answer: {last}; its log ends with:\n{tail}\ncheck the paths, the port and the certificates in its description"
    )]
    Webhook {
        /// Its name.
        operator: String,
        /// Which webhook.
        url: String,
        /// What came instead.
        last: String,
        /// The last lines of its log.
        tail: String,
    },
}

impl OperatorError {
    /// What is wrong with a field of a description.
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
