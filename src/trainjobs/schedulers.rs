//! The differences between schedulers: how a runtime requests a gang, and how pods join it.

use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_expect::domains::LEVELS;
use conformance_expect::schedulers::{self, volcano};
use conformance_history::Pod;
use serde_json::{Value, json};

/// Annotation of the runtime in a manifest: the node label key of a topology level. A TrainJob must be bound
/// in one domain of this level. The harness translates the annotation for each scheduler.
const REQUIRED_LEVEL: &str = "conformance.grove.io/required-level";

/// Assigns a runtime to the target's scheduler, with the trainer's gang policy for it, if any. A policy in
/// the manifest takes precedence; `null` there means no policy.
pub(crate) fn claim(runtime: &mut Value, target: Target) {
    let level = runtime["metadata"]["annotations"][REQUIRED_LEVEL].as_str().map(str::to_owned);
    let spec = &mut runtime["spec"];
    // The narrowest level is tier 1.
    let tier = level.as_ref().and_then(|level| LEVELS.iter().rev().position(|(_, key)| key == level));
    if let Some(level) = level.filter(|_| target == Target::TRAINJOB_KAI) {
        let annotations = &mut spec["template"]["metadata"]["annotations"];
        annotations["kai.scheduler/topology"] = names::TOPOLOGY.into();
        annotations["kai.scheduler/topology-required-placement"] = level.into();
    }
    let policy = match target.scheduler().name() {
        "volcano" => Some(match tier {
            Some(tier) => {
                json!({"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": tier + 1}}})
            }
            None => json!({"volcano": {}}),
        }),
        // The timeout differs from the defaults of the trainer and of the scheduler.
        "scheduler-plugins-scheduler" => Some(json!({"coscheduling": {"scheduleTimeoutSeconds": 15}})),
        "kai-scheduler" => Some(json!({"kaiScheduler": {"queue": "default-queue"}})),
        _ => None,
    };
    if let (Some(policy), None) = (policy, spec.get("podGroupPolicy")) {
        spec["podGroupPolicy"] = policy;
    }
    for job in spec["template"]["spec"]["replicatedJobs"].as_array_mut().into_iter().flatten() {
        let name = &mut job["template"]["spec"]["template"]["spec"]["schedulerName"];
        if name.is_null() {
            *name = target.backend().into();
        }
    }
}

/// The name of the trainer's gang resource that a pod joins.
pub(crate) fn joined<'a>(target: Target, pod: Pod<'a>) -> Option<&'a str> {
    if target.scheduler() == Scheduler::VOLCANO {
        // The trainer writes only the older of Volcano's two annotations.
        return pod.0["metadata"]["annotations"][volcano::GROUP_NAME].as_str();
    }
    schedulers::of(target).named_by(pod)
}

/// KAI considers a pod only after its podgrouper has added the pod to a gang.
pub(crate) fn considers(target: Target, pod: Pod<'_>) -> bool {
    target.scheduler() != Scheduler::KAI || schedulers::of(target).named_by(pod).is_some()
}
