use std::path::PathBuf;

/// Why a proxy cannot be started, or rejects a rule.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A certificate or key is unusable.
    #[error("the fault proxy cannot use {what}: {reason}")]
    Certificate {
        /// The unusable certificate or key.
        what: &'static str,
        /// Why the certificate or key is unusable.
        reason: String,
    },
    /// The port cannot be bound.
    #[error("the fault proxy cannot listen on {address}: {source}")]
    Listen {
        /// The address to listen on.
        address: std::net::SocketAddr,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The address of the API server is invalid.
    #[error("{0:?} is not the https:// address of an API server")]
    Server(String),
    /// The log cannot be written.
    #[error("the fault proxy's log {path}: {source}")]
    Log {
        /// The path of the log.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A rule is invalid.
    #[error("fault rule {rule:?}: {reason}")]
    Rule {
        /// The name of the rule.
        rule: String,
        /// The problem, and what to do.
        reason: &'static str,
    },
}

/// No response was received. hyper closes the client's connection (HTTP/1.1) or resets its stream (HTTP/2).
#[derive(Debug, thiserror::Error)]
#[error("lost: {0}")]
pub(crate) struct Lost(pub String);

impl Lost {
    pub(crate) fn by_rule() -> Self {
        Self("a fault rule".into())
    }
}
