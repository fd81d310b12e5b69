//! Updates.

pub(crate) mod broken_then_repaired;
pub(crate) mod changed_before_first_status;
pub(crate) mod controller_rolled;
pub(crate) mod freed_capacity_taken;
pub(crate) mod never_ready;
pub(crate) mod no_spare_capacity;
pub(crate) mod old_template_before_step;
pub(crate) mod on_delete;
pub(crate) mod on_delete_all_pods;
pub(crate) mod only_changed_clique;
pub(crate) mod pods_lost_during_update;
pub(crate) mod replacement_stays_in_block;
pub(crate) mod replacement_stays_in_rack;
pub(crate) mod rolling_update;
pub(crate) mod scaled_during_update;
pub(crate) mod scaled_gang_updated;
pub(crate) mod template_unchanged;
pub(crate) mod unavailable_replicas_first;
