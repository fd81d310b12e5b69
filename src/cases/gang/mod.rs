//! Gang creation.

pub(crate) mod at_rest;
pub(crate) mod back_and_forth;
pub(crate) mod by_hand;
pub(crate) mod foreign_changes;
pub(crate) mod healed_by_hand;
pub(crate) mod healed_disturbed;
pub(crate) mod healed_while_pending;
pub(crate) mod healed_while_running;
pub(crate) mod priority;
pub(crate) mod restored_while_pending;
pub(crate) mod scaled_by_apply;
pub(crate) mod scaled_in_while_one_leaves;
pub(crate) mod scaling;
pub(crate) mod scheduler_label;
pub(crate) mod shape;
