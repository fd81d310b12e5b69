use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_facts::health::{is_bound, is_live, is_ready};
use conformance_facts::updates::has_revision_of;
use conformance_history::{Change, History, Live, Mark, Pod, SharedMark, Version, condition, count, text};

use crate::binding::{bindings, others_untouched};
use crate::{Shown, ensure, none, patience, violation};

const WRONG_SCALE_SUBRESOURCE: Code = Code::new("wrong-scale-subresource");
const BELOW_MINIMUM_NOT_REPORTED: Code = Code::new("below-minimum-not-reported");
const CHANGED_THOUGH_REFUSED: Code = Code::new("scaled-though-refused");
const WRONG_POD_DELETED: Code = Code::new("wrong-pod-deleted");
const TOO_FEW_PODS_KEPT: Code = Code::new("too-few-pods-kept");
const WRONG_REPLICA_DELETED: Code = Code::new("wrong-replica-deleted");
const BOUND_FOR_REMOVED_REPLICA: Code = Code::new("bound-for-removed-replica");
const OTHER_REPLICAS: Code = Code::new("other-replicas");

fn is_of(kind: &str, name: &str, pod: Pod<'_>) -> bool {
    let label = match kind {
        "PodClique" => names::POD_CLIQUE,
        "PodCliqueScalingGroup" => names::SCALING_GROUP,
        _ => names::PART_OF,
    };
    pod.label(label) == Some(name)
}

/// Requires that `/scale` has the right replicas, and a selector of exactly the live pods. The mark is
/// `{"kind", "name", "scale"}`.
pub fn scale_is_correct(history: &History, index: usize, mark: &Mark) -> Ruling {
    let live = history.before(index);
    let (kind, name, scale) = (text(&mark.detail["kind"]), text(&mark.detail["name"]), &mark.detail["scale"]);
    let wanted = live.get(kind, name).and_then(|found| count(&found["spec"]["replicas"]));
    let of_target = || live.pods().filter(|pod| is_live(*pod) && is_of(kind, name, *pod));
    let has = match kind {
        "PodClique" => Some(of_target().count()),
        _ => wanted,
    };
    let reported = |part: &str| Some(count(&scale[part]["replicas"]).unwrap_or(0));
    let mut faults = Vec::new();
    if reported("spec") != wanted {
        faults.push(format!("has spec.replicas {:?}, want {wanted:?}", reported("spec")));
    }
    if reported("status") != has {
        faults.push(format!("has status.replicas {:?}, want {has:?}", reported("status")));
    }
    let selector = text(&scale["status"]["selector"]);
    let selected = |pod: &Pod<'_>| is_live(*pod) && selects(selector, *pod);
    let names = |pods: &mut dyn Iterator<Item = Pod<'_>>| {
        pods.map(|pod| pod.name().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let found = names(&mut live.of("Pod").map(Pod).filter(selected));
    let wanted = names(&mut of_target());
    if found != wanted {
        faults.push(format!("selects pods {found:?} with {selector:?}, want {wanted:?}"));
    }
    none(
        faults
            .into_iter()
            .map(|fault| violation(WRONG_SCALE_SUBRESOURCE, format!("/scale of {kind} {name} {fault}"))),
    )
}

fn selects(selector: &str, pod: Pod<'_>) -> bool {
    let terms = || selector.split(',').filter(|term| !term.is_empty());
    let is_satisfied = |term: &str| {
        let Some((key, value)) = term.split_once('=') else { return pod.label(term).is_some() };
        match key.strip_suffix('!') {
            Some(key) => pod.label(key) != Some(value),
            None => pod.label(key) == Some(value.trim_start_matches('=')),
        }
    };
    terms().next().is_some() && terms().all(is_satisfied)
}

/// Checks a scale-in below the minimum. A refused request must change nothing. An accepted one must lead to a
/// reported breach, and may delete only surplus pods. The mark is `{"kind", "name", "replicas", "code"}`.
pub fn below_the_minimum(history: &History, index: usize, mark: &Mark, until: usize) -> Ruling {
    let (kind, name) = (text(&mark.detail["kind"]), text(&mark.detail["name"]));
    let what = format!("{kind} {name} scaled to {}", mark.detail["replicas"]);
    let replicas = |live: &Live| live.get(kind, name).map(|found| found["spec"]["replicas"].clone());
    let (before, after) = (history.before(index), history.before(until));
    let is_refused = mark.detail["code"].as_u64().is_some_and(|code| (400..500).contains(&code));
    if is_refused {
        ensure(replicas(&before) == replicas(&after), || {
            violation(
                CHANGED_THOUGH_REFUSED,
                format!("{what}: the request was refused, but the replicas changed"),
            )
        })?;
    } else {
        let breached = after.get(kind, name).and_then(|found| condition(found, "MinAvailableBreached"));
        ensure(breached.is_some_and(|breached| breached["status"] == "True"), || {
            let found = violation(
                BELOW_MINIMUM_NOT_REPORTED,
                format!("{what}: the request was accepted, but MinAvailableBreached is not True"),
            );
            match after.get(kind, name) {
                Some(object) => found.shown_by_object("after", object),
                None => found,
            }
        })?;
    }
    if is_refused {
        return others_untouched(&history.upto(until), index, &[]);
    }
    let wanted = count(&mark.detail["replicas"]).unwrap_or(0);
    let own: Vec<_> = before.pods().filter(|pod| is_of(kind, name, *pod)).collect();
    let may_be_deleted = |pod: &&Pod<'_>| kind == "PodClique" || is_beyond(name, Some(wanted), **pod);
    let stays = |pod: &Pod<'_>| after.pods().any(|now| now.uid() == pod.uid() && is_live(now));
    let stay = own.iter().filter(|pod| stays(pod)).count();
    ensure(kind != "PodClique" || stay >= wanted.min(own.len()), || {
        violation(
            TOO_FEW_PODS_KEPT,
            format!("{what}: the request was accepted, but only {stay} of {} pods were kept", own.len()),
        )
    })?;
    let deletable: Vec<_> = own.iter().filter(may_be_deleted).map(|pod| pod.name()).collect();
    others_untouched(&history.upto(until), index, &deletable)
}

/// Order of deletion, lowest first: no node, not Ready, old template, youngest.
type DeletionRank = (bool, bool, bool, Reverse<String>);

fn deletion_rank(live: &Live, clique: &str, pod: Pod<'_>) -> DeletionRank {
    let created = text(&pod.0["metadata"]["creationTimestamp"]).to_owned();
    (is_bound(pod), is_ready(pod), is_current(live, clique, pod), Reverse(created))
}

fn is_current(live: &Live, clique: &str, pod: Pod<'_>) -> bool {
    live.get("PodClique", clique).is_some_and(|found| has_revision_of(pod, found))
}

/// Requires that a scale-in deletes pods in the right order. Members of the hard gang stay as long as surplus
/// pods remain. Returns `NotReached` if the PodClique was never scaled in.
pub fn deletion_order_followed(history: &History, clique: &str) -> Ruling {
    let is_member = |pod: Pod<'_>| is_member(history, pod);
    none_deleted_before(history, clique, |before, deleted, kept| {
        let has_surplus = live_pods_of(before, clique).any(|pod| !is_member(pod));
        let is_surplus_first = !is_member(kept) && is_member(deleted);
        let is_first = deletion_rank(before, clique, kept) < deletion_rank(before, clique, deleted);
        is_surplus_first || is_first && !(has_surplus && is_member(kept))
    })
}

/// Requires that a scale-in deletes a pod of an old template before one of the new template that is otherwise
/// equal, regardless of their age (UPD-23). Returns `NotReached` if the PodClique was never scaled in.
pub fn old_deleted_before_new(history: &History, clique: &str) -> Ruling {
    none_deleted_before(history, clique, |before, deleted, kept| {
        let others = |pod: Pod<'_>| (is_member(history, pod), is_bound(pod), is_ready(pod));
        let is_new = |pod: Pod<'_>| is_current(before, clique, pod);
        others(deleted) == others(kept) && is_new(deleted) && !is_new(kept)
    })
}

/// Requires that no scale-in deletes a pod and keeps one that should be deleted first. `is_wrong` gets the
/// state before the scale-in, the deleted pod and the kept pod.
fn none_deleted_before(
    history: &History,
    clique: &str,
    is_wrong: impl Fn(&Live, Pod<'_>, Pod<'_>) -> bool,
) -> Ruling {
    let scalings: Vec<_> = history
        .marks(SharedMark::Scaled)
        .filter(|(_, mark)| mark.detail["name"] == clique)
        .map(|(index, mark)| (index, mark.detail["replicas"].as_u64().unwrap_or(0)))
        .collect();
    let mut violations = Vec::new();
    let mut times = 0;
    for (number, (scaled, to)) in scalings.iter().enumerate() {
        let before = history.before(*scaled);
        let was = before.get("PodClique", clique).and_then(|found| found["spec"]["replicas"].as_u64());
        if was.is_none_or(|was| was <= *to) {
            continue;
        }
        times += 1;
        let until = scalings.get(number + 1).map_or(history.entries.len(), |(next, _)| *next);
        violations.extend(wrong_deletions(history, &before, clique, *scaled..until, &is_wrong));
    }
    none(violations)?;
    match times {
        0 => Err(Broken::NotReached(format!("PodClique {clique} was never scaled in"))),
        _ => Ok(()),
    }
}

fn is_member(history: &History, pod: Pod<'_>) -> bool {
    schedulers::of(history.header.target).named_by(pod).is_some()
}

fn live_pods_of<'a>(live: &'a Live, clique: &'a str) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(move |pod| pod.pod_clique() == Some(clique) && is_live(*pod))
}

fn wrong_deletions(
    history: &History,
    before: &Live,
    clique: &str,
    scaling: Range<usize>,
    is_wrong: &impl Fn(&Live, Pod<'_>, Pod<'_>) -> bool,
) -> Vec<crate::Violation> {
    let pods: Vec<Pod<'_>> = live_pods_of(before, clique).collect();
    let ends: BTreeMap<&str, Version<'_>> = history
        .pods()
        .filter(|version| scaling.contains(&version.index))
        .filter(|version| version.change == Change::Deleted || version.pod().is_terminating())
        .map(|version| (version.uid(), version))
        .collect();
    let stays: Vec<_> = pods.iter().filter(|pod| !ends.contains_key(pod.uid())).collect();
    let deleted = pods.iter().filter_map(|pod| Some((pod, ends.get(pod.uid())?)));
    let wrong = deleted.filter_map(|(pod, end)| {
        let less = stays.iter().find(|other| is_wrong(before, *pod, ***other))?;
        let message = format!(
            "Pod {} was deleted when PodClique {clique} was scaled in, want Pod {} deleted first",
            pod.name(),
            less.name()
        );
        Some(violation(WRONG_POD_DELETED, message).shown_by("deleted", *end).shown_by_object("kept", less.0))
    });
    wrong.collect()
}

pub fn highest_replicas_deleted(history: &History, group: &str, scaled: usize, until: usize) -> Ruling {
    removed_replicas_deleted(&history.before(until), group)?;
    lower_replicas_kept(history, group, scaled, until)
}

pub fn removed_replicas_deleted(live: &Live, group: &str) -> Ruling {
    let size = size_of(live, group);
    none(live.pods().filter(|pod| is_beyond(group, size, *pod)).map(|pod| {
        let message = format!(
            "Pod {} exists, but scaling group {group} has only {} replicas",
            pod.name(),
            describe(size)
        );
        violation(WRONG_REPLICA_DELETED, message).shown_by_object("still exists", pod.0)
    }))
}

fn lower_replicas_kept(history: &History, group: &str, scaled: usize, until: usize) -> Ruling {
    let size = size_at(history, group, until);
    let (before, after) = (history.before(scaled), history.before(until));
    let of_group = |pod: &Pod<'_>| is_live(*pod) && pod.label(names::SCALING_GROUP) == Some(group);
    let kept = before.pods().filter(of_group).filter(|pod| !is_beyond(group, size, *pod));
    let lost = kept.filter(|pod| !after.pods().any(|now| now.uid() == pod.uid() && is_live(now)));
    none(lost.map(|pod| {
        let message =
            format!("Pod {} was deleted, but scaling group {group} keeps the replica of the pod", pod.name());
        violation(WRONG_REPLICA_DELETED, message).shown_by_object("before", pod.0)
    }))
}

/// For a scale-in while a replica is missing. Requires that the highest replicas are deleted by the entry
/// `until` and not created again (UPD-14). If the missing replica was among the highest, a waiting update
/// continues and may delete more pods.
pub fn highest_replicas_stay_deleted(history: &History, group: &str, scaled: usize, until: usize) -> Ruling {
    removed_replicas_deleted(&history.before(until), group)?;
    let size = size_at(history, group, until);
    let (before, start) = (history.before(scaled), history.entries[scaled].at);
    let of_group = |pod: &Pod<'_>| is_live(*pod) && pod.label(names::SCALING_GROUP) == Some(group);
    // The operator may finish creations that are in progress while pods are being deleted.
    let mut known = BTreeSet::new();
    let again = history.pods().filter(|version| known.insert(version.uid()) && version.index > scaled);
    let is_late = |version: &Version<'_>| {
        version.index >= until || version.happened().duration_since(start) > patience(history)
    };
    none(again.filter(|version| is_late(version) && is_beyond(group, size, version.pod())).map(|version| {
        let message = format!(
            "Pod {} was created when scaling group {group} had only {} replicas",
            version.name(),
            describe(size)
        );
        violation(WRONG_REPLICA_DELETED, message).shown_by("created", version)
    }))?;
    let was_bound = |index: usize| {
        let is_of_replica =
            |pod: &Pod<'_>| pod.label(names::SCALING_GROUP_REPLICA_INDEX) == Some(&index.to_string());
        before.pods().filter(of_group).filter(is_of_replica).any(is_bound)
    };
    if (0..size.unwrap_or(0)).all(was_bound) {
        Ok(())
    } else {
        lower_replicas_kept(history, group, scaled, until)
    }
}

fn size_at(history: &History, group: &str, index: usize) -> Option<usize> {
    size_of(&history.before(index), group)
}

fn size_of(live: &Live, group: &str) -> Option<usize> {
    live.get("PodCliqueScalingGroup", group).and_then(|found| count(&found["spec"]["replicas"]))
}

fn describe(size: Option<usize>) -> String {
    size.map_or("no".to_owned(), |size| size.to_string())
}

fn is_beyond(group: &str, size: Option<usize>, pod: Pod<'_>) -> bool {
    let index = pod.label(names::SCALING_GROUP_REPLICA_INDEX).and_then(|index| index.parse::<usize>().ok());
    is_live(pod) && pod.label(names::SCALING_GROUP) == Some(group) && index >= size
}

/// Requires that no pod is bound for a replica that was removed long before, and not added again.
pub fn none_bound_for_removed_replica(history: &History, group: &str) -> Ruling {
    let sizes: Vec<(Version<'_>, usize)> = history
        .named("PodCliqueScalingGroup", group)
        .filter_map(|version| Some((version, count(&version.object["spec"]["replicas"])?)))
        .collect();
    // Returns since when a replica is removed, as of a resourceVersion; `None` if it exists then.
    let removed_since = |index: usize, revision: u64| {
        let until_then = sizes.iter().take_while(|(at, _)| at.revision() <= revision);
        let without: Vec<_> = until_then.map(|(at, size)| (at, *size <= index)).collect();
        let first = without.iter().rposition(|(_, is_removed)| !is_removed).map_or(0, |last| last + 1);
        without.get(first).map(|(at, _)| at.at)
    };
    none(bindings(history).filter_map(|version| {
        let pod = version.pod();
        let index: usize = pod.label(names::SCALING_GROUP_REPLICA_INDEX)?.parse().ok()?;
        pod.label(names::SCALING_GROUP).filter(|label| *label == group)?;
        let created = history.pods().find(|created| created.uid() == version.uid())?;
        let removed = removed_since(index, created.revision())?;
        removed_since(index, version.revision())?;
        let since_removal = created.at.duration_since(removed);
        (since_removal > patience(history)).then(|| {
            let message = format!(
                "Pod {} was created {} s after replica {index} of scaling group {group} was removed, and \
                 was bound",
                pod.name(),
                since_removal.as_secs()
            );
            violation(BOUND_FOR_REMOVED_REPLICA, message).shown_by("bound", version)
        })
    }))
}

pub fn requests_replicas(live: &Live, kind: &str, name: &str, replicas: usize) -> Ruling {
    let found = live.get(kind, name);
    let requested = found.and_then(|found| count(&found["spec"]["replicas"]));
    ensure(requested == Some(replicas), || {
        let requested = requested.map_or("none".to_owned(), |requested| requested.to_string());
        let other = violation(
            OTHER_REPLICAS,
            format!("{kind} {name}: spec.replicas is {requested}, want {replicas}"),
        );
        match found {
            Some(object) => other.shown_by_object("observed", object),
            None => other,
        }
    })
}

#[cfg(test)]
#[path = "scaled_tests.rs"]
mod tests;
