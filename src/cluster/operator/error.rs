//! What can be wrong with an operator that was given, and what to do about it.

use std::path::PathBuf;

/// Why an operator cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// A word that names no operator.
    #[error(
        "--operator {word}: {reason}; expected upstream=DIR (a checkout of ai-dynamo/grove), exec:FILE (a description, see docs/operators.md) or existing (the one that runs in the cluster)"
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
    /// A folder that is not what the description is about.
    #[error("{} is no checkout of {operator}: it lacks {}; give the folder at the top of its repository", dir.display(), lacks.join(", "))]
    Checkout {
        /// Whose checkout it should be.
        operator: String,
        /// The folder.
        dir: PathBuf,
        /// What it should have.
        lacks: Vec<String>,
    },
    /// A release that no variant is about, or that the suite cannot judge.
    #[error("{}: this release of {operator} cannot be judged: {reason}", dir.display())]
    Release {
        /// Whose.
        operator: String,
        /// The folder.
        dir: PathBuf,
        /// Why not.
        reason: String,
    },
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
    /// A Go toolchain that cannot build it.
    #[error("{}: {reason}\nGo {needed} or newer builds it; install it and put it on PATH, or let Go fetch it (GOTOOLCHAIN=auto)", module.display())]
    Go {
        /// The module's folder.
        module: PathBuf,
        /// What `go` answered.
        reason: String,
        /// The `go` line of its go.mod.
        needed: String,
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
    /// Whether the command line, or a file that it names, is wrong.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Word { .. }
                | Self::File { .. }
                | Self::Checkout { .. }
                | Self::Release { .. }
                | Self::Backend { .. }
        )
    }
}
