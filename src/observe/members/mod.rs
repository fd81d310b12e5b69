//! Which pods count towards the minimum of their gang.

use conformance_contract::scheduler::Scheduler;

pub(crate) mod finished_pods;
pub(crate) mod other_scheduler_name;
pub(crate) mod terminating_pods;

/// Schedulers that bind any new pod of a gang that was bound once.
const WITHOUT_MINIMUM: &[(Scheduler, &str)] =
    &[(Scheduler::KOORDINATOR, "after a gang was bound, it binds each new pod alone (bound/all-pods-lost)")];
