//! Cuts a history before the control plane is restored. Restoring restarts components, which repairs stuck
//! states.

use conformance_history::{History, SharedMark};

/// A case's history up to the point where the control plane is restored.
pub(crate) fn before_restore(history: &History) -> History {
    let end = history.marks(SharedMark::Restored).next().map_or(history.entries.len(), |(place, _)| place);
    history.upto(end)
}
