//! TrainJobs of the Kubeflow Trainer: which pods were bound, which gang resources were created, and what pods
//! contain.

use std::collections::BTreeSet;

use conformance_contract::clauses::Feature;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_expect::train_job::{TrainJob, TrainUnit};
use conformance_history::{Change, History, Live, Pod, SharedMark, Version, is_of_canary, list, text};
use serde_json::Value;

use super::binding::{BOUND_IN_PART, NOT_BOUND_WHOLE, WRONG_NUMBER_OF_WHOLE_GANGS, bindings, in_part};
use super::{Shown, all, ensure, none, placement, violation};

/// The pod label with the name of the JobSet, which is the TrainJob's name.
const JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";
/// The pod label with the name of the replicated Job.
const REPLICATED_JOB: &str = "jobset.sigs.k8s.io/replicatedjob-name";
/// The label with KAI's queue, on pods and TrainJobs.
pub const QUEUE: &str = "kai.scheduler/queue";

/// A pod has the wrong queue label, or should not have one.
const WRONG_QUEUE: Code = Code::new("wrong-queue");
const WRONG_SCHEDULER: Code = Code::new("wrong-scheduler");
const LABEL_LOST: Code = Code::new("label-lost");
const GANG_MADE_BY_THE_TRAINER: Code = Code::new("gang-made-by-the-trainer");
/// The PodGroup of a TrainJob is missing, or there are several.
pub const WRONG_NUMBER_OF_PODGROUPS: Code = Code::new("wrong-number-of-podgroups");
/// The PodGroup of a TrainJob does not match its gang.
pub const WRONG_PODGROUP: Code = Code::new("wrong-podgroup");
/// A pod does not name its gang.
pub const NO_MEMBER: Code = Code::new("no-member");
const SILENT_ABOUT_PENDING: Code = Code::new("silent-about-pending");
const REPLACEMENT_UNBOUND: Code = Code::new("replacement-unbound");
const BYSTANDER_MOVED: Code = Code::new("bystander-moved");
/// A bound pod was evicted although its TrainJob was not deleted.
pub const EVICTED: Code = Code::new("evicted");
const POD_WHILE_SUSPENDED: Code = Code::new("pod-while-suspended");
const POD_GONE: Code = Code::new("pod-gone");
const FORBIDDEN: Code = Code::new("forbidden");

/// A TrainJob that its case has submitted, with its runtime.
pub fn train_job(history: &History, name: &str) -> Result<TrainJob, Broken> {
    Ok(TrainJob::of(runtime(history, name)?, history.submitted(name)?))
}

/// The runtime of a TrainJob that its case has submitted.
fn runtime<'a>(history: &'a History, name: &str) -> Result<&'a Value, Broken> {
    let called = text(&history.submitted(name)?["spec"]["runtimeRef"]["name"]);
    history.submitted(&format!("runtime {called}"))
}

/// The units of a TrainJob, as the target declares them.
pub fn units(history: &History, name: &str) -> Result<Vec<TrainUnit>, Broken> {
    let is_atomic = history.header.target.declares(Feature::AtomicTrainJob);
    Ok(train_job(history, name)?.units(is_atomic))
}

fn is_of(pod: Pod<'_>, unit: &TrainUnit) -> bool {
    let job = pod.label(REPLICATED_JOB);
    pod.label(JOB_SET) == Some(&unit.train_job) && unit.jobs.iter().any(|(name, _)| job == Some(name))
}

fn bound<'a>(live: &'a Live, unit: &'a TrainUnit) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(move |pod| is_of(*pod, unit) && pod.node().is_some() && !pod.is_terminating())
}

/// Each unit is bound whole.
pub fn whole(live: &Live, units: &[TrainUnit]) -> Ruling {
    none(units.iter().filter_map(|unit| {
        let bound = bound(live, unit).count();
        (bound != unit.pods()).then(|| {
            violation(
                NOT_BOUND_WHOLE,
                format!("{unit} is not fully bound: {bound} of {} pods are bound", unit.pods()),
            )
        })
    }))
}

/// No pod of these units was bound before the entry `until`, or before the end if `None`. Returns
/// `NotReached` if a unit never had pods.
pub fn never(history: &History, units: &[TrainUnit], until: Option<usize>) -> Ruling {
    let until = until.unwrap_or(history.entries.len());
    let mut violations = Vec::new();
    for unit in units {
        let is_its = |version: &Version<'_>| version.index < until && is_of(version.pod(), unit);
        if !history.pods().any(|version| is_its(&version)) {
            return Err(Broken::NotReached(format!("no pod of {unit} ever existed")));
        }
        let bound: Vec<_> = bindings(history).filter(is_its).collect();
        violations.extend(in_part(unit, &bound));
    }
    none(violations)
}

/// A pod or the gang resource of the TrainJob reports why it is not bound, with a message (TRN-19).
pub fn says_why(history: &History, name: &str) -> Ruling {
    let expectations = schedulers::of(history.header.target);
    let has_message = |condition: &Value| !text(&condition["message"]).is_empty();
    let mut pods = history.pods().filter(|version| version.pod().label(JOB_SET) == Some(name));
    let told = pods.any(|version| {
        let condition = version.pod().condition("PodScheduled");
        condition.is_some_and(|told| {
            told["status"] == "False" && told["reason"] != "SchedulingGated" && has_message(told)
        })
    });
    let mut gangs = history.versions().filter(|version| is_pod_group(history, version.kind()));
    let told = told
        || gangs.any(|version| {
            let status = &version.object["status"];
            let mut all = list(&status["conditions"]).iter().chain(list(&status["schedulingConditions"]));
            all.any(|condition| expectations.is_refusal(condition) && has_message(condition))
        });
    ensure(told, || {
        let message = format!(
            "TrainJob {name}: no condition of a pod or gang resource ever reported why it is not bound"
        );
        violation(SILENT_ABOUT_PENDING, message)
    })
}

/// Exactly one of these TrainJobs is bound whole at the end (TRN-18).
pub fn one_is_whole(history: &History, names: &[&str]) -> Ruling {
    let units = units_of_each(history, names)?;
    let end = history.end();
    let won = units.iter().filter(|units| whole(&end, units).is_ok()).count();
    ensure(won == 1, || {
        let message = format!("{won} of {} TrainJobs are fully bound, want 1", names.len());
        violation(WRONG_NUMBER_OF_WHOLE_GANGS, message)
    })
}

/// No pod of these TrainJobs was ever bound, except of TrainJobs that are bound whole at the end (TRN-03).
pub fn whole_or_never(history: &History, names: &[&str]) -> Ruling {
    let units = units_of_each(history, names)?;
    let end = history.end();
    let lost = units.iter().filter(|units| whole(&end, units).is_err());
    all(lost.map(|units| never(history, units, None)))
}

fn units_of_each(history: &History, names: &[&str]) -> Result<Vec<Vec<TrainUnit>>, Broken> {
    names.iter().map(|name| units(history, name)).collect()
}

/// The replicated Jobs of a TrainJob that do not wait for another one are bound whole (TRN-13).
pub fn first_stage_is_whole(history: &History, live: &Live, name: &str) -> Ruling {
    let train_job = train_job(history, name)?;
    let waits = train_job.jobs.iter().map(|job| job.waits);
    let units = train_job.units(false).into_iter().zip(waits);
    let first: Vec<TrainUnit> = units.filter(|(_, waits)| !waits).map(|(unit, _)| unit).collect();
    whole(live, &first)
}

/// After a scheduler pass, a unit that was never whole has no bound pod.
pub fn whole_or_nothing(history: &History) -> Ruling {
    let names = history.header.submitted.keys().filter(|name| !name.starts_with("runtime "));
    let is_atomic = history.header.target.declares(Feature::AtomicTrainJob);
    // A TrainJob with stages may be partly bound while its later stages do not exist yet; TRN-13 covers that.
    let units = names
        .filter_map(|name| train_job(history, name).ok())
        .flat_map(|train_job| train_job.units(is_atomic && !train_job.has_stages()));
    let units: Vec<_> = units.collect();
    let mut violations = Vec::new();
    for (passed, _) in history.marks(SharedMark::SchedulerPassed) {
        let live = history.before(passed);
        for unit in &units {
            let now = bound(&live, unit).count();
            let ever: BTreeSet<_> = bindings(history)
                .filter(|version| version.index < passed && is_of(version.pod(), unit))
                .map(|version| version.uid().to_owned())
                .collect();
            if now > 0 && now < unit.pods() && ever.len() < unit.pods() {
                let message = format!(
                    "{now} of {} pods of {unit} are bound after a full pass of the scheduler, want all \
                         or none",
                    unit.pods()
                );
                let shown = violation(BOUND_IN_PART, message);
                violations.extend(bound(&live, unit).next().map(|pod| shown.shown_by_object("bound", pod.0)));
            }
        }
    }
    none(violations)
}

fn is_pod_group(history: &History, kind: &str) -> bool {
    let kinds = schedulers::of(history.header.target).kinds();
    kinds.contains(&kind) && kind.starts_with("PodGroup")
}

/// The PodGroups of the target's scheduler, without those of canaries.
fn pod_groups<'a>(history: &'a History, live: &'a Live) -> impl Iterator<Item = &'a Value> {
    live.all().filter(|object| {
        is_pod_group(history, text(&object["kind"]))
            && !is_of_canary(object)
            && !schedulers::is_left_of_a_canary(object)
    })
}

fn controller(object: &Value) -> Option<&Value> {
    list(&object["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true)
}

fn is_owned_by(object: &Value, kind: &str, name: &str) -> bool {
    let owners = list(&object["metadata"]["ownerReferences"]);
    owners.iter().any(|owner| owner["kind"] == kind && owner["name"] == name)
}

/// The pods of a TrainJob as created. Returns `NotReached` if it never had all its pods.
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
pub fn queue_is(history: &History, name: &str, queue: Option<&str>) -> Ruling {
    none(created_pods(history, name)?.into_iter().filter_map(|version| {
        let found = version.pod().label(QUEUE);
        (found != queue).then(|| {
            let message = format!("Pod {} has queue {found:?}, want {queue:?}", version.name());
            violation(WRONG_QUEUE, message).shown_by("created", version)
        })
    }))
}

/// Every pod of a TrainJob was created with the scheduler and the labels of its runtime, and the trainer
/// created no gang resource (TRN-17).
pub fn nothing_but_the_queue(history: &History, name: &str) -> Ruling {
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
        violation(GANG_MADE_BY_THE_TRAINER, message).shown_by("created", version)
    }));
    none(violations)
}

/// KAI's podgrouper created exactly one PodGroup for a TrainJob: a tree of its replicated Jobs, which its
/// pods name when they are bound (TRN-02).
pub fn is_one_tree(history: &History, name: &str) -> Ruling {
    let (wanted, end) = (train_job(history, name)?, history.end());
    let job_set =
        end.get("JobSet", name).ok_or_else(|| Broken::NotReached(format!("JobSet {name} does not exist")))?;
    let called = format!("pg-{name}-{}", text(&job_set["metadata"]["uid"]));
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
    let mut faults = Vec::new();
    let mut differs = |field: String, found: &Value, wanted: Value| {
        if *found != wanted {
            faults.push(format!("{field} is {found}, want {wanted}"));
        }
    };
    differs("name".into(), &group["metadata"]["name"], called.as_str().into());
    let spec = &group["spec"];
    differs("minSubGroup".into(), &spec["minSubGroup"], wanted.jobs.len().into());
    let sub_groups = list(&spec["subGroups"]);
    let sub_group =
        |name: &str| sub_groups.iter().find(|group| group["name"] == name).unwrap_or(&Value::Null);
    for job in &wanted.jobs {
        differs(
            format!("minSubGroup of {}", job.name),
            &sub_group(&job.name)["minSubGroup"],
            job.replicas.into(),
        );
        for replica in 0..job.replicas {
            let leaf = format!("{}-replica-{replica}", job.name);
            differs(format!("minMember of {leaf}"), &sub_group(&leaf)["minMember"], job.parallelism.into());
        }
    }
    let mut violations = Vec::new();
    if !faults.is_empty() {
        let message = format!("PodGroup {called}: {}", faults.join(", "));
        violations.push(violation(WRONG_PODGROUP, message).shown_by_object("at the end", group));
    }
    let unnamed = bindings(history).filter(|version| version.pod().label(JOB_SET) == Some(name));
    let unnamed = unnamed
        .filter(|version| version.object["metadata"]["annotations"]["pod-group-name"] != called.as_str());
    violations.extend(unnamed.map(|version| {
        let message = format!("Pod {} was bound before it named its PodGroup", version.name());
        violation(NO_MEMBER, message).shown_by("bound", version)
    }));
    none(violations)
}

/// The trainer created the PodGroup of a TrainJob for its scheduler, and every pod joins it (TRN-14).
pub fn is_one_pod_group(history: &History, name: &str) -> Ruling {
    let (wanted, end) = (train_job(history, name)?, history.end());
    let found: Vec<_> = pod_groups(history, &end).filter(|group| group["metadata"]["name"] == name).collect();
    let [group] = found.as_slice() else {
        let message = format!("TrainJob {name} has {} PodGroups of its name, want 1", found.len());
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
    if !faults.is_empty() {
        let message = format!("PodGroup {name}: {}", faults.join(", "));
        violations.push(violation(WRONG_PODGROUP, message).shown_by_object("at the end", group));
    }
    let expectations = schedulers::of(history.header.target);
    violations.extend(
        pods_of(&end, name).filter(|pod| expectations.joined_for_trainer(*pod) != Some(name)).map(|pod| {
            let message = format!("Pod {} does not join PodGroup {name}", pod.name());
            violation(NO_MEMBER, message).shown_by_object("at the end", pod.0)
        }),
    );
    none(violations)
}

/// The Job controller created a Workload and a PodGroup for each Job with several pods, and the pods joined
/// at creation (TRN-15).
pub fn each_job_is_a_gang(history: &History, name: &str) -> Ruling {
    let (wanted, end) = (train_job(history, name)?, history.end());
    let mut violations = Vec::new();
    for job in wanted.jobs.iter().filter(|job| job.parallelism > 1) {
        for replica in 0..job.replicas {
            let called = format!("{name}-{}-{replica}", job.name);
            let of_job = |kind: &'static str| {
                end.of(kind).filter(|object| is_owned_by(object, "Job", &called)).collect::<Vec<_>>()
            };
            let (workloads, groups) = (of_job("Workload"), of_job("PodGroup"));
            let ([_], [group]) = (workloads.as_slice(), groups.as_slice()) else {
                let (workloads, groups) = (workloads.len(), groups.len());
                let message =
                    format!("Job {called} owns {workloads} Workloads and {groups} PodGroups, want one each");
                violations.push(violation(WRONG_NUMBER_OF_PODGROUPS, message));
                continue;
            };
            let size = &group["spec"]["schedulingPolicy"]["gang"]["minCount"];
            if *size != job.parallelism {
                let message =
                    format!("PodGroup of Job {called}: minCount is {size}, want {}", job.parallelism);
                violations.push(violation(WRONG_PODGROUP, message).shown_by_object("at the end", group));
            }
            let is_its = |version: &Version<'_>| {
                version.change == Change::Added && version.label("job-name") == Some(called.as_str())
            };
            let outside = history.pods().filter(is_its).filter(|version| {
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

/// A TrainJob has the gang resources of its target, which are one of:
///
/// - one tree from KAI's podgrouper
/// - one gang per Job from the Job controller
/// - one PodGroup from the trainer
pub fn is_its_gang(history: &History, name: &str) -> Ruling {
    let target = history.header.target;
    if target.declares(Feature::QueueLabel) {
        is_one_tree(history, name)
    } else if target.declares(Feature::JobWorkload) {
        each_job_is_a_gang(history, name)
    } else {
        is_one_pod_group(history, name)
    }
}

pub fn is_job_of(job: &Value, name: &str) -> bool {
    job["metadata"]["labels"][JOB_SET] == name
}

pub fn pods_of<'a>(live: &'a Live, name: &str) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(move |pod| pod.label(JOB_SET) == Some(name))
}

/// The PodGroup of a TrainJob was in this queue from its creation. KAI's podgrouper (TRN-06, TRN-21) or the
/// trainer (TRN-26) created it. The check passes without a PodGroup; another check covers its existence.
pub fn pod_group_is_in(history: &History, name: &str, queue: &str) -> Ruling {
    let its = history.versions().filter(|version| {
        let owners = ["JobSet", "TrainJob"];
        let is_its = owners.iter().any(|owner| is_owned_by(version.object, owner, name));
        is_its && is_pod_group(history, version.kind())
    });
    none(its.filter(|version| version.object["spec"]["queue"] != queue).map(|version| {
        let message = format!(
            "PodGroup {} is in queue {}, want {queue}",
            version.name(),
            version.object["spec"]["queue"]
        );
        violation(WRONG_QUEUE, message).shown_by("observed", version)
    }))
}

/// Every pod of a TrainJob that was ever bound was bound in one domain of a level (TRN-05).
pub fn in_one_domain(history: &History, name: &str, key: &str) -> Ruling {
    placement::in_one_domain(history, key, name, |pod| pod.label(JOB_SET) == Some(name))
}

/// The pods of each replicated Job of a TrainJob were bound in one domain. The Jobs may be in different
/// domains (TRN-20).
pub fn each_job_in_one_domain(history: &History, name: &str, key: &str) -> Ruling {
    all(train_job(history, name)?
        .units(false)
        .iter()
        .map(|unit| placement::in_one_domain(history, key, &unit.to_string(), |pod| is_of(pod, unit))))
}

/// After a pod was lost, the TrainJob is whole again, and every other pod kept uid and node (TRN-11).
pub fn is_replaced(history: &History, name: &str) -> Ruling {
    let (lost, mark) = history.reached(SharedMark::PodLost)?;
    let (before, end) = (history.before(lost), history.end());
    let gone = text(&mark.detail["name"]);
    ensure(whole(&end, &units(history, name)?).is_ok(), || {
        violation(
            REPLACEMENT_UNBOUND,
            format!("TrainJob {name} is not fully bound after Pod {gone} was lost"),
        )
    })?;
    let others = before.pods().filter(|pod| pod.label(JOB_SET) == Some(name) && pod.name() != gone);
    none(others.filter_map(|pod| {
        let now = end.get("Pod", pod.name()).map(Pod);
        let same = now.is_some_and(|now| now.uid() == pod.uid() && now.node() == pod.node());
        (!same).then(|| {
            violation(
                BYSTANDER_MOVED,
                format!(
                    "Pod {} was deleted or bound to another node, want it unaffected by the loss of \
                     another pod",
                    pod.name()
                ),
            )
        })
    }))
}

/// No bound pod of a TrainJob was deleted before it succeeded (TRN-25).
pub fn is_not_evicted(history: &History, name: &str) -> Ruling {
    let bound =
        |version: &Version<'_>| version.pod().label(JOB_SET) == Some(name) && version.pod().node().is_some();
    if !history.pods().any(|version| bound(&version)) {
        return Err(Broken::NotReached(format!("no pod of TrainJob {name} was ever bound")));
    }
    let mut told = BTreeSet::new();
    let evicted = history.pods().filter(|version| {
        let goes = version.change == Change::Deleted || version.pod().is_terminating();
        bound(version) && goes && version.object["status"]["phase"] != "Succeeded"
    });
    let evicted = evicted.filter(|version| told.insert(version.uid().to_owned()));
    none(evicted.map(|version| {
        let why = version.pod().condition("DisruptionTarget").map_or("", |told| text(&told["message"]));
        let message = format!("Pod {} was deleted before it had ended: {why}", version.name());
        violation(EVICTED, message).shown_by("deleted", version)
    }))
}

/// The TrainJob has the same pods at the entry `after` as at the entry `before` (TRN-23).
pub fn has_the_same_pods(history: &History, name: &str, before: usize, after: usize) -> Ruling {
    let (before, after) = (history.before(before), history.before(after));
    if pods_of(&before, name).next().is_none() {
        return Err(Broken::NotReached(format!("TrainJob {name} had no pods")));
    }
    let stays = |pod: &Pod<'_>| pods_of(&after, name).any(|other| other.uid() == pod.uid());
    none(pods_of(&before, name).filter(|pod| !stays(pod)).map(|pod| {
        violation(POD_GONE, format!("Pod {} was deleted, want it kept", pod.name()))
            .shown_by_object("before", pod.0)
    }))
}

/// A suspended TrainJob has no pods at the entry `at` (TRN-24).
pub fn has_no_pods(history: &History, name: &str, at: usize) -> Ruling {
    let live = history.before(at);
    none(pods_of(&live, name).map(|pod| {
        let message = format!("Pod {} exists although TrainJob {name} is suspended", pod.name());
        violation(POD_WHILE_SUSPENDED, message).shown_by_object("exists", pod.0)
    }))
}

/// At the end there are no more PodGroups than units (TRN-12).
pub fn has_one_gang_each(history: &History, name: &str) -> Ruling {
    let (units, end) = (units(history, name)?.len(), history.end());
    let found: Vec<_> = pod_groups(history, &end).map(|group| text(&group["metadata"]["name"])).collect();
    ensure(found.len() <= units, || {
        violation(
            WRONG_NUMBER_OF_PODGROUPS,
            format!("TrainJob {name} has more PodGroups than gangs: {}", found.join(", ")),
        )
    })
}

/// No request of the trainer, JobSet or the plugin was denied for missing permissions (TRN-10). `forbidden`
/// comes from the API server's audit log.
pub fn nothing_forbidden(forbidden: &Value) -> Ruling {
    none(list(forbidden).iter().map(|request| {
        let message =
            format!("{} was denied permission to {}", text(&request["user"]), text(&request["action"]));
        violation(FORBIDDEN, message)
    }))
}

#[cfg(test)]
#[path = "train_jobs_tests.rs"]
mod tests;
