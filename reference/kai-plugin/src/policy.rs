//! Read from raw JSON, because the trainer's types lack the field `podGroupPolicy.kaiScheduler`.

use serde_json::Value;
use webhook_server::{FieldError, Validation};

pub const QUEUE_LABEL: &str = "kai.scheduler/queue";
const SCHEDULER: &str = "kai-scheduler";
/// With this annotation JobSet creates most pods of a Job only after its first pod is bound.
const EXCLUSIVE_TOPOLOGY: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";
const MAX_LENGTH: usize = 63;

const POLICY: &str = "spec.podGroupPolicy";
const JOBS: &str = "spec.template.spec.replicatedJobs";

#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    runtime: &'a Value,
    fields: &'a Value,
}

impl<'a> Policy<'a> {
    pub fn of(runtime: &'a Value) -> Option<Self> {
        let fields = runtime.pointer("/spec/podGroupPolicy/kaiScheduler")?;
        (!fields.is_null()).then_some(Self { runtime, fields })
    }

    /// `None` means KAI's default queue.
    pub fn queue(self) -> Option<&'a str> {
        self.fields["queue"].as_str().filter(|queue| !queue.is_empty())
    }

    pub fn jobs(self) -> impl Iterator<Item = &'a str> {
        self.replicated_jobs().filter_map(|job| job["name"].as_str())
    }

    fn replicated_jobs(self) -> impl Iterator<Item = &'a Value> {
        let jobs = self.runtime.pointer("/spec/template/spec/replicatedJobs");
        jobs.and_then(Value::as_array).into_iter().flatten()
    }

    pub fn check(self) -> Validation {
        let mut errors = Vec::new();
        if let Some(error) =
            self.queue().and_then(|queue| label_value_error(queue, &format!("{POLICY}.kaiScheduler.queue")))
        {
            errors.push(error);
        }
        for other in ["coscheduling", "volcano"] {
            if self.runtime["spec"]["podGroupPolicy"].get(other).is_some_and(|policy| !policy.is_null()) {
                let message = "a TrainJob has one gang scheduler, and kaiScheduler is also set: remove one \
                               of the two fields";
                errors.push(FieldError::forbidden(format!("{POLICY}.{other}"), message));
            }
        }
        errors.extend(exclusive_topology(&self.runtime["spec"]["template"], "spec.template"));
        Validation { errors, warnings: self.warnings() }
    }

    pub fn warnings(self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (index, job) in self.replicated_jobs().enumerate() {
            let name = job["name"].as_str().unwrap_or_default();
            let spec = job.pointer("/template/spec/template/spec/schedulerName").and_then(Value::as_str);
            if spec != Some(SCHEDULER) {
                warnings.push(format!(
                    "{JOBS}[{index}].template.spec.template.spec.schedulerName: {name:?} does not use \
                     {SCHEDULER}: the label {QUEUE_LABEL} on its pods has no effect"
                ));
            }
            if job["dependsOn"].as_array().is_some_and(|on| !on.is_empty()) {
                warnings.push(format!(
                    "{JOBS}[{index}].dependsOn: no job starts: KAI 0.16 and later wait for all pods of the \
                     gang, but JobSet creates the pods of {name:?} only after those of other jobs; remove \
                     dependsOn"
                ));
            }
        }
        warnings
    }
}

pub fn check_patches(train_job: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let patches = train_job.pointer("/spec/runtimePatches").and_then(Value::as_array);
    for (index, patch) in patches.into_iter().flatten().enumerate() {
        let path = format!("spec.runtimePatches[{index}].trainingRuntimeSpec.template");
        let template = &patch["trainingRuntimeSpec"]["template"];
        errors.extend(exclusive_topology(template, &path));
        for (index, job) in jobs_of(template) {
            let labels = job.pointer("/template/spec/template/metadata/labels");
            let queue = labels.and_then(|labels| labels[QUEUE_LABEL].as_str());
            let path = format!(
                "{path}.spec.replicatedJobs[{index}].template.spec.template.metadata.labels[{QUEUE_LABEL}]"
            );
            errors.extend(queue.and_then(|queue| label_value_error(queue, &path)));
        }
    }
    errors
}

/// With the annotation, a gang and pods that JobSet has not created yet would wait for each other.
fn exclusive_topology(template: &Value, path: &str) -> Vec<FieldError> {
    let of_jobs = jobs_of(template).map(|(index, job)| {
        (&job["template"]["metadata"], format!("{path}.spec.replicatedJobs[{index}].template.metadata"))
    });
    std::iter::once((&template["metadata"], format!("{path}.metadata")))
        .chain(of_jobs)
        .filter(|(metadata, _)| metadata["annotations"].get(EXCLUSIVE_TOPOLOGY).is_some())
        .map(|(_, path)| {
            let message = "JobSet holds pods back until the first pod of their Job is bound, and a gang is bound only when all \
                           of its pods exist; use kai.scheduler/topology-required-placement";
            FieldError::forbidden(format!("{path}.annotations[{EXCLUSIVE_TOPOLOGY}]"), message)
        })
        .collect()
}

fn jobs_of(template: &Value) -> impl Iterator<Item = (usize, &Value)> {
    template.pointer("/spec/replicatedJobs").and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn label_value_error(queue: &str, path: &str) -> Option<FieldError> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let rule = if queue.len() > MAX_LENGTH {
        format!("must be no more than {MAX_LENGTH} characters")
    } else if !queue.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        || !is_edge(queue.chars().next())
        || !is_edge(queue.chars().next_back())
    {
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
            .to_owned()
    } else {
        return None;
    };
    let message = format!("{queue:?}: it becomes the value of the label {QUEUE_LABEL}, which {rule}");
    Some(FieldError::invalid(path, message))
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
