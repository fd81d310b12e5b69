use std::collections::BTreeSet;

use conformance_check::{Shown, ensure, none, violation};
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Pod, SharedMark, Version, text};

use super::bound::whole;
use super::jobs::{pods_of, units};
use crate::train_job::JOB_SET;

const REPLACEMENT_UNBOUND: Code = Code::new("replacement-unbound");
const OTHER_POD_MOVED: Code = Code::new("bystander-moved");
pub const EVICTED: Code = Code::new("evicted");
const POD_WHILE_SUSPENDED: Code = Code::new("pod-while-suspended");
const POD_DELETED: Code = Code::new("pod-deleted");

/// After the loss of a pod, the TrainJob is whole again, and every other pod kept uid and node (TRN-11).
pub(crate) fn is_replaced(history: &History, name: &str) -> Ruling {
    let (lost, mark) = history.reached(SharedMark::PodLost)?;
    let (before, end) = (history.before(lost), history.end());
    let lost_pod = text(&mark.detail["name"]);
    ensure(whole(&end, &units(history, name)?).is_ok(), || {
        violation(
            REPLACEMENT_UNBOUND,
            format!("TrainJob {name} is not fully bound after Pod {lost_pod} was lost"),
        )
    })?;
    let others = before.pods().filter(|pod| pod.label(JOB_SET) == Some(name) && pod.name() != lost_pod);
    none(others.filter_map(|pod| {
        let now = end.get("Pod", pod.name()).map(Pod);
        let same = now.is_some_and(|now| now.uid() == pod.uid() && now.node() == pod.node());
        (!same).then(|| {
            violation(
                OTHER_POD_MOVED,
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
pub(crate) fn is_not_evicted(history: &History, name: &str) -> Ruling {
    let bound =
        |version: &Version<'_>| version.pod().label(JOB_SET) == Some(name) && version.pod().node().is_some();
    if !history.pods().any(|version| bound(&version)) {
        return Err(Broken::NotReached(format!("no pod of TrainJob {name} was ever bound")));
    }
    let mut seen = BTreeSet::new();
    let evicted = history.pods().filter(|version| {
        let is_deleted = version.change == Change::Deleted || version.pod().is_terminating();
        bound(version) && is_deleted && version.object["status"]["phase"] != "Succeeded"
    });
    let evicted = evicted.filter(|version| seen.insert(version.uid().to_owned()));
    none(evicted.map(|version| {
        let why = version.pod().condition("DisruptionTarget").map_or("", |found| text(&found["message"]));
        let message = format!("Pod {} was deleted before it succeeded: {why}", version.name());
        violation(EVICTED, message).shown_by("deleted", version)
    }))
}

/// The TrainJob has the same pods at the entry `after` as at the entry `before` (TRN-23).
pub(crate) fn has_the_same_pods(history: &History, name: &str, before: usize, after: usize) -> Ruling {
    let (before, after) = (history.before(before), history.before(after));
    if pods_of(&before, name).next().is_none() {
        return Err(Broken::NotReached(format!("TrainJob {name} had no pods")));
    }
    let stays = |pod: &Pod<'_>| pods_of(&after, name).any(|other| other.uid() == pod.uid());
    none(pods_of(&before, name).filter(|pod| !stays(pod)).map(|pod| {
        violation(POD_DELETED, format!("Pod {} was deleted, want it kept", pod.name()))
            .shown_by_object("before", pod.0)
    }))
}

/// A suspended TrainJob has no pods at the entry `at` (TRN-24).
pub(crate) fn has_no_pods(history: &History, name: &str, at: usize) -> Ruling {
    let live = history.before(at);
    none(pods_of(&live, name).map(|pod| {
        let message = format!("Pod {} exists although TrainJob {name} is suspended", pod.name());
        violation(POD_WHILE_SUSPENDED, message).shown_by_object("exists", pod.0)
    }))
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
