use std::path::PathBuf;

/// Why a proxy cannot be started, or does not take a rule.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A certificate or key is unusable.
    #[error("the fault proxy cannot use {what}: {reason}")]
    Certificate {
        /// Which one.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Its port cannot be bound.
    #[error("the fault proxy cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The address of the API server is not one.
    #[error("{0:?} is no https:// address of an API server")]
    Server(String),
    /// Its log cannot be written.
    #[error("the fault proxy's log {path}: {source}")]
    Log {
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A rule says what cannot be done.
    #[error("fault rule {rule:?}: {reason}")]
    Rule {
        /// Its name.
        rule: String,
        /// What is wrong with it, and what to do.
        reason: &'static str,
    },
}

/// What a client sees as a connection that was lost: hyper closes it (HTTP/1.1) or resets the stream (HTTP/2).
#[derive(Debug, thiserror::Error)]
#[error("lost: {0}")]
pub(crate) struct Lost(pub String);

impl Lost {
    pub(crate) fn by_rule() -> Self {
        Self("a fault rule".into())
    }
}
