mod bound;
mod gangs;
mod jobs;
mod plugin;
mod pods;

pub(crate) use self::bound::{
    each_job_in_one_domain, first_stage_is_whole, in_one_domain, never, one_is_whole, reports_why_pending,
    whole, whole_or_never, whole_or_nothing,
};
pub(crate) use self::gangs::{
    each_job_is_a_gang, has_one_gang_each, is_its_gang, is_one_pod_group, is_one_tree,
};
pub(crate) use self::jobs::{is_job_of, pods_of, units};
pub(crate) use self::plugin::{QUEUE, nothing_but_the_queue, nothing_forbidden, pod_group_is_in, queue_is};
pub use self::pods::EVICTED;
pub(crate) use self::pods::{has_no_pods, has_the_same_pods, is_not_evicted, is_replaced};

#[cfg(test)]
mod fixture;
