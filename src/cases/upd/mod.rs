//! Updates.

pub(crate) mod all_at_once;
pub(crate) mod broken_then_repaired;
pub(crate) mod changed_early;
pub(crate) mod controller_rolled;
pub(crate) mod down_first;
pub(crate) mod in_place_full;
pub(crate) mod kept_in_block;
pub(crate) mod kept_in_rack;
pub(crate) mod lost_meanwhile;
pub(crate) mod never_ready;
pub(crate) mod nothing_changed;
pub(crate) mod old_until_its_turn;
pub(crate) mod on_delete;
pub(crate) mod one_clique;
pub(crate) mod place_taken;
pub(crate) mod rolled;
pub(crate) mod scaled_meanwhile;
pub(crate) mod scaled_turn;
