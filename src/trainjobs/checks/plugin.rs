use conformance_check::{Shown, none, violation};
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Version, list, text};
use serde_json::Value;

use super::gangs::{is_owned_by, is_pod_group};
use super::jobs::{REPLICATED_JOB, runtime, train_job};
use crate::train_job::JOB_SET;

/// The label with KAI's queue, on pods and TrainJobs.
pub(crate) const QUEUE: &str = "kai.scheduler/queue";

const WRONG_QUEUE: Code = Code::new("wrong-queue");
const WRONG_SCHEDULER: Code = Code::new("wrong-scheduler");
const LABEL_LOST: Code = Code::new("label-lost");
const GANG_CREATED_BY_TRAINER: Code = Code::new("gang-created-by-trainer");
const FORBIDDEN: Code = Code::new("forbidden");

/// Returns `NotReached` if some pods of the TrainJob were never created.
fn created_pods<'a>(history: &'a History, name: &str) -> Result<Vec<Version<'a>>, Broken> {
    let wanted = train_job(history, name)?.pods();
    let pods: Vec<_> = history
        .pods()
        .filter(|version| version.change == Change::Added && version.pod().label(JOB_SET) == Some(name))
        .collect();
    if pods.len() < wanted {
        return Err(Broken::NotReached(format!("TrainJob {name} had fewer than {wanted} pods")));
    }
    Ok(pods)
}

/// Every pod of a TrainJob was created with the label of this queue, or without one if `None` (TRN-01).
pub(crate) fn queue_is(history: &History, name: &str, queue: Option<&str>) -> Ruling {
    none(created_pods(history, name)?.into_iter().filter_map(|version| {
        let found = version.pod().label(QUEUE);
        (found != queue).then(|| {
            let message = format!("Pod {} has queue {found:?}, want {queue:?}", version.name());
            violation(WRONG_QUEUE, message).shown_by("created", version)
        })
    }))
}

/// Pods got the scheduler and labels of their runtime, and the trainer created no gang resource (TRN-17).
pub(crate) fn nothing_but_the_queue(history: &History, name: &str) -> Ruling {
    let runtime = runtime(history, name)?;
    let mut violations = Vec::new();
    for version in created_pods(history, name)? {
        let pod = version.pod();
        let jobs = list(&runtime["spec"]["template"]["spec"]["replicatedJobs"]);
        let job = jobs.iter().find(|job| job["name"].as_str() == pod.label(REPLICATED_JOB));
        let Some(template) = job.map(|job| &job["template"]["spec"]["template"]) else { continue };
        if pod.0["spec"]["schedulerName"] != template["spec"]["schedulerName"] {
            let message = format!(
                "Pod {} has schedulerName {}, want that of its runtime",
                pod.name(),
                pod.0["spec"]["schedulerName"]
            );
            violations.push(violation(WRONG_SCHEDULER, message).shown_by("created", version));
        }
        let labels = template["metadata"]["labels"].as_object().into_iter().flatten();
        for (key, value) in labels.filter(|(key, value)| pod.0["metadata"]["labels"][key.as_str()] != **value)
        {
            let message = format!("Pod {} lacks label {key}={value} of its runtime", pod.name());
            violations.push(violation(LABEL_LOST, message).shown_by("created", version));
        }
    }
    let by_trainer = history.versions().filter(|version| {
        let managers = list(&version.object["metadata"]["managedFields"]);
        version.change == Change::Added
            && is_pod_group(history, version.kind())
            && managers.iter().any(|manager| text(&manager["manager"]).contains("trainer"))
    });
    violations.extend(by_trainer.map(|version| {
        let message =
            format!("{} {} was created by the trainer or its plugin", version.kind(), version.name());
        violation(GANG_CREATED_BY_TRAINER, message).shown_by("created", version)
    }));
    none(violations)
}

/// The PodGroup of a TrainJob was in this queue from its creation, by KAI's podgrouper (TRN-06, TRN-21) or
/// the trainer (TRN-26). Passes without a PodGroup, whose existence another check covers.
pub(crate) fn pod_group_is_in(history: &History, name: &str, queue: &str) -> Ruling {
    let pod_groups = history.versions().filter(|version| {
        let owners = ["JobSet", "TrainJob"];
        let is_owned = owners.iter().any(|owner| is_owned_by(version.object, owner, name));
        is_owned && is_pod_group(history, version.kind())
    });
    none(pod_groups.filter(|version| version.object["spec"]["queue"] != queue).map(|version| {
        let message = format!(
            "PodGroup {} is in queue {}, want {queue}",
            version.name(),
            version.object["spec"]["queue"]
        );
        violation(WRONG_QUEUE, message).shown_by("observed", version)
    }))
}

/// The audit log has no denied request of the trainer, JobSet or the plugin (TRN-10).
pub(crate) fn nothing_forbidden(forbidden: &Value) -> Ruling {
    none(list(forbidden).iter().map(|request| {
        let message =
            format!("{} was denied permission to {}", text(&request["user"]), text(&request["action"]));
        violation(FORBIDDEN, message)
    }))
}

#[cfg(test)]
#[path = "plugin_tests.rs"]
mod tests;
