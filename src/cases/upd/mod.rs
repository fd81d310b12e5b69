//! Updates.

pub(crate) mod broken_then_repaired;
pub(crate) mod in_place_full;
pub(crate) mod lost_meanwhile;
pub(crate) mod nothing_changed;
pub(crate) mod on_delete;
pub(crate) mod rolled;
