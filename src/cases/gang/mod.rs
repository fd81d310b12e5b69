//! Gang creation.

pub(crate) mod by_hand;
pub(crate) mod edited_resources_restored;
pub(crate) mod foreign_changes;
pub(crate) mod no_writes_when_converged;
pub(crate) mod priority;
pub(crate) mod restored_despite_api_faults;
pub(crate) mod restored_while_pending;
pub(crate) mod scale_in_terminating_pod;
pub(crate) mod scaled_by_apply;
pub(crate) mod scaled_in_then_out;
pub(crate) mod scaling;
pub(crate) mod scheduler_label;
pub(crate) mod shape;
pub(crate) mod workload_restored_while_pending;
pub(crate) mod workload_restored_while_running;
