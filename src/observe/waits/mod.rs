//! A gang that waits, and which changes end its wait.

pub(crate) mod gang_resource_deleted;
pub(crate) mod gang_resource_recreated;
pub(crate) mod minimum_lowered;
pub(crate) mod minimum_raised;
pub(crate) mod pod_that_names_cause;
pub(crate) mod pods_before_gang_resource;
pub(crate) mod queue_corrected;
pub(crate) mod room_after_a_minute;
pub(crate) mod scheduler_restarted;
pub(crate) mod volume_never_created;
pub(crate) mod volume_timeout_on_pods;
pub(crate) mod writes_while_waiting;
