use std::path::PathBuf;

/// Why a proxy cannot be started, or rejects a rule.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum ProxyError {
    #[error("the fault proxy cannot use {what}: {reason}")]
    Certificate { what: &'static str, reason: String },
    #[error("the fault proxy cannot listen on {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error("{0:?} is not the https:// address of an API server")]
    Server(String),
    #[error("the fault proxy's log {path}: {source}")]
    Log { path: PathBuf, source: std::io::Error },
    #[error("fault rule {rule:?}: {reason}")]
    Rule { rule: String, reason: &'static str },
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
