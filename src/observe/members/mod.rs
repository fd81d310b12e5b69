//! Which pods count towards the minimum of their gang.

pub(crate) mod finished_pods;
pub(crate) mod other_scheduler_name;
pub(crate) mod terminating_pods;
