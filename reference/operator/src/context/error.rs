use crate::backend::BackendError;

/// The reconciliation is retried with exponential backoff, or earlier after a change.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error("cannot {action}: {source}")]
    Api {
        /// Verb and object, such as `create Pod ns/name`.
        action: String,
        source: kube::Error,
    },
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// An object of a deleted owner with the same name must be deleted first (DEL-08).
    #[error("waiting: {0}")]
    Waiting(String),
    /// An object of another owner, or kept by a finalizer, has the name. Only a user can free it (STAT-18).
    #[error("{0}")]
    NameTaken(String),
    #[error("the API server did not confirm whether it created Pod {0}")]
    Unsettled(String),
    #[error("cannot serialise: {0}")]
    Json(#[from] serde_json::Error),
}

impl ReconcileError {
    /// The namespace is being deleted (DEL-07).
    pub(crate) fn is_namespace_gone(&self) -> bool {
        let source = match self {
            Self::Api { source, .. } | Self::Backend(BackendError::Api { source, .. }) => source,
            _ => return false,
        };
        let kube::Error::Api(status) = source else { return false };
        let details = status.details.as_ref();
        let terminating =
            details.is_some_and(|details| details.causes.iter().any(|c| c.reason == "NamespaceTerminating"));
        let deleted = status.is_not_found() && details.is_some_and(|details| details.kind == "namespaces");
        terminating || deleted
    }

    /// Whether the error resolves itself, so that it needs no warning.
    pub(crate) fn is_waiting(&self) -> bool {
        match self {
            Self::Waiting(_) | Self::Backend(BackendError::Waiting(_) | BackendError::HeldByPods(_)) => true,
            // Another client wrote first. The watch will deliver the newer object, which triggers a retry.
            Self::Api { source: kube::Error::Api(status), .. } => status.is_conflict(),
            _ => false,
        }
    }
}
