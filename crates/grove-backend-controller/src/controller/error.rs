//! What can go wrong in a reconciliation.

use crate::backend::BackendError;

/// Why a reconciliation did not finish. It is tried again with growing pauses, and at once when something
/// changes.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    /// A request failed.
    #[error("cannot {action}: {source}")]
    Api {
        /// What was tried, such as `create Pod ns/name`.
        action: String,
        /// The answer.
        source: kube::Error,
    },
    /// A backend could not do its part.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Something of a deleted predecessor of the same name has to go first (DEL-08).
    #[error("waiting: {0}")]
    Waiting(String),
    /// It could not be found out whether a request was carried out.
    #[error("cannot tell whether Pod {0} was created")]
    Unsettled(String),
    /// A value could not be turned into JSON.
    #[error("cannot serialise: {0}")]
    Json(#[from] serde_json::Error),
}

impl ReconcileError {
    /// Whether the namespace is being deleted: there is nothing to do then but let it go (DEL-07).
    pub(super) fn is_namespace_gone(&self) -> bool {
        let source = match self {
            Self::Api { source, .. } | Self::Backend(BackendError::Api { source, .. }) => source,
            _ => return false,
        };
        let kube::Error::Api(status) = source else { return false };
        let details = status.details.as_ref();
        let terminating =
            details.is_some_and(|details| details.causes.iter().any(|c| c.reason == "NamespaceTerminating"));
        let gone = status.is_not_found() && details.is_some_and(|details| details.kind == "namespaces");
        terminating || gone
    }

    /// Whether it is only a matter of time: no warning is due.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Waiting(_) | Self::Backend(BackendError::Waiting(_) | BackendError::HeldByPods(_)) => true,
            // Somebody else was faster; the next cache event brings the newer object.
            Self::Api { source: kube::Error::Api(status), .. } => status.is_conflict(),
            _ => false,
        }
    }
}
