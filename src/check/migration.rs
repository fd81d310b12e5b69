//! Checks of the effect of an upgrade on gangs (MIG). Podgroups identify PodGangs, whose names change.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::{Gang, Unit, schedulers};
use conformance_facts::cliques::pods_of;
use conformance_facts::deviation::Deviation;
use conformance_facts::migration::{Fault, differences, migrating, remnants};
use conformance_history::{Change, History, Live, Pod, SharedMark, Version, is_of_canary, list};
use serde_json::Value;

use super::{Shown, binding, deviates, none, violation};

const POD_DELETED: Code = Code::new("bound-pod-deleted");
const POD_MOVED: Code = Code::new("bound-pod-moved");
const POD_RESTARTED: Code = Code::new("bound-pod-restarted");
const POD_STOPPED: Code = Code::new("bound-pod-stopped");
const SET_DELETED: Code = Code::new("pod-clique-set-deleted");
const LABELLED_TOO_EARLY: Code = Code::new("labelled-too-early");
const JOINED_TOO_EARLY: Code = Code::new("joined-too-early");
const UNGATED_TOO_EARLY: Code = Code::new("ungated-too-early");
const IN_TWO_GANGS: Code = Code::new("in-two-gangs");
const OLD_GANG_LEFT: Code = Code::new("old-gang-left");
const IN_NO_GANG: Code = Code::new("in-no-gang");
const JOINS_MISSING_GANG_RESOURCE: Code = Code::new("joins-missing-gang-resource");
const NO_OWNER: Code = Code::new("no-owner");
const STILL_MIGRATING: Code = Code::new("still-migrating");
const OTHER_GANGS: Code = Code::new("other-gangs");
const OTHER_PODS: Code = Code::new("other-pods");
const DISTURBED: Code = Code::new("disturbed");

/// Requires that the upgrade keeps bound pods (MIG-01). `NotReached` if no pod was bound at the start.
pub fn untouched(history: &History, part: Range<usize>) -> Ruling {
    let before = history.before(part.start);
    let is_up = |pod: &Pod<'_>| pod.node().is_some() && !pod.is_terminating();
    // The last version of each pod. `None` after a violation, so that each pod is reported once.
    let mut bound: BTreeMap<&str, Option<&Value>> =
        before.pods().filter(is_up).map(|pod| (pod.uid(), Some(pod.0))).collect();
    if bound.is_empty() {
        return Err(Broken::NotReached("no pod was bound when the upgrade started".into()));
    }
    let mut violations = Vec::new();
    for version in history.pods().filter(|version| part.contains(&version.index)) {
        match bound.get_mut(version.uid()) {
            Some(last) => {
                let Some(was) = last.replace(version.object) else {
                    *last = None;
                    continue;
                };
                if let Some(disturbance) = disturbance(Pod(was), version) {
                    *last = None;
                    violations.push(disturbance.shown_by_object("before", was).shown_by("after", version));
                }
            }
            None if version.change != Change::Deleted && is_up(&version.pod()) => {
                bound.insert(version.uid(), Some(version.object));
            }
            None => {}
        }
    }
    let sets = history.of("PodCliqueSet").filter(|version| {
        let existed = before.get("PodCliqueSet", version.name()).is_some();
        part.contains(&version.index) && existed && !is_of_canary(version.object)
    });
    let ended = sets.filter(|version| version.change == Change::Deleted || version.pod().is_terminating());
    let ended = ended.map(|version| {
        violation(SET_DELETED, format!("PodCliqueSet {} was deleted during the upgrade", version.name()))
            .shown_by("observed", version)
    });
    none(violations.into_iter().chain(ended))
}

fn disturbance(was: Pod<'_>, now: Version<'_>) -> Option<Violation> {
    let (pod, name) = (now.pod(), now.name());
    let is_ready = |pod: Pod<'_>| pod.condition("Ready").is_some_and(|ready| ready["status"] == "True");
    let found = |code, what: &str| {
        Some(violation(code, format!("Pod {name} was bound before the upgrade, but {what}")))
    };
    if now.change == Change::Deleted {
        return found(POD_DELETED, "it was deleted");
    }
    if pod.is_terminating() {
        return found(POD_DELETED, "it is being deleted");
    }
    if pod.node() != was.node() {
        return found(POD_MOVED, "it is now on another node");
    }
    if restarts(pod) > restarts(was) {
        return found(POD_RESTARTED, "one of its containers was restarted");
    }
    if was.0["status"]["phase"] == "Running" && pod.0["status"]["phase"] != "Running"
        || is_ready(was) && !is_ready(pod)
    {
        return found(POD_STOPPED, "it is no longer Running and Ready");
    }
    None
}

fn restarts(pod: Pod<'_>) -> u64 {
    let status = &pod.0["status"];
    let containers = ["initContainerStatuses", "containerStatuses"].map(|field| list(&status[field]));
    containers.into_iter().flatten().filter_map(|container| container["restartCount"].as_u64()).sum()
}

/// The ranges of resourceVersions in which each object existed.
struct Lifetimes<'a>(BTreeMap<(&'a str, &'a str), Vec<Range<u64>>>);

impl<'a> Lifetimes<'a> {
    fn of(history: &'a History) -> Self {
        let mut lifetimes: BTreeMap<_, Vec<Range<u64>>> = BTreeMap::new();
        for version in history.versions() {
            let lifetimes = lifetimes.entry((version.kind(), version.name())).or_default();
            match (version.change, lifetimes.last_mut()) {
                (Change::Deleted, Some(last)) => last.end = version.revision(),
                (Change::Deleted, None) => {}
                (_, Some(last)) if last.end == u64::MAX => {}
                _ => lifetimes.push(version.revision()..u64::MAX),
            }
        }
        Self(lifetimes)
    }

    fn exists(&self, kind: &str, name: &str, at: u64) -> bool {
        self.0.get(&(kind, name)).is_some_and(|lifetimes| lifetimes.iter().any(|life| life.contains(&at)))
    }
}

/// Requires that pods join only existing PodGangs and gang resources (MIG-02). The creation of pods is not
/// checked, because new pods are gated.
pub fn joins_what_exists(history: &History, part: Range<usize>) -> Ruling {
    let expectations = schedulers::of(history.header.target);
    let resource = expectations.kinds().last().copied();
    let lifetimes = Lifetimes::of(history);
    let mut last: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut violations = Vec::new();
    for now in history.pods() {
        let Some(was) = last.insert(now.uid(), now) else { continue };
        if !part.contains(&now.index) || now.change == Change::Deleted {
            continue;
        }
        let at = now.revision();
        let lacks = |kind: &str, name: &str| !lifetimes.exists(kind, name, at);
        let gang = now.label(names::POD_GANG);
        let mut add_violation = |code, kind: &str, name: &str, doing: &str| {
            let message = format!("Pod {} {doing} {kind} {name}, which did not exist yet", now.name());
            violations.push(violation(code, message).shown_by("before", was).shown_by("changed", now));
        };
        if let Some(gang) = gang.filter(|_| gang != was.label(names::POD_GANG))
            && lacks("PodGang", gang)
        {
            add_violation(LABELLED_TOO_EARLY, "PodGang", gang, "was labelled with");
        }
        let group = expectations.named_by(now.pod());
        if let (Some(kind), Some(group)) = (resource, group)
            && Some(group) != expectations.named_by(was.pod())
            && lacks(kind, group)
        {
            add_violation(JOINED_TOO_EARLY, kind, group, "joined");
        }
        let is_gated = |version: Version<'_>| version.pod().gates().contains(&names::GATE);
        if is_gated(was) && !is_gated(now) {
            let needed = [gang.map(|gang| ("PodGang", gang)), resource.zip(group)];
            for (kind, name) in needed.into_iter().flatten().filter(|(kind, name)| lacks(kind, name)) {
                add_violation(UNGATED_TOO_EARLY, kind, name, "lost its gate for");
            }
        }
    }
    none(violations)
}

/// Requires that no [`remnants`] of the old PodGangs exist.
pub fn one_scheme(history: &History, live: &Live) -> Ruling {
    without_faults(remnants(history, live))
}

fn without_faults(found: Vec<Deviation<'_, Fault>>) -> Ruling {
    none(found.into_iter().map(|fault| deviates(code_of(fault.kind), fault)))
}

fn code_of(fault: Fault) -> Code {
    match fault {
        Fault::InTwoGangs => IN_TWO_GANGS,
        Fault::OldGangLeft => OLD_GANG_LEFT,
        Fault::InNoGang => IN_NO_GANG,
        Fault::JoinsNothing => JOINS_MISSING_GANG_RESOURCE,
        Fault::NoOwner => NO_OWNER,
        Fault::OtherGangs => OTHER_GANGS,
        Fault::OtherPods => OTHER_PODS,
    }
}

/// Requires that a pending gang stays pending. Bindings before the upgrade violate AON-02.
pub fn pending_throughout(history: &History, start: usize, units: &[Unit]) -> Ruling {
    binding::was_pending(history, units, start)?;
    let passed = passed_after_upgrade(history);
    binding::never(history, units, passed.as_ref().ok().copied())?;
    passed.map(drop)
}

pub fn bound_after_upgrade(history: &History, start: usize, units: &[Unit]) -> Ruling {
    binding::was_pending(history, units, start)?;
    passed_after_upgrade(history)?;
    binding::whole(&history.end(), units)
}

fn passed_after_upgrade(history: &History) -> Result<usize, Broken> {
    let (ended, _) = history.reached(SharedMark::UpgradeEnded)?;
    let mut passes = history.marks(SharedMark::SchedulerPassed).map(|(passed, _)| passed);
    let passed = passes.find(|passed| *passed > ended);
    passed.ok_or_else(|| {
        Broken::NotReached("the scheduler had not completed a full pass after the upgrade".into())
    })
}

pub fn migrated(live: &Live) -> Ruling {
    none(migrating(live).map(|found| deviates(STILL_MIGRATING, found)))
}

/// Requires that the expected gangs and pods exist, under any PodGang names ([`differences`]).
pub fn composed(live: &Live, set: &str, gangs: &[Gang]) -> Ruling {
    without_faults(differences(live, set, gangs))
}

/// Requires that pods stay bound. A PodClique that was scaled in must keep as many pods as it has replicas.
pub fn bystanders_kept(history: &History, part: Range<usize>, before: &[Gang], after: &[Gang]) -> Ruling {
    let (was, now) = (history.before(part.start), history.before(part.end));
    let bound = |live: &Live, clique: &str| -> BTreeSet<(String, String)> {
        let of_clique = pods_of(live, clique);
        of_clique.filter_map(|pod| Some((pod.uid().to_owned(), pod.node()?.to_owned()))).collect()
    };
    let groups = before.iter().flat_map(|gang| &gang.groups);
    none(groups.filter_map(|group| {
        let same = |other: &&conformance_expect::Group| other.clique == group.clique;
        let after = after.iter().flat_map(|gang| &gang.groups).find(same).map_or(0, |group| group.replicas);
        let (was, now) = (bound(&was, &group.clique), bound(&now, &group.clique));
        let (kept, wanted) = (was.intersection(&now).count(), was.len().min(after));
        (kept < wanted).then(|| {
            let message = format!(
                "{kept} of {} bound pods of PodClique {} were kept, want {wanted}",
                was.len(),
                group.clique
            );
            violation(DISTURBED, message)
        })
    }))
}

#[cfg(test)]
#[path = "migration_tests.rs"]
mod tests;
