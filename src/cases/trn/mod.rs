//! Kubeflow TrainJobs (`run --trainjob`).

use conformance_contract::ruling::Finding;
use conformance_history::{History, SharedMark};
use conformance_judge::{finding, train_jobs};

pub(crate) mod everything_gone;
pub(crate) mod fits_whole;
pub(crate) mod initializer;
pub(crate) mod initializer_stays;
pub(crate) mod one_pod_short;
pub(crate) mod one_rack;
pub(crate) mod own_roles;
pub(crate) mod parts_killed;
pub(crate) mod plugin_away;
pub(crate) mod pod_lost;
pub(crate) mod queue_comes_later;
pub(crate) mod queue_label;
pub(crate) mod queue_that_counts;
pub(crate) mod rack_per_job;
pub(crate) mod refusals;
pub(crate) mod room_for_one;
pub(crate) mod room_given_back;
pub(crate) mod second_job_short;
pub(crate) mod suspended;
pub(crate) mod volcano_queue;

/// A TrainJob with an unmet need is not bound at all until the barrier (TRN-03), and reports why (TRN-19). At
/// the end, when nothing is missing, it is bound whole (TRN-18).
fn waited_whole(history: &History, train_job: &str) -> Vec<Finding> {
    vec![
        finding("TRN-03", || {
            let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
            train_jobs::never(history, &train_jobs::units(history, train_job)?, Some(barrier))
        }),
        finding("TRN-18", || {
            history.reached(SharedMark::SchedulerPassed)?;
            train_jobs::whole(&history.end(), &train_jobs::units(history, train_job)?)
        }),
        finding("TRN-19", || {
            history.reached(SharedMark::SchedulerPassed)?;
            train_jobs::says_why(history, train_job)
        }),
    ]
}
