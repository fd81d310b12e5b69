//! When an object is reconciled again.

use std::time::Duration;

use crate::cache::pods::UNREPORTED_WAIT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    /// `None`: only on a change.
    pub again: Option<Duration>,
}

impl Action {
    /// Reconcile again only on a change.
    pub(crate) const fn await_change() -> Self {
        Self { again: None }
    }

    /// Reconcile again after this time, or earlier on a change.
    pub(crate) const fn requeue(after: Duration) -> Self {
        Self { again: Some(after) }
    }
}

/// When to compute a status again. During an update, elapsed time decides which pods wait for room, and no
/// watch event reports that.
pub(crate) fn next_look(is_updating: bool) -> Action {
    if is_updating { Action::requeue(UNREPORTED_WAIT) } else { Action::await_change() }
}
