pub(crate) mod each_scheduler_own_gangs;
pub(crate) mod nodes_filled_by_other;
