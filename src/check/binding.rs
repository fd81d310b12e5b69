use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use super::refusals::refusals;
use super::{Shown, deviates, ensure, none, precondition, violation};
use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::{Gang, Unit, schedulers};
use conformance_facts::binding::{bound_pods, not_fully_bound};
use conformance_history::{History, Live, MarkName, Pod, SharedMark, Version, counted_pods, text};

pub const NOT_BOUND_WHOLE: Code = Code::new("not-bound-whole");
pub const PODS_UNBOUND: Code = Code::new("pods-unbound");
pub const BOUND_IN_PART: Code = Code::new("bound-in-part");
const SILENT_ABOUT_PENDING: Code = Code::new("silent-about-pending");
pub const WRONG_NUMBER_OF_WHOLE_GANGS: Code = Code::new("wrong-number-of-whole-gangs");
pub(super) const BOUND_BEFORE_BASE: Code = Code::new("bound-before-base");
pub const WRONG_NUMBER_OF_BOUND_PODS: Code = Code::new("wrong-number-of-bound-pods");
const REPLACEMENT_UNBOUND: Code = Code::new("replacement-unbound");
const NOT_REPLACED: Code = Code::new("not-replaced");
const BYSTANDER_DELETED: Code = Code::new("bystander-deleted");
const BYSTANDER_MOVED: Code = Code::new("bystander-moved");
const BOUND_OUTSIDE_POOL: Code = Code::new("bound-outside-pool");

pub fn bindings(history: &History) -> impl Iterator<Item = Version<'_>> {
    let mut bound = BTreeSet::new();
    history
        .pods()
        .filter(move |version| version.pod().node().is_some() && bound.insert(version.uid().to_owned()))
}

/// Requires that the units were pending after a scheduler pass. A bound pod is a violation of AON-02.
pub fn was_pending(history: &History, units: &[Unit], until: usize) -> Ruling {
    let (passed, _) = history.reached(SharedMark::SchedulerPassed)?;
    if passed >= until {
        return Err(Broken::NotReached("the scheduler had not completed a full pass".into()));
    }
    precondition("AON-02", never(history, units, Some(until)))
}

pub fn scheduler_passed(history: &History) -> Ruling {
    history.reached(SharedMark::SchedulerPassed).map(drop)
}

fn bindings_of<'a>(
    history: &'a History,
    cliques: &'a [(String, usize)],
) -> impl Iterator<Item = Version<'a>> {
    bindings(history).filter(|version| {
        let clique = version.pod().pod_clique();
        cliques.iter().any(|(name, _)| clique == Some(name))
    })
}

pub fn whole(live: &Live, units: &[Unit]) -> Ruling {
    none(not_fully_bound(live, units).map(|short| deviates(NOT_BOUND_WHOLE, short)))
}

/// Requires that all pods are bound, including surplus.
pub fn all(live: &Live, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().flat_map(|gang| &gang.groups).filter_map(|group| {
        let bound = bound_pods(live, &group.clique);
        (bound < group.replicas).then(|| {
            violation(
                PODS_UNBOUND,
                format!(
                    "{bound} of {} pods of PodClique {} are bound, want all",
                    group.replicas, group.clique
                ),
            )
        })
    }))
}

/// Requires that no pod of the units was ever bound. Returns `NotReached` if a unit never had pods.
pub fn never(history: &History, units: &[Unit], until: Option<usize>) -> Ruling {
    let until = until.unwrap_or(history.entries.len());
    let before = |version: &Version<'_>| version.index < until;
    let mut violations = Vec::new();
    for unit in units {
        let seen = history.pods().filter(before).any(|version| {
            unit.minimums.iter().any(|(clique, _)| version.pod().pod_clique() == Some(clique))
        });
        if !seen {
            return Err(Broken::NotReached(format!("no pod of {unit} ever existed")));
        }
        let bound: Vec<_> = bindings_of(history, &unit.minimums).filter(before).collect();
        violations.extend(in_part(unit, &bound));
    }
    none(violations)
}

/// Like [`never`], until this mark, which must be reached.
pub fn never_until(history: &History, units: &[Unit], mark: impl Into<MarkName>) -> Ruling {
    let reached = history.reached(mark);
    let until = reached.as_ref().ok().map(|(place, _)| *place);
    super::all([never(history, units, until), reached.map(drop)])
}

pub fn in_part(unit: &impl Display, bound: &[Version<'_>]) -> Option<Violation> {
    if bound.is_empty() {
        return None;
    }
    let pods = counted_pods(bound.len());
    let message = format!("{unit} had {pods} bound, want 0 because the pods did not all fit");
    Some(bound.iter().fold(violation(BOUND_IN_PART, message), |violation, version| {
        let node = version.pod().node().unwrap_or_default();
        violation.shown_by(format!("bound to Node {node}"), *version)
    }))
}

pub fn reports_why_pending(history: &History, gang: &Gang) -> Ruling {
    let all = refusals(history, gang);
    ensure(all.iter().any(|(_, condition)| !text(&condition["message"]).is_empty()), || {
        violation(
            SILENT_ABOUT_PENDING,
            format!("no condition of a pod or gang resource reported why PodGang {} is not bound", gang.name),
        )
    })
}

/// Requires that `winners` gangs are fully bound at `until`, and the others never had a bound pod (AON-04).
pub fn some_whole_others_never(
    history: &History,
    gangs: &[Vec<Unit>],
    winners: usize,
    until: Option<usize>,
) -> Ruling {
    let then = history.before(until.unwrap_or(history.entries.len()));
    let (won, lost): (Vec<_>, Vec<_>) = gangs.iter().partition(|units| whole(&then, units).is_ok());
    ensure(won.len() == winners, || {
        violation(
            WRONG_NUMBER_OF_WHOLE_GANGS,
            format!("{} of {} gangs are fully bound, want {winners}", won.len(), gangs.len()),
        )
    })?;
    lost.into_iter().try_for_each(|units| never(history, units, until))
}

/// Requires that a pod of a scaled PodGang was bound only after its base PodGang had its minimums bound.
pub fn base_first(history: &History, gangs: &[Gang]) -> Ruling {
    let mut bound: BTreeMap<&str, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    // Bindings arrive in the order of their resourceVersions, because they are all of one kind.
    for version in bindings(history) {
        let pod = version.pod();
        let clique = pod.pod_clique().unwrap_or_default();
        *bound.entry(clique).or_default() += 1;
        let is_of = |gang: &&Gang| gang.groups.iter().any(|group| group.clique == clique);
        let Some(scaled) = gangs.iter().filter(|gang| !gang.is_base).find(is_of) else { continue };
        let is_its_base =
            |gang: &&Gang| gang.is_base && gang.set == scaled.set && gang.replica == scaled.replica;
        let missing = gangs
            .iter()
            .filter(is_its_base)
            .flat_map(|gang| gang.groups.iter().map(move |group| (gang, group)))
            .find(|(_, group)| bound.get(group.clique.as_str()).copied().unwrap_or(0) < group.min);
        if let Some((base, group)) = missing {
            violations.push(
                violation(
                    BOUND_BEFORE_BASE,
                    format!(
                        "Pod {} of scaled PodGang {} was bound before PodClique {} of base PodGang {} had \
                         {} bound pods",
                        pod.name(),
                        scaled.name,
                        group.clique,
                        base.name,
                        group.min
                    ),
                )
                .shown_by("bound", version),
            );
        }
    }
    none(violations)
}

/// Requires that a unit with a bound pod is fully bound at the end. Surplus pods also count as bound.
pub fn all_or_nothing(history: &History, units: &[Unit]) -> Ruling {
    let end = history.end();
    units
        .iter()
        .filter(|unit| bindings_of(history, &unit.minimums).next().is_some())
        .try_for_each(|unit| whole(&end, std::slice::from_ref(unit)))
}

pub fn exactly(live: &Live, clique: &str, count: usize) -> Ruling {
    let bound = bound_pods(live, clique);
    ensure(bound == count, || {
        violation(
            WRONG_NUMBER_OF_BOUND_PODS,
            format!("PodClique {clique} has {} bound, want {count}", counted_pods(bound)),
        )
    })
}

/// Returns the hard gang as a unit, regardless of what the target guarantees.
pub fn hard_gang(gang: &Gang) -> Unit {
    let minimums = gang.groups.iter().map(|group| (group.clique.clone(), group.min)).collect();
    Unit { gang: gang.name.clone(), minimums }
}

/// Requires a bound pod, created after `since`, with the lost pod's index: several pods may have been lost.
pub fn replaced(history: &History, since: usize, lost: &str) -> Ruling {
    succeeded(history, since, lost, &[names::POD_GANG, names::POD_CLIQUE, names::POD_INDEX], true)
}

/// Like [`replaced`], with any index (AON-11).
pub fn replaced_in_gang(history: &History, since: usize, lost: &str) -> Ruling {
    succeeded(history, since, lost, &[names::POD_GANG, names::POD_CLIQUE], true)
}

/// Like [`replaced_in_gang`], bound or not (UPD-22).
pub fn rejoined(history: &History, since: usize, lost: &str) -> Ruling {
    succeeded(history, since, lost, &[names::POD_GANG, names::POD_CLIQUE], false)
}

fn succeeded(
    history: &History,
    since: usize,
    lost: &str,
    same_labels: &[&str],
    must_be_bound: bool,
) -> Ruling {
    let before = history.before(since);
    let Some(lost) = before.get("Pod", lost).map(Pod) else {
        return Err(Broken::NotReached(format!("Pod {lost} did not exist before the loss")));
    };
    let expectations = schedulers::of(history.header.target);
    let place = |pod: Pod<'_>| {
        let labels: Vec<_> = same_labels.iter().map(|key| pod.label(key).map(str::to_owned)).collect();
        (labels, expectations.named_by(pod).map(str::to_owned))
    };
    let is_new = |pod: &Pod<'_>| before.pods().all(|other| other.uid() != pod.uid());
    let end = history.end();
    let successors: Vec<_> = end.pods().filter(is_new).filter(|pod| place(*pod) == place(lost)).collect();
    if successors.iter().any(|pod| !must_be_bound || pod.node().is_some()) {
        return Ok(());
    }
    let found = match successors.first() {
        Some(pod) => violation(
            REPLACEMENT_UNBOUND,
            format!("Pod {} replaces Pod {} but is not bound", pod.name(), lost.name()),
        )
        .shown_by_object("not bound", pod.0),
        None => violation(NOT_REPLACED, format!("Pod {} was not replaced in its gang", lost.name())),
    };
    Err(found.shown_by_object("before", lost.0).into())
}

/// Requires that other bound pods stay, except those that were terminating: a kubelet needs time for that.
pub fn others_untouched(history: &History, since: usize, lost: &[&str]) -> Ruling {
    let before = history.before(since);
    let end = history.end();
    let stays = |pod: &Pod<'_>| pod.node().is_some() && !lost.contains(&pod.name()) && !pod.is_terminating();
    none(before.pods().filter(stays).filter_map(|pod| {
        let now = end.pods().find(|other| other.uid() == pod.uid());
        let found = match now {
            None => violation(
                BYSTANDER_DELETED,
                format!("Pod {} was deleted, want it unaffected by the loss of other pods", pod.name()),
            ),
            Some(now) if now.node() != pod.node() => violation(
                BYSTANDER_MOVED,
                format!(
                    "Pod {} was bound to another node, want it unaffected by the loss of other pods",
                    pod.name()
                ),
            ),
            Some(_) => return None,
        };
        Some(found.shown_by_object("before", pod.0))
    }))
}

/// Requires that pods are bound only to nodes of the case's pool, on which its arithmetic relies. A history
/// without a pool, such as a user's, passes.
pub fn on_own_nodes(history: &History) -> Ruling {
    let own: BTreeSet<&str> = history
        .of("Node")
        .filter(|version| version.label(names::POOL).is_some())
        .map(|version| version.name())
        .collect();
    let is_elsewhere =
        |version: &Version<'_>| !own.is_empty() && !own.contains(version.pod().node().unwrap_or_default());
    none(bindings(history).filter(is_elsewhere).map(|version| {
        violation(
            BOUND_OUTSIDE_POOL,
            format!("Pod {} was bound to a node outside the node pool of its case", version.name()),
        )
        .shown_by("bound", version)
    }))
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
