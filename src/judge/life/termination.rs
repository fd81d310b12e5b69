//! Rules for gang termination: when it happens, what it deletes and what it keeps (TERM).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::scopes::{ScalingGroup, Scope, SetReplica};
use conformance_history::{
    Change, History, Live, SharedMark, Version, condition, controller, event_about, event_note, list, name,
    text,
};
use jiff::SignedDuration;
use serde_json::Value;

use super::autoscalers;
use super::breaches::{Breach, Breaches};
use super::census::Census;
use super::generations::{Recycle, recycles};
use super::health::{is_bound, is_live};
use crate::{Shown, ensure, none, violation};

const RECYCLED_UNBREACHED: Code = Code::new("recycled-without-a-breach");
const RECYCLED_EARLY: Code = Code::new("recycled-early");
const RECYCLED_LATE: Code = Code::new("recycled-late");
const NOT_RECYCLED: Code = Code::new("not-recycled");
const RECYCLED_OTHERWISE: Code = Code::new("recycled-too-often-or-not-at-all");
const DELETED_ASIDE: Code = Code::new("deleted-outside-a-recycle");
const RELEASED_UNNAMED: Code = Code::new("released-before-it-was-named");
const NOT_TOLD: Code = Code::new("recycle-not-told");
const LOSS_UNTOLD: Code = Code::new("loss-of-all-not-told");
const TOLD_EARLY: Code = Code::new("recycle-told-to-be-over-early");
const HALF_RECYCLED: Code = Code::new("recycled-in-part-or-too-often");
const NOT_KEPT: Code = Code::new("not-kept-over-a-recycle");

/// API times are truncated to whole seconds.
const ROUNDED: SignedDuration = SignedDuration::from_secs(1);

/// The time a controller has until the first deletion. It is longer on a slow machine.
pub fn patience(history: &History) -> SignedDuration {
    history.allowed(SignedDuration::from_secs(10))
}

/// The terminations of a scope itself. Terminations of a scaling-group replica during one of the whole
/// PodCliqueSet replica are excluded.
pub fn own_recycles<'a>(history: &'a History, replica: &SetReplica, scope: &Scope) -> Vec<Recycle<'a>> {
    let found = recycles(history, scope);
    if *scope == replica.scope() {
        return found;
    }
    let whole = recycles(history, &replica.scope());
    let is_within = |recycle: &Recycle<'_>| {
        let begun = recycle.begun.index;
        whole.iter().any(|whole| (whole.begun.index..=whole.ended.index).contains(&begun))
    };
    found.into_iter().filter(|recycle| !is_within(recycle)).collect()
}

/// A scope is terminated after a breach that lasted for the delay, not earlier, and for no other reason
/// (TERM-02).
pub fn after_the_delay(history: &History, replica: &SetReplica, scope: &Scope, delay: Duration) -> Ruling {
    let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
    let breaches = Breaches::of(history, replica);
    let breaches = breaches.of_scope(scope);
    let recycled = own_recycles(history, replica, scope);
    let leads_to = |breach: &Breach<'_>, recycle: &Recycle<'_>| {
        let begun = recycle.begun.index;
        breach.since.index < begun && breach.until.is_none_or(|until| until.index >= begun)
    };
    let of_recycles = recycled.iter().filter_map(|recycle| {
        let begun = recycle.begun;
        match breaches.iter().find(|breach| leads_to(breach, recycle)) {
            None => {
                let message =
                    format!("{scope} was gang-terminated although its minAvailable was not breached");
                Some(violation(RECYCLED_UNBREACHED, message).shown_by("first deletion", begun))
            }
            Some(breach) => untimely(scope, breach.since, begun, delay, patience(history)),
        }
    });
    let last = history.last_at();
    let of_breaches =
        breaches.iter().filter(|breach| !recycled.iter().any(|recycle| leads_to(breach, recycle)));
    let of_breaches = of_breaches.filter_map(|breach| {
        let lasted = breach.until.map_or(last, |until| until.at).duration_since(breach.since.at);
        (lasted > delay.saturating_add(patience(history))).then(|| {
            let message =
                format!("{scope} was breached for {} s but was not gang-terminated", lasted.as_secs());
            violation(NOT_RECYCLED, message).shown_by("breached since", breach.since)
        })
    });
    none(of_recycles.chain(of_breaches))
}

fn untimely(
    scope: &Scope,
    since: Version<'_>,
    begun: Version<'_>,
    delay: SignedDuration,
    patience: SignedDuration,
) -> Option<Violation> {
    // The recorder may have seen either event late.
    let (most, least) =
        (begun.at.duration_since(since.happened()), begun.happened().duration_since(since.at));
    let (code, after) = if most < delay - ROUNDED {
        (RECYCLED_EARLY, most)
    } else if least > delay.saturating_add(patience) {
        (RECYCLED_LATE, least)
    } else {
        return None;
    };
    let message = format!(
        "{scope} was gang-terminated {:.1} s after its breach, want its terminationDelay of {:.1} s",
        after.as_secs_f64(),
        delay.as_secs_f64()
    );
    Some(violation(code, message).shown_by("breached since", since).shown_by("first deletion", begun))
}

/// A scope was terminated this number of times by itself (TERM-03 to TERM-06).
pub fn times(history: &History, replica: &SetReplica, scope: &Scope, wanted: usize) -> Ruling {
    let found = own_recycles(history, replica, scope);
    ensure(found.len() == wanted, || {
        let message = format!("{scope} was gang-terminated {} times, want {wanted}", found.len());
        let violation = violation(RECYCLED_OTHERWISE, message);
        found.iter().fold(violation, |violation, recycle| violation.shown_by("first deletion", recycle.begun))
    })
}

/// Pods of a replica are deleted only by a termination of the replica or of its scaling-group replicas, or by
/// the harness (TERM-04, TERM-22).
pub fn nothing_else_deleted(history: &History, replica: &SetReplica) -> Ruling {
    let mut excused: BTreeSet<&str> = BTreeSet::new();
    for mark in history.marks(SharedMark::PodLost).map(|(_, mark)| mark) {
        excused.extend(mark.detail["name"].as_str());
    }
    let sizes =
        history.of("PodCliqueScalingGroup").filter_map(|version| version.object["spec"]["replicas"].as_u64());
    let most = sizes.max().and_then(|most| usize::try_from(most).ok()).unwrap_or(0);
    let of_groups = replica
        .groups
        .iter()
        .flat_map(|group| (0..most).map(|index| Scope::GroupReplica { group: group.name.clone(), index }));
    let scopes: Vec<_> = of_groups.chain([replica.scope()]).collect();
    let recycled: BTreeSet<&str> =
        scopes.iter().flat_map(|scope| recycles(history, scope)).flat_map(|recycle| recycle.old).collect();
    let mut seen = BTreeSet::new();
    let ends = history.pods().filter(|version| replica.scope().has(version.pod()));
    let ends = ends.filter(|version| version.change == Change::Deleted || !is_live(version.pod()));
    none(ends.filter(|version| seen.insert(version.uid())).filter_map(|version| {
        let is_excused = excused.contains(version.name()) || recycled.contains(version.uid());
        (!is_excused).then(|| {
            let message = format!(
                "Pod {} was deleted without a gang termination of {}",
                version.name(),
                replica.scope()
            );
            violation(DELETED_ASIDE, message).shown_by("deleted", version)
        })
    }))
}

/// A termination between two entries was completed although the operator was killed during it. Each pod was
/// replaced at least once and at most twice, and at the end all pods exist and are bound (TERM-14).
pub fn replaced_once_or_twice(history: &History, replica: &SetReplica, from: usize, until: usize) -> Ruling {
    let (before, after) = (history.before(from), history.before(until));
    let of_groups = replica
        .groups
        .iter()
        .flat_map(|group| (0..group.replicas).flat_map(|index| group.replica(index).collect::<Vec<_>>()));
    none(replica.standalone.iter().cloned().chain(of_groups).flat_map(|clique| {
        let of = |live: &Live| -> BTreeSet<String> {
            let its = live.pods().filter(|pod| pod.pod_clique() == Some(&clique.name));
            its.map(|pod| pod.uid().to_owned()).collect()
        };
        let (old, left) = (of(&before), of(&after));
        let its = history.pods().filter(|version| version.pod().pod_clique() == Some(&clique.name));
        let made: BTreeSet<&str> =
            its.filter(|version| version.index < until).map(|version| version.uid()).collect();
        let made = made.iter().filter(|uid| !old.contains(**uid)).count();
        let bound =
            after.pods().filter(|pod| pod.pod_clique() == Some(&clique.name) && is_bound(*pod)).count();
        let wanted = clique.replicas;
        let kept = old.intersection(&left).count();
        let faults = [
            (kept > 0).then(|| format!("{kept} pods of PodClique {} were not replaced", clique.name)),
            (made > 2 * wanted).then(|| {
                format!(
                    "{made} pods were created for the {wanted} replicas of PodClique {}, want at most two \
                     per replica",
                    clique.name
                )
            }),
            (bound != wanted || left.len() != wanted).then(|| {
                format!(
                    "PodClique {}: {bound} pods are bound and {} exist, want {wanted}",
                    clique.name,
                    left.len()
                )
            }),
        ];
        faults.into_iter().flatten().map(|fault| violation(HALF_RECYCLED, fault)).collect::<Vec<_>>()
    }))
}

/// A termination keeps the replica's PodGangs, scaling groups, Services, autoscalers and shared claims, and
/// the current replicas of its cliques (TERM-12).
pub fn kept(history: &History, scope: &Scope, recycle: &Recycle<'_>, until: usize) -> Ruling {
    let Scope::Replica { set, index } = scope else { return Ok(()) };
    let settled = settled_before(history, recycle);
    let (before, after) = (history.before(recycle.begun.index), history.before(until));
    let is_its =
        |object: &&Value| is_of_set(object, set) && replica_of(object).is_none_or(|found| found == *index);
    let stays = ["PodGang", "PodCliqueScalingGroup", "Service", autoscalers::KIND];
    let is_kept = |object: &&Value| stays.contains(&text(&object["kind"])) || is_shared_claim(object);
    let gone = settled.all().filter(is_its).filter(is_kept).filter(|object| !is_same(&after, object, "uid"));
    let gone = gone.map(|object| recreated(scope, object));
    none(gone.chain(before.all().filter(is_its).filter_map(|object| {
        let (kind, name) = (text(&object["kind"]), name(object));
        let is_scaled = || {
            let now = after.get(kind, name);
            now.is_none_or(|now| now["spec"]["replicas"] != object["spec"]["replicas"])
        };
        (kind == "PodClique" && is_scaled()).then(|| {
            let fault = format!("PodClique {name} no longer has {} replicas", object["spec"]["replicas"]);
            not_kept(scope, &fault, object)
        })
    })))
}

/// A termination changes no object of another PodCliqueSet replica, by resourceVersion (TERM-27). Autoscalers
/// must only continue to exist, because others write their status.
pub fn other_replicas_untouched(
    history: &History,
    scope: &Scope,
    recycle: &Recycle<'_>,
    until: usize,
) -> Ruling {
    let Scope::Replica { set, index } = scope else { return Ok(()) };
    let settled = settled_before(history, recycle);
    let (before, after) = (history.before(recycle.begun.index), history.before(until));
    let is_of_another =
        |object: &&Value| is_of_set(object, set) && replica_of(object).is_some_and(|found| found != *index);
    let is_autoscaler = |object: &&Value| object["kind"] == autoscalers::KIND;
    let gone = settled.all().filter(is_of_another).filter(is_autoscaler);
    let gone = gone.filter(|object| !is_same(&after, object, "uid")).map(|object| recreated(scope, object));
    let touched = before.all().filter(is_of_another).filter(|object| !is_autoscaler(object));
    let touched = touched.filter(|object| !is_same(&after, object, "resourceVersion")).map(|object| {
        let fault = format!("{} {} of another replica was changed", text(&object["kind"]), name(object));
        not_kept(scope, &fault, object)
    });
    none(gone.chain(touched))
}

/// The objects at the last convergence before a termination. Objects that are deleted with the pods may be
/// deleted before them.
fn settled_before(history: &History, recycle: &Recycle<'_>) -> Live {
    let converged = history.marks(SharedMark::Converged).map(|(place, _)| place);
    let settled = converged.filter(|place| *place < recycle.begun.index).last();
    history.before(settled.unwrap_or(recycle.begun.index))
}

fn is_of_set(object: &Value, set: &str) -> bool {
    object["metadata"]["labels"][names::PART_OF] == set
}

/// The index of the only PodCliqueSet replica that an object belongs to.
fn replica_of(object: &Value) -> Option<usize> {
    object["metadata"]["labels"][names::REPLICA_INDEX].as_str()?.parse().ok()
}

fn is_same(after: &Live, object: &Value, field: &str) -> bool {
    let now = after.get(text(&object["kind"]), name(object));
    now.is_some_and(|now| now["metadata"][field] == object["metadata"][field])
}

fn recreated(scope: &Scope, object: &Value) -> Violation {
    let fault = format!("{} {} was deleted or created again", text(&object["kind"]), name(object));
    not_kept(scope, &fault, object)
}

fn not_kept(scope: &Scope, fault: &str, object: &Value) -> Violation {
    violation(NOT_KEPT, format!("{fault} when {scope} was gang-terminated")).shown_by_object("before", object)
}

/// No pod of a later generation loses its gate before a PodGang refers to it, in the order of the writes
/// (TERM-25).
pub fn named_before_release(history: &History, scope: &Scope) -> Ruling {
    let Some(first) = recycles(history, scope).first().map(|recycle| recycle.begun.revision()) else {
        return Ok(());
    };
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let (mut made, mut released) = (BTreeMap::new(), BTreeSet::new());
    let mut violations = Vec::new();
    for version in history.as_written() {
        if version.kind() == "PodGang" {
            let podgroups = list(&version.object["spec"]["podgroups"]).iter();
            let references = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
            named.insert(
                version.uid(),
                references.filter_map(|reference| reference["name"].as_str()).collect(),
            );
        }
        let pod = version.pod();
        let is_its = version.kind() == "Pod" && !pod.is_canary() && scope.has(pod);
        if !is_its || version.change == Change::Deleted {
            continue;
        }
        let is_late = *made.entry(version.uid()).or_insert(version.revision()) > first;
        let is_released = !pod.gates().contains(&names::GATE) && released.insert(version.uid());
        if is_late && is_released && !named.values().any(|names| names.contains(version.name())) {
            let message = format!("Pod {} lost its gate before a PodGang referred to it", version.name());
            violations.push(violation(RELEASED_UNNAMED, message).shown_by("gate removed", version));
        }
    }
    none(violations)
}

/// Statuses show each termination of a PodCliqueSet replica (TERM-19):
///
/// - `availableReplicas` is one lower until the replica's pods are healthy again
/// - `GangTerminationInProgress` of each scaling group becomes True, and False only when the whole group is
///   healthy
///
/// Grove's API does not use that condition for a termination of a scaling-group replica alone.
pub fn shown_in_statuses(history: &History, replica: &SetReplica) -> Ruling {
    let mut violations = Vec::new();
    for recycle in own_recycles(history, replica, &replica.scope()) {
        let of_groups = replica.groups.iter();
        violations.extend(of_groups.filter_map(|group| termination_said(history, group, &recycle)));
        violations.extend(unavailable_said(history, replica, recycle.begun));
    }
    none(violations)
}

/// A Normal event reports each termination of a PodCliqueSet replica and of its scaling-group replicas, with
/// the index (TERM-31).
pub fn reported_by_events(history: &History, replica: &SetReplica) -> Ruling {
    let mut violations = Vec::new();
    let groups = replica.groups.iter();
    let of_groups = groups.flat_map(|group| {
        (0..group.replicas).map(|index| Scope::GroupReplica { group: group.name.clone(), index })
    });
    for scope in of_groups.chain([replica.scope()]) {
        let (Scope::Replica { index, .. } | Scope::GroupReplica { index, .. }) = &scope;
        for recycle in own_recycles(history, replica, &scope) {
            if !has_event(history, replica, *index, recycle.begun) {
                let message = format!("no Normal event reports the gang termination of {scope}");
                violations.push(violation(NOT_TOLD, message).shown_by("first deletion", recycle.begun));
            }
        }
    }
    none(violations)
}

/// A Warning event `AllScheduledReplicasLost` reports that a PodClique lost its last bound pod (TERM-31).
pub fn all_lost_told(history: &History, clique: &str) -> Ruling {
    let mut bound = BTreeSet::new();
    let mut its = history.pods().filter(|version| version.pod().pod_clique() == Some(clique));
    let lost = its.find(|version| {
        let is_there = version.change != Change::Deleted && is_bound(version.pod());
        if is_there {
            bound.insert(version.uid());
        }
        !is_there && bound.remove(version.uid()) && bound.is_empty()
    });
    let lost =
        lost.ok_or_else(|| Broken::NotReached(format!("PodClique {clique} never lost all of its pods")))?;
    let is_told = history.of("Event").any(|version| {
        let event = version.object;
        event["type"] == "Warning"
            && event["reason"] == "AllScheduledReplicasLost"
            && event_about(event)["name"] == clique
            && version.at.duration_since(lost.at).abs() <= patience(history)
    });
    ensure(is_told, || {
        let message = format!(
            "no Warning event AllScheduledReplicasLost reports that PodClique {clique} lost its last \
                 bound pod"
        );
        violation(LOSS_UNTOLD, message).shown_by("last bound pod lost", lost)
    })
}

/// The kinds whose events may report a termination. Pods are excluded, because the events of schedulers
/// contain numbers.
const TELLING: [&str; 4] = ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique", "PodGang"];

/// Whether a Normal event close to a termination contains the replica's index as a separate word, not inside
/// a name. It must be about the PodCliqueSet or one of its objects.
fn has_event(history: &History, replica: &SetReplica, index: usize, begun: Version<'_>) -> bool {
    let index = index.to_string();
    let mut events = history.of("Event").filter(|version| version.object["type"] == "Normal");
    events.any(|version| {
        let event = version.object;
        let about = event_about(event);
        let mut words = event_note(event).split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let is_near = version.at.duration_since(begun.at).abs() <= patience(history);
        is_near
            && TELLING.contains(&text(&about["kind"]))
            && text(&about["name"]).starts_with(&replica.set)
            && words.any(|word| word == index)
    })
}

/// Whether the object is a claim of more than one PodClique. Other claims may be deleted with their pods.
fn is_shared_claim(object: &Value) -> bool {
    let owner = controller(object).map(|owner| text(&owner["kind"]));
    object["kind"] == "ResourceClaim" && owner.is_some_and(|owner| owner != "PodClique" && owner != "Pod")
}

/// The violation if a scaling group did not report a termination correctly. None is needed if the group was
/// healthy again before a status had to report it.
fn termination_said(history: &History, group: &ScalingGroup, recycle: &Recycle<'_>) -> Option<Violation> {
    const TYPE: &str = "GangTerminationInProgress";
    let begun = recycle.begun;
    let says = |version: &Version<'_>| {
        condition(version.object, TYPE).is_some_and(|found| found["status"] == "True")
    };
    let versions = || {
        history
            .named("PodCliqueScalingGroup", &group.name)
            .filter(|version| version.change != Change::Deleted)
    };
    let near = begun.at.saturating_sub(ROUNDED).unwrap_or(begun.at);
    let Some(on) = versions().find(|version| version.at >= near && says(version)) else {
        if healed_soon(history, group, recycle) {
            return None;
        }
        let message =
            format!("condition {TYPE} of scaling group {} was not True after a gang termination", group.name);
        return Some(violation(NOT_TOLD, message).shown_by("first deletion", begun));
    };
    let Some(off) = versions().find(|version| version.index > on.index && !says(version)) else {
        let message = format!("condition {TYPE} of scaling group {} stayed True", group.name);
        return Some(violation(NOT_TOLD, message).shown_by("True", on));
    };
    let mut census = Census::default();
    for version in history.as_written().into_iter().filter(|version| version.revision() < off.revision()) {
        census.take(version);
    }
    let short = short_member(&census, group)?;
    let message = format!(
        "condition {TYPE} of scaling group {} ended while PodClique {short} was below its minAvailable",
        group.name
    );
    Some(violation(TOLD_EARLY, message).shown_by("ended", off))
}

/// A clique of the group with fewer healthy pods than its minimum.
fn short_member(census: &Census<'_>, group: &ScalingGroup) -> Option<String> {
    let size = census.replicas("PodCliqueScalingGroup", &group.name).unwrap_or(group.replicas);
    let mut members = (0..size).flat_map(|index| group.replica(index).collect::<Vec<_>>());
    members.find(|member| census.healthy(&member.name) < member.min).map(|member| member.name)
}

/// Whether the whole group was healthy again before a status had to report the termination.
fn healed_soon(history: &History, group: &ScalingGroup, recycle: &Recycle<'_>) -> bool {
    let (mut census, soon) = (Census::default(), crate::patience(history));
    for version in history.as_written() {
        if version.at.duration_since(recycle.ended.at) > soon {
            return false;
        }
        census.take(version);
        if version.revision() > recycle.ended.revision() && short_member(&census, group).is_none() {
            return true;
        }
    }
    false
}

/// The violation if `availableReplicas` was never lower from the start of the termination on.
fn unavailable_said(history: &History, replica: &SetReplica, begun: Version<'_>) -> Option<Violation> {
    let available =
        |version: &Version<'_>| version.object["status"]["availableReplicas"].as_u64().unwrap_or(0);
    let earlier =
        || history.named("PodCliqueSet", &replica.set).filter(|version| version.index < begun.index);
    let later = history.named("PodCliqueSet", &replica.set).filter(|version| version.index > begun.index);
    let before = earlier().map(|version| available(&version)).max()?;
    if earlier().last().into_iter().chain(later).any(|version| available(&version) < before) {
        return None;
    }
    let message = format!(
        "PodCliqueSet {} reported {before} available replicas while one was gang-terminated",
        replica.set
    );
    Some(violation(NOT_TOLD, message).shown_by("first deletion", begun))
}

#[cfg(test)]
mod tests {
    use conformance_expect::scopes::replicas;
    use conformance_history::testing::{Story, object, owned};
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::generations::tests::{going, pair, pod, running, scope};
    use super::*;
    use crate::message;

    /// One of two pods is lost. After this many seconds the other one is deleted, and both are created again.
    fn recycled(after: i64) -> Story {
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        lost.later(after).modified(going("b")).added(pod("c", None)).added(pod("d", None))
    }

    fn judged(story: Story) -> Ruling {
        let history = story.end();
        nothing_else_deleted(&history, &pair())?;
        after_the_delay(&history, &pair(), &scope(), Duration::from_secs(2))
    }

    #[test]
    fn in_time() {
        assert_eq!(judged(recycled(2)), Ok(()));
        assert_eq!(judged(recycled(1)), Ok(()), "a second's rounding");
        assert_eq!(times(&recycled(2).end(), &pair(), &scope(), 1), Ok(()));
    }

    #[test]
    fn what_is_told_late_is_in_time_all_the_same() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut lost = pod("a", Some("n"));
        lost["metadata"]["managedFields"] = json!([{"time": at(8)}]);
        lost["status"] = json!({"phase": "Failed"});
        let shown = |second| {
            running().mark(SharedMark::PodLost, json!({"name": "a"})).later(second).modified(lost.clone())
        };
        let recycled = |story: Story| {
            let mut going = going("b");
            going["metadata"]["deletionTimestamp"] = json!(at(10));
            story.modified(going).added(pod("c", None)).added(pod("d", None))
        };
        assert_eq!(judged(recycled(shown(10))), Ok(()), "the loss at 8 s is shown at 10 s");
        assert_eq!(judged(recycled(shown(9).later(20))), Ok(()), "the deletion at 10 s is shown at 29 s");
    }

    #[test]
    fn the_loss_of_all_is_told() {
        let event = |reason: &str, about: &str| {
            let mut event = object("Event", "e");
            event["type"] = json!("Warning");
            event["reason"] = json!(reason);
            event["involvedObject"] = json!({"kind": "PodClique", "name": about});
            event
        };
        let clique = "w-0-a";
        let one = running().deleted(pod("a", Some("n")));
        assert!(matches!(all_lost_told(&one.end(), clique), Err(Broken::NotReached(_))));
        let all =
            || running().deleted(pod("a", Some("n"))).deleted(pod("b", Some("n"))).added(pod("c", None));
        assert_eq!(
            all_lost_told(&all().added(event("AllScheduledReplicasLost", clique)).end(), clique),
            Ok(())
        );
        for wrong in [event("Lost", clique), event("AllScheduledReplicasLost", "w-0-b")] {
            assert!(
                message(all_lost_told(&all().added(wrong).end(), clique)).contains("lost its last bound pod")
            );
        }
    }

    #[test]
    fn not_in_time() {
        assert!(message(judged(recycled(0))).contains("0.0 s after its breach"));
        assert!(message(judged(recycled(13))).contains("13.0 s after its breach"));
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        let waits = lost.later(20).added(object("Event", "e"));
        assert!(message(judged(waits)).contains("was breached for 20 s but was not gang-terminated"));
    }

    #[test]
    fn for_nothing() {
        let story = running().later(5).modified(going("a")).modified(going("b")).added(pod("c", None));
        assert!(message(judged(story)).contains("minAvailable was not breached"));
        assert!(message(times(&recycled(2).end(), &pair(), &scope(), 0)).contains("1 times, want 0"));
        let one = running().modified(going("a")).added(pod("c", Some("n")));
        assert!(message(judged(one)).contains("was deleted without a gang termination of"));
    }

    #[test]
    fn a_pod_that_somebody_else_deletes_is_no_late_recycle() {
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        let evicted = lost.added(pod("c", None)).later(1).modified(going("b")).added(pod("d", None));
        let back = evicted.modified(pod("c", Some("n"))).modified(pod("d", Some("n")));
        let history = back.later(20).added(object("Event", "e")).end();
        assert!(
            message(nothing_else_deleted(&history, &pair()))
                .contains("was deleted without a gang termination of")
        );
        assert_eq!(after_the_delay(&history, &pair(), &scope(), Duration::from_secs(2)), Ok(()));
    }

    #[test]
    fn what_recovered_is_recycled_again() {
        let back = || {
            let again = recycled(2).modified(pod("c", Some("n"))).modified(pod("d", Some("n"))).later(9);
            again.mark(SharedMark::PodLost, json!({"name": "c"})).deleted(pod("c", Some("n")))
        };
        let guarded = back().later(2).modified(going("d")).added(pod("e", None)).added(pod("f", None)).end();
        let unguarded = back().later(20).added(object("Event", "e")).end();
        assert_eq!(after_the_delay(&guarded, &pair(), &scope(), Duration::from_secs(2)), Ok(()));
        assert_eq!(times(&guarded, &pair(), &scope(), 2), Ok(()));
        assert_eq!(times(&unguarded, &pair(), &scope(), 1), Ok(()), "the first time it was");
        let missed = after_the_delay(&unguarded, &pair(), &scope(), Duration::from_secs(2));
        assert!(message(missed).contains("was breached for 20 s but was not gang-terminated"));
    }

    #[test]
    fn a_new_pod_is_named_before_it_is_released() {
        let gated = |name: &str| {
            let mut gated = pod(name, None);
            gated["spec"]["schedulingGates"] = json!([{"name": names::GATE}]);
            gated
        };
        let gang = |named: &[&str]| {
            let mut gang = object("PodGang", "w-0");
            let references: Vec<_> = named.iter().map(|name| json!({"name": name})).collect();
            gang["spec"]["podgroups"] = json!([{"name": "w-0-a", "podReferences": references}]);
            gang
        };
        let anew = |named: &[&str]| {
            let gone = running().modified(going("a")).modified(going("b"));
            gone.added(gated("c")).added(gang(named)).modified(pod("c", None)).end()
        };
        assert_eq!(named_before_release(&anew(&["c"]), &scope()), Ok(()));
        assert!(message(named_before_release(&anew(&["a"]), &scope())).contains("Pod c lost its gate"));
    }

    #[test]
    fn events_and_statuses_report_a_recycle() {
        let told = |history: &History| {
            reported_by_events(history, &pair())?;
            shown_in_statuses(history, &pair())
        };
        let event_of = |kind: &str, note: &str| {
            let mut event = object("Event", "e");
            event["type"] = json!("Normal");
            event["involvedObject"] = json!({"kind": kind, "name": "w"});
            event["message"] = json!(note);
            event
        };
        let pcs = |available: usize| {
            let mut pcs = object("PodCliqueSet", "w");
            pcs["status"]["availableReplicas"] = json!(available);
            pcs
        };
        let story_of = |event: Value, available: usize| {
            let before = Story::flat().added(pcs(1)).added(pod("a", Some("n"))).added(pod("b", Some("n")));
            let gone = before.added(event).modified(going("a")).modified(going("b")).added(pod("c", None));
            gone.modified(pcs(available)).end()
        };
        let story = |note: &str, available: usize| story_of(event_of("PodCliqueSet", note), available);
        assert_eq!(told(&story("replica 0 recycled", 0)), Ok(()));
        let bound = event_of("Pod", "Successfully assigned w-0-a to node-0");
        assert!(message(told(&story_of(bound, 0))).contains("no Normal event"));
        let unreported = story("replica 10 recycled", 0);
        assert!(message(told(&unreported)).contains("no Normal event"));
        assert_eq!(shown_in_statuses(&unreported, &pair()), Ok(()));
        let available = story("replica 0 recycled", 1);
        assert!(message(told(&available)).contains("reported 1 available replicas"));
        assert_eq!(reported_by_events(&available, &pair()), Ok(()));
        let breached = Story::flat().added(pcs(1)).added(pod("a", Some("n"))).added(pod("b", Some("n")));
        let recycled =
            breached.modified(pcs(0)).later(20).added(event_of("PodCliqueSet", "replica 0 recycled"));
        let gone = recycled.modified(going("a")).modified(going("b")).added(pod("c", None)).modified(pcs(1));
        assert_eq!(told(&gone.end()), Ok(()), "it said so since the breach");
    }

    #[test]
    fn a_recycle_that_is_over_at_once_need_not_be_told() {
        let group = json!({"name": "sg", "replicas": 1, "minAvailable": 1, "cliqueNames": ["b"]});
        let template = json!({"cliques": [{"name": "b", "spec": {}}], "podCliqueScalingGroups": [group]});
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": template}});
        let group = replicas(&pcs).remove(0).groups.remove(0);
        let member = |mut pod: Value| {
            let labels = &mut pod["metadata"]["labels"];
            labels[names::POD_CLIQUE] = json!("w-0-sg-0-b");
            labels[names::SCALING_GROUP] = json!("w-0-sg");
            labels[names::SCALING_GROUP_REPLICA_INDEX] = json!("0");
            pod
        };
        let untold = |seconds: i64| {
            let story =
                Story::flat().added(member(pod("a", Some("n")))).later(3).modified(member(going("a")));
            let back =
                story.added(member(pod("c", None))).later(seconds).modified(member(pod("c", Some("n"))));
            let history = back.later(20).added(object("Event", "e")).end();
            let scope = Scope::GroupReplica { group: "w-0-sg".into(), index: 0 };
            let recycle = recycles(&history, &scope).remove(0);
            termination_said(&history, &group, &recycle).is_some()
        };
        assert!(!untold(1) && untold(7));
    }

    #[test]
    fn a_recycle_that_a_crash_cut_short_is_finished() {
        let judged = |story: Story| {
            let history = story.end();
            replaced_once_or_twice(&history, &pair(), 4, history.entries.len())
        };
        let gone = || running().deleted(pod("a", Some("n"))).deleted(pod("b", Some("n")));
        let made = |story: Story, names: &[&str]| {
            names.iter().fold(story, |story, name| story.added(pod(name, Some("n"))))
        };
        assert_eq!(judged(made(gone(), &["c", "d"])), Ok(()));
        let twice = made(gone(), &["c", "d"]).deleted(pod("c", Some("n"))).deleted(pod("d", Some("n")));
        assert_eq!(judged(made(twice, &["e", "f"])), Ok(()));
        let thrice = made(gone(), &["c", "d", "e"]);
        let thrice =
            thrice.deleted(pod("c", Some("n"))).deleted(pod("d", Some("n"))).deleted(pod("e", Some("n")));
        assert!(message(judged(made(thrice, &["f", "g"]))).contains(
            "5 pods were created for the 2 replicas of PodClique w-0-a, want at most two per replica",
        ));
        let half = running().deleted(pod("a", Some("n")));
        assert!(message(judged(made(half, &["c"]))).contains("1 pods of PodClique w-0-a were not replaced"));
        assert!(message(judged(made(gone(), &["c"]))).contains("1 pods are bound and 1 exist, want 2"));
        let going_still = made(gone(), &["c", "d"]).modified(going("d"));
        assert!(message(judged(going_still)).contains("1 pods are bound and 2 exist"));
    }

    #[test]
    fn what_is_kept() {
        let labelled = |mut object: Value, replica: &str| {
            object["metadata"]["labels"] = json!({names::PART_OF: "w", names::REPLICA_INDEX: replica});
            object
        };
        let pclq = |replicas: usize| {
            let mut pclq = labelled(object("PodClique", "w-0-a"), "0");
            pclq["spec"]["replicas"] = json!(replicas);
            pclq
        };
        let before = || {
            let story = running().added(labelled(object("PodGang", "w-0"), "0")).added(pclq(3));
            story.added(labelled(object("Service", "w-1"), "1"))
        };
        let after = |story: Story| story.modified(going("a")).modified(going("b")).added(pod("c", None));
        let judged = |story: Story| {
            let history = story.end();
            let found = recycles(&history, &scope());
            kept(&history, &scope(), &found[0], history.entries.len())
        };
        assert_eq!(judged(after(before())), Ok(()));
        let anew = |object: Value| {
            let mut object = object;
            object["metadata"]["uid"] = json!("another");
            object
        };
        let gang = after(before()).modified(anew(labelled(object("PodGang", "w-0"), "0")));
        assert!(message(judged(gang)).contains("PodGang w-0 was deleted or created again"));
        let converged = before().mark(SharedMark::Converged, json!({"name": "w"}));
        let ahead = after(converged.deleted(labelled(object("PodGang", "w-0"), "0")));
        let ahead = ahead.added(anew(labelled(object("PodGang", "w-0"), "0")));
        assert!(message(judged(ahead)).contains("PodGang w-0 was deleted or created again"));
        let claim = |owner: &str| owned(labelled(object("ResourceClaim", "c"), "0"), owner, "w");
        let claims = |owner: &str| after(before().added(claim(owner))).modified(anew(claim(owner)));
        assert!(
            message(judged(claims("PodCliqueSet"))).contains("ResourceClaim c was deleted or created again")
        );
        assert_eq!(judged(claims("PodClique")), Ok(()), "it may go with its PodClique");
        let smaller = after(before()).modified(anew(pclq(2)));
        assert!(message(judged(smaller)).contains("no longer has 3 replicas"));
        let untouched = |story: Story| {
            let history = story.end();
            let found = recycles(&history, &scope());
            other_replicas_untouched(&history, &scope(), &found[0], history.entries.len())
        };
        assert_eq!(untouched(after(before()).modified(anew(pclq(2)))), Ok(()));
        let other = || after(before()).modified(labelled(object("Service", "w-1"), "1"));
        assert_eq!(judged(other()), Ok(()));
        assert!(message(untouched(other())).contains("Service w-1 of another replica was changed"));
        let autoscaler = || labelled(object(autoscalers::KIND, "w-1-a"), "1");
        let scaled = |last: Value| untouched(after(before().added(autoscaler())).modified(last));
        assert_eq!(scaled(autoscaler()), Ok(()), "its status is others' to write");
        assert!(message(scaled(anew(autoscaler()))).contains("w-1-a was deleted or created again"));
    }
}
