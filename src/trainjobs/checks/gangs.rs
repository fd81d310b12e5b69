use conformance_check::binding::bindings;
use conformance_check::{Shown, ensure, none, violation};
use conformance_contract::clauses::Feature;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_history::{Change, History, Live, Version, controller, is_of_canary, list, text};
use serde_json::Value;

use super::jobs::{pods_of, runtime, train_job, units};
use crate::schedulers::joined;
use crate::train_job::JOB_SET;

pub(crate) const WRONG_NUMBER_OF_PODGROUPS: Code = Code::new("wrong-number-of-podgroups");
pub(crate) const WRONG_PODGROUP: Code = Code::new("wrong-podgroup");
pub(crate) const NO_MEMBER: Code = Code::new("no-member");

/// Each target has its own kind of gang: one tree from KAI's podgrouper, one gang per Job from the Job
/// controller, or one PodGroup from the trainer.
pub(crate) fn is_its_gang(history: &History, name: &str) -> Ruling {
    let target = history.header.target;
    if target.declares(Feature::QueueLabel) {
        is_one_tree(history, name)
    } else if target.declares(Feature::JobWorkload) {
        each_job_is_a_gang(history, name)
    } else {
        is_one_pod_group(history, name)
    }
}

/// KAI's podgrouper created exactly one PodGroup, with a subgroup for each replicated Job. Each pod names
/// this PodGroup when it is bound (TRN-02).
pub(crate) fn is_one_tree(history: &History, name: &str) -> Ruling {
    let (wanted, end) = (train_job(history, name)?, history.end());
    if end.get("JobSet", name).is_none() {
        return Err(Broken::NotReached(format!("JobSet {name} does not exist")));
    }
    let found: Vec<_> =
        pod_groups(history, &end).filter(|group| is_owned_by(group, "JobSet", name)).collect();
    let [group] = found.as_slice() else {
        let names: Vec<_> = found.iter().map(|group| text(&group["metadata"]["name"])).collect();
        let message = format!(
            "TrainJob {name} has {} PodGroups owned by its JobSet, want 1: {}",
            found.len(),
            names.join(", ")
        );
        return Err(violation(WRONG_NUMBER_OF_PODGROUPS, message).into());
    };
    let sub_groups = list(&group["spec"]["subGroups"]);
    let has_sub_group = |name: &str| sub_groups.iter().any(|found| found["name"] == name);
    let without = wanted.jobs.iter().filter(|job| !has_sub_group(&job.name)).map(|job| {
        let pod_group = text(&group["metadata"]["name"]);
        let message = format!("PodGroup {pod_group} has no subgroup for replicated Job {}", job.name);
        violation(WRONG_PODGROUP, message).shown_by_object("at the end", group)
    });
    let of_train_job = bindings(history).filter(|version| version.pod().label(JOB_SET) == Some(name));
    let unnamed = of_train_job.filter(|version| {
        version.object["metadata"]["annotations"]["pod-group-name"] != group["metadata"]["name"]
    });
    none(without.chain(unnamed.map(|version| {
        let message = format!("Pod {} was bound before it named its PodGroup", version.name());
        violation(NO_MEMBER, message).shown_by("bound", version)
    })))
}

/// The trainer created the PodGroup of a TrainJob for its scheduler, and every pod joins it (TRN-14).
pub(crate) fn is_one_pod_group(history: &History, name: &str) -> Ruling {
    let (wanted, end) = (train_job(history, name)?, history.end());
    let found: Vec<_> =
        pod_groups(history, &end).filter(|group| is_owned_by(group, "TrainJob", name)).collect();
    let [group] = found.as_slice() else {
        let message = format!("TrainJob {name} owns {} PodGroups, want 1", found.len());
        return Err(violation(WRONG_NUMBER_OF_PODGROUPS, message).into());
    };
    let owner = controller(group).map(|owner| (text(&owner["kind"]), text(&owner["name"])));
    let policy = &runtime(history, name)?["spec"]["podGroupPolicy"];
    let topology = &policy["volcano"]["networkTopology"];
    let timeout = &policy["coscheduling"]["scheduleTimeoutSeconds"];
    let gpus = &group["spec"]["minResources"]["nvidia.com/gpu"];
    let gpus = gpus.as_u64().or_else(|| gpus.as_str()?.parse().ok());
    let faults: Vec<_> = [
        (owner != Some(("TrainJob", name)))
            .then(|| format!("its controller is {owner:?}, want the TrainJob")),
        (group["spec"]["minMember"] != wanted.pods())
            .then(|| format!("minMember is {}, want {}", group["spec"]["minMember"], wanted.pods())),
        (gpus != u64::try_from(wanted.gpus()).ok())
            .then(|| format!("minResources has {gpus:?} GPUs, want {}", wanted.gpus())),
        (group["spec"]["networkTopology"] != *topology)
            .then(|| format!("networkTopology is {}, want {topology}", group["spec"]["networkTopology"])),
        (group["spec"]["scheduleTimeoutSeconds"] != *timeout).then(|| {
            format!("scheduleTimeoutSeconds is {}, want {timeout}", group["spec"]["scheduleTimeoutSeconds"])
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut violations = Vec::new();
    let group_name = text(&group["metadata"]["name"]);
    if !faults.is_empty() {
        let message = format!("PodGroup {group_name}: {}", faults.join(", "));
        violations.push(violation(WRONG_PODGROUP, message).shown_by_object("at the end", group));
    }
    let target = history.header.target;
    violations.extend(pods_of(&end, name).filter(|pod| joined(target, *pod) != Some(group_name)).map(
        |pod| {
            let message = format!("Pod {} does not join PodGroup {group_name}", pod.name());
            violation(NO_MEMBER, message).shown_by_object("at the end", pod.0)
        },
    ));
    none(violations)
}

/// Each Job with several pods has a Workload and a PodGroup, which the pods joined at creation (TRN-15).
pub(crate) fn each_job_is_a_gang(history: &History, name: &str) -> Ruling {
    let (wanted, end) = (train_job(history, name)?, history.end());
    let mut violations = Vec::new();
    for job in wanted.jobs.iter().filter(|job| job.parallelism > 1) {
        for replica in 0..job.replicas {
            let job_name = format!("{name}-{}-{replica}", job.name);
            let of_job = |kind: &'static str| {
                end.of(kind).filter(|object| is_owned_by(object, "Job", &job_name)).collect::<Vec<_>>()
            };
            let (workloads, groups) = (of_job("Workload"), of_job("PodGroup"));
            let ([_], [group]) = (workloads.as_slice(), groups.as_slice()) else {
                let (workloads, groups) = (workloads.len(), groups.len());
                let message = format!(
                    "Job {job_name} owns {workloads} Workloads and {groups} PodGroups, want one each"
                );
                violations.push(violation(WRONG_NUMBER_OF_PODGROUPS, message));
                continue;
            };
            let size = &group["spec"]["schedulingPolicy"]["gang"]["minCount"];
            if *size != job.parallelism {
                let message =
                    format!("PodGroup of Job {job_name}: minCount is {size}, want {}", job.parallelism);
                violations.push(violation(WRONG_PODGROUP, message).shown_by_object("at the end", group));
            }
            let is_created_for_job = |version: &Version<'_>| {
                version.change == Change::Added && version.label("job-name") == Some(job_name.as_str())
            };
            let outside = history.pods().filter(is_created_for_job).filter(|version| {
                version.object["spec"]["schedulingGroup"]["podGroupName"] != group["metadata"]["name"]
            });
            violations.extend(outside.map(|version| {
                let message = format!("Pod {} was not created in the PodGroup of its Job", version.name());
                violation(NO_MEMBER, message).shown_by("created", version)
            }));
        }
    }
    none(violations)
}

/// At the end, a TrainJob has at most one PodGroup per unit (TRN-12).
pub(crate) fn has_one_gang_each(history: &History, name: &str) -> Ruling {
    let (units, end) = (units(history, name)?.len(), history.end());
    let found: Vec<_> = pod_groups(history, &end).map(|group| text(&group["metadata"]["name"])).collect();
    ensure(found.len() <= units, || {
        violation(
            WRONG_NUMBER_OF_PODGROUPS,
            format!("TrainJob {name} has more PodGroups than gangs: {}", found.join(", ")),
        )
    })
}

pub(super) fn is_pod_group(history: &History, kind: &str) -> bool {
    let kinds = schedulers::of(history.header.target).kinds();
    kinds.contains(&kind) && kind.starts_with("PodGroup")
}

fn pod_groups<'a>(history: &'a History, live: &'a Live) -> impl Iterator<Item = &'a Value> {
    live.all().filter(|object| {
        is_pod_group(history, text(&object["kind"]))
            && !is_of_canary(object)
            && !schedulers::is_canary_remnant(object)
    })
}

pub(super) fn is_owned_by(object: &Value, kind: &str, name: &str) -> bool {
    let owners = list(&object["metadata"]["ownerReferences"]);
    owners.iter().any(|owner| owner["kind"] == kind && owner["name"] == name)
}

#[cfg(test)]
#[path = "gangs_tests.rs"]
mod tests;
