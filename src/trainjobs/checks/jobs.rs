use conformance_contract::clauses::Feature;
use conformance_contract::ruling::Broken;
use conformance_history::{History, Live, Pod, text};
use serde_json::Value;

use crate::train_job::{JOB_SET, TrainJob, TrainUnit};

/// The pod label with the name of the replicated Job.
pub(super) const REPLICATED_JOB: &str = "jobset.sigs.k8s.io/replicatedjob-name";

pub(crate) fn train_job(history: &History, name: &str) -> Result<TrainJob, Broken> {
    Ok(TrainJob::of(runtime(history, name)?, history.submitted(name)?))
}

pub(super) fn runtime<'a>(history: &'a History, name: &str) -> Result<&'a Value, Broken> {
    let runtime = text(&history.submitted(name)?["spec"]["runtimeRef"]["name"]);
    history.submitted(&format!("runtime {runtime}"))
}

pub(crate) fn units(history: &History, name: &str) -> Result<Vec<TrainUnit>, Broken> {
    let is_atomic = history.header.target.declares(Feature::AtomicTrainJob);
    Ok(train_job(history, name)?.units(is_atomic))
}

pub(super) fn is_of(pod: Pod<'_>, unit: &TrainUnit) -> bool {
    let job = pod.label(REPLICATED_JOB);
    pod.label(JOB_SET) == Some(&unit.train_job) && unit.jobs.iter().any(|(name, _)| job == Some(name))
}

pub(crate) fn is_job_of(job: &Value, name: &str) -> bool {
    job["metadata"]["labels"][JOB_SET] == name
}

pub(crate) fn pods_of<'a>(live: &'a Live, name: &str) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(move |pod| pod.label(JOB_SET) == Some(name))
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
