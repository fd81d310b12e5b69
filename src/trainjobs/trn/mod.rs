use crate::prelude::*;

pub(crate) mod all_objects_deleted;
pub(crate) mod capacity_freed;
pub(crate) mod components_killed;
pub(crate) mod fitting_job_bound;
pub(crate) mod initializer;
pub(crate) mod initializer_not_evicted;
pub(crate) mod one_pod_short;
pub(crate) mod one_rack;
pub(crate) mod permissions_sufficient;
pub(crate) mod plugin_down;
pub(crate) mod pod_lost;
pub(crate) mod queue_comes_later;
pub(crate) mod queue_label;
pub(crate) mod queue_precedence;
pub(crate) mod rack_per_job;
pub(crate) mod refusals;
pub(crate) mod room_for_one;
pub(crate) mod second_job_short;
pub(crate) mod suspended;
pub(crate) mod volcano_queue;

/// While a TrainJob lacks nodes (TRN-03) or a queue (TRN-27), none of its pods is bound before the barrier,
/// and the reason is reported (TRN-19). At the end, it is bound whole (TRN-18).
fn waits_until_it_fits(history: &History, train_job: &str, waits: &'static str) -> Vec<Finding> {
    vec![
        finding(waits, || {
            let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
            checks::never(history, &checks::units(history, train_job)?, Some(barrier))
        }),
        finding(TRN_18, || {
            history.reached(SharedMark::SchedulerPassed)?;
            checks::whole(&history.end(), &checks::units(history, train_job)?)
        }),
        finding(TRN_19, || {
            history.reached(SharedMark::SchedulerPassed)?;
            checks::reports_why_pending(history, train_job)
        }),
    ]
}
