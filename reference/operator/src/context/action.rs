use std::time::Duration;

use crate::cache::pods::ROOM_WAIT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    /// `None` if only a change triggers the next reconciliation.
    pub again: Option<Duration>,
}

impl Action {
    pub(crate) const fn await_change() -> Self {
        Self { again: None }
    }

    pub(crate) const fn requeue(after: Duration) -> Self {
        Self { again: Some(after) }
    }
}

/// No watch event reports that a pod has waited long enough to count as waiting for room.
pub(crate) fn next_check(is_updating: bool) -> Action {
    if is_updating { Action::requeue(ROOM_WAIT) } else { Action::await_change() }
}
