//! Kubeflow TrainJobs (`run --trainjob`).

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
