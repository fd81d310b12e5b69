//! What a case came to by itself. To put a control plane back, parts are started again, and that mends what was stuck.

use conformance_history::{History, SharedMark};

/// A case's history without what came of putting the control plane back.
pub(crate) fn before_put_back(history: &History) -> History {
    let end = history.marks(SharedMark::PutBack).next().map_or(history.entries.len(), |(place, _)| place);
    history.upto(end)
}
