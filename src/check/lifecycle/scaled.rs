//! Scaling: the content of `/scale` (AUTO-02), replicas below the minimum (AUTO-05), the pods that scale-in
//! deletes (AUTO-07, AUTO-15), and many changes at once (AUTO-08).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_facts::health::{is_bound, is_live, is_ready};
use conformance_facts::updates::is_as_asked;
use conformance_history::{Change, History, Live, Mark, Pod, SharedMark, Version, condition, count, text};

use crate::binding::{bindings, others_untouched};
use crate::{Shown, ensure, none, patience, violation};

const SCALE_DIFFERS: Code = Code::new("scale-says-otherwise");
const ADMITTED_IN_SILENCE: Code = Code::new("below-the-minimum-in-silence");
const CHANGED_THOUGH_REFUSED: Code = Code::new("scaled-though-refused");
const WRONG_POD_TAKEN: Code = Code::new("wrong-pod-taken");
const TOO_FEW_STAY: Code = Code::new("too-few-stay");
const WRONG_REPLICA_TAKEN: Code = Code::new("wrong-replica-taken");
const BOUND_FOR_NOTHING: Code = Code::new("bound-for-an-index-that-was-gone");
const OTHER_REPLICAS: Code = Code::new("other-replicas");

/// Whether a pod belongs to this scalable object.
fn is_of(kind: &str, name: &str, pod: Pod<'_>) -> bool {
    let label = match kind {
        "PodClique" => names::POD_CLIQUE,
        "PodCliqueScalingGroup" => names::SCALING_GROUP,
        _ => names::PART_OF,
    };
    pod.label(label) == Some(name)
}

/// Checks the `/scale` subresource in a mark `{"kind", "name", "scale"}`. It reports the right
/// `spec.replicas` and `status.replicas`, and a selector that matches exactly the object's live pods.
pub fn read(history: &History, index: usize, mark: &Mark) -> Ruling {
    let live = history.before(index);
    let (kind, name, scale) = (text(&mark.detail["kind"]), text(&mark.detail["name"]), &mark.detail["scale"]);
    let wanted = live.get(kind, name).and_then(|found| count(&found["spec"]["replicas"]));
    let of_target = || live.pods().filter(|pod| is_live(*pod) && is_of(kind, name, *pod));
    let has = match kind {
        "PodClique" => Some(of_target().count()),
        _ => wanted,
    };
    let said = |of: &str| Some(count(&scale[of]["replicas"]).unwrap_or(0));
    let mut faults = Vec::new();
    if said("spec") != wanted {
        faults.push(format!("has spec.replicas {:?}, want {wanted:?}", said("spec")));
    }
    if said("status") != has {
        faults.push(format!("has status.replicas {:?}, want {has:?}", said("status")));
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
    none(faults.into_iter().map(|fault| violation(SCALE_DIFFERS, format!("/scale of {kind} {name} {fault}"))))
}

/// Whether a label selector matches a pod. An empty selector matches none.
fn selects(selector: &str, pod: Pod<'_>) -> bool {
    let terms = || selector.split(',').filter(|term| !term.is_empty());
    let holds = |term: &str| {
        let Some((key, value)) = term.split_once('=') else { return pod.label(term).is_some() };
        match key.strip_suffix('!') {
            Some(key) => pod.label(key) != Some(value),
            None => pod.label(key) == Some(value.trim_start_matches('=')),
        }
    };
    terms().next().is_some() && terms().all(holds)
}

/// An attempt to scale below the minimum, from its mark `{"kind", "name", "replicas", "code"}` to the entry
/// `until`. If the API server refused it, nothing changed. If it accepted it, the status reports a breach,
/// and only pods beyond the new size were deleted. In both cases the pods of other objects are untouched.
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
        let said = after.get(kind, name).and_then(|found| condition(found, "MinAvailableBreached"));
        ensure(said.is_some_and(|said| said["status"] == "True"), || {
            let found = violation(
                ADMITTED_IN_SILENCE,
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
    let may_go = |pod: &&Pod<'_>| kind == "PodClique" || is_beyond(name, Some(wanted), **pod);
    let stays = |pod: &Pod<'_>| after.pods().any(|now| now.uid() == pod.uid() && is_live(now));
    let stay = own.iter().filter(|pod| stays(pod)).count();
    ensure(kind != "PodClique" || stay >= wanted.min(own.len()), || {
        violation(
            TOO_FEW_STAY,
            format!("{what}: the request was accepted, but only {stay} of {} pods were kept", own.len()),
        )
    })?;
    let gone: Vec<_> = own.iter().filter(may_go).map(|pod| pod.name()).collect();
    others_untouched(&history.upto(until), index, &gone)
}

/// The order of deletion, lowest first: pods without a node, pods that are not Ready, pods of an old
/// template, the youngest.
type Dearness = (bool, bool, bool, Reverse<String>);

fn dearness(live: &Live, clique: &str, pod: Pod<'_>) -> Dearness {
    let is_current = live.get("PodClique", clique).is_some_and(|found| is_as_asked(pod, found));
    let made = text(&pod.0["metadata"]["creationTimestamp"]).to_owned();
    (is_bound(pod), is_ready(pod), is_current, Reverse(made))
}

/// Each time a PodClique was scaled in, no pod was deleted that ranks above a remaining one. If only some of
/// its pods belong to the hard gang, only the others may be deleted. Deletions count until the next scaling.
/// Returns `NotReached` if the PodClique was never scaled in.
pub fn least_dear_go(history: &History, clique: &str) -> Ruling {
    let its: Vec<_> = history
        .marks(SharedMark::Scaled)
        .filter(|(_, mark)| mark.detail["name"] == clique)
        .map(|(index, mark)| (index, mark.detail["replicas"].as_u64().unwrap_or(0)))
        .collect();
    let mut violations = Vec::new();
    let mut times = 0;
    for (number, (scaled, to)) in its.iter().enumerate() {
        let before = history.before(*scaled);
        let was = before.get("PodClique", clique).and_then(|found| found["spec"]["replicas"].as_u64());
        if was.is_none_or(|was| was <= *to) {
            continue;
        }
        times += 1;
        let until = its.get(number + 1).map_or(history.entries.len(), |(next, _)| *next);
        violations.extend(taken(history, &before, clique, *scaled, until));
    }
    none(violations)?;
    match times {
        0 => Err(Broken::NotReached(format!("PodClique {clique} was never scaled in"))),
        _ => Ok(()),
    }
}

fn taken(
    history: &History,
    before: &Live,
    clique: &str,
    scaled: usize,
    until: usize,
) -> Vec<crate::Violation> {
    let expectations = schedulers::of(history.header.target);
    let pods: Vec<Pod<'_>> =
        before.pods().filter(|pod| pod.pod_clique() == Some(clique) && is_live(*pod)).collect();
    let has_place = |pod: &Pod<'_>| expectations.named_by(*pod).is_some();
    let (placed, free): (Vec<_>, Vec<_>) = pods.iter().copied().partition(has_place);
    let candidates = if free.is_empty() { placed } else { free };
    let ends: BTreeMap<&str, Version<'_>> = history
        .pods()
        .filter(|version| (scaled..until).contains(&version.index))
        .filter(|version| version.change == Change::Deleted || version.pod().is_terminating())
        .map(|version| (version.uid(), version))
        .collect();
    let stays: Vec<_> = candidates.iter().filter(|pod| !ends.contains_key(pod.uid())).collect();
    let gone = pods.iter().filter_map(|pod| Some((pod, ends.get(pod.uid())?)));
    let wrong = gone.filter_map(|(pod, end)| {
        let of_pod = dearness(before, clique, *pod);
        let less = stays.iter().find(|other| {
            let is_placed_before_free = has_place(pod) && !has_place(other);
            is_placed_before_free || dearness(before, clique, ***other) < of_pod
        })?;
        let message = format!(
            "Pod {} was deleted when PodClique {clique} was scaled in, want Pod {} deleted first",
            pod.name(),
            less.name()
        );
        Some(violation(WRONG_POD_TAKEN, message).shown_by("deleted", *end).shown_by_object("kept", less.0))
    });
    wrong.collect()
}

/// After a scaling group was scaled in, only its lowest replicas have pods, and these kept theirs.
pub fn highest_go(history: &History, group: &str, scaled: usize, until: usize) -> Ruling {
    let size = size_at(history, group, until);
    let after = history.before(until);
    let beyond = after.pods().filter(|pod| is_beyond(group, size, *pod)).map(|pod| {
        let message =
            format!("Pod {} exists, but scaling group {group} has only {} replicas", pod.name(), said(size));
        violation(WRONG_REPLICA_TAKEN, message).shown_by_object("still exists", pod.0)
    });
    none(beyond)?;
    lower_stay(history, group, scaled, until)
}

/// The remaining replicas kept their pods.
fn lower_stay(history: &History, group: &str, scaled: usize, until: usize) -> Ruling {
    let size = size_at(history, group, until);
    let (before, after) = (history.before(scaled), history.before(until));
    let of_group = |pod: &Pod<'_>| is_live(*pod) && pod.label(names::SCALING_GROUP) == Some(group);
    let kept = before.pods().filter(of_group).filter(|pod| !is_beyond(group, size, *pod));
    let lost = kept.filter(|pod| !after.pods().any(|now| now.uid() == pod.uid() && is_live(now)));
    none(lost.map(|pod| {
        let message = format!("Pod {} was deleted, but scaling group {group} keeps its replica", pod.name());
        violation(WRONG_REPLICA_TAKEN, message).shown_by_object("before", pod.0)
    }))
}

/// A scaling group was scaled in while one of its replicas was missing (UPD-14). The pods of exactly the
/// highest replicas are deleted at once, and none is created there again. If the missing replica was among
/// these, a waiting update continues and may delete further pods.
pub fn highest_go_at_once(history: &History, group: &str, scaled: usize, until: usize) -> Ruling {
    let size = size_at(history, group, until);
    let (before, begun) = (history.before(scaled), history.entries[scaled].at);
    let of_group = |pod: &Pod<'_>| is_live(*pod) && pod.label(names::SCALING_GROUP) == Some(group);
    let beyond = before.pods().filter(of_group).filter(|pod| is_beyond(group, size, *pod));
    let late = beyond.filter_map(|pod| {
        let ends = |version: &Version<'_>| version.change == Change::Deleted || !is_live(version.pod());
        let end = history.pods().find(|version| version.uid() == pod.uid() && ends(version));
        let is_late = end.is_none_or(|end| end.at.duration_since(begun) > patience(history));
        is_late.then(|| {
            let message = format!(
                "Pod {} was not deleted at once when scaling group {group} was scaled in to {} replicas",
                pod.name(),
                said(size)
            );
            violation(WRONG_REPLICA_TAKEN, message).shown_by_object("before", pod.0)
        })
    });
    none(late)?;
    // The operator may finish creations in progress while pods are being deleted.
    let mut known = BTreeSet::new();
    let again = history.pods().filter(|version| known.insert(version.uid()) && version.index > scaled);
    let is_late = |version: &Version<'_>| {
        version.index >= until || version.happened().duration_since(begun) > patience(history)
    };
    none(again.filter(|version| is_late(version) && is_beyond(group, size, version.pod())).map(|version| {
        let message = format!(
            "Pod {} was created when scaling group {group} had only {} replicas",
            version.name(),
            said(size)
        );
        violation(WRONG_REPLICA_TAKEN, message).shown_by("created", version)
    }))?;
    let is_there = |index: usize| {
        let its = |pod: &Pod<'_>| pod.label(names::SCALING_GROUP_REPLICA_INDEX) == Some(&index.to_string());
        before.pods().filter(of_group).filter(its).any(is_bound)
    };
    match (0..size.unwrap_or(0)).all(is_there) {
        true => Ok(()),
        false => lower_stay(history, group, scaled, until),
    }
}

/// The replicas that a scaling group requests.
fn size_at(history: &History, group: &str, index: usize) -> Option<usize> {
    let live = history.before(index);
    live.get("PodCliqueScalingGroup", group).and_then(|found| count(&found["spec"]["replicas"]))
}

fn said(size: Option<usize>) -> String {
    size.map_or("no".to_owned(), |size| size.to_string())
}

/// Whether a live pod belongs to a replica beyond the size of its scaling group.
fn is_beyond(group: &str, size: Option<usize>, pod: Pod<'_>) -> bool {
    let index = pod.label(names::SCALING_GROUP_REPLICA_INDEX).and_then(|index| index.parse::<usize>().ok());
    is_live(pod) && pod.label(names::SCALING_GROUP) == Some(group) && index >= size
}

/// No pod of a scaling group was bound if its replica had long been removed when the pod was created, and was
/// not added again.
pub fn nothing_bound_in_vain(history: &History, group: &str) -> Ruling {
    let sizes: Vec<(Version<'_>, usize)> = history
        .named("PodCliqueScalingGroup", group)
        .filter_map(|version| Some((version, count(&version.object["spec"]["replicas"])?)))
        .collect();
    // The time since which a replica has been removed, as of a resourceVersion.
    let gone_since = |index: usize, revision: u64| {
        let until_then = sizes.iter().take_while(|(at, _)| at.revision() <= revision);
        let without: Vec<_> = until_then.map(|(at, size)| (at, *size <= index)).collect();
        let first = without.iter().rposition(|(_, gone)| !gone).map_or(0, |last| last + 1);
        without.get(first).map(|(at, _)| at.at)
    };
    none(bindings(history).filter_map(|version| {
        let pod = version.pod();
        let index: usize = pod.label(names::SCALING_GROUP_REPLICA_INDEX)?.parse().ok()?;
        pod.label(names::SCALING_GROUP).filter(|its| *its == group)?;
        let made = history.pods().find(|made| made.uid() == version.uid())?;
        let gone = gone_since(index, made.revision())?;
        gone_since(index, version.revision())?;
        let heard = made.at.duration_since(gone);
        (heard > patience(history)).then(|| {
            let message = format!(
                "Pod {} was created {} s after replica {index} of scaling group {group} was removed, and \
                 was bound",
                pod.name(),
                heard.as_secs()
            );
            violation(BOUND_FOR_NOTHING, message).shown_by("bound", version)
        })
    }))
}

/// An object exists and requests this number of replicas.
pub fn asks_for(live: &Live, kind: &str, name: &str, replicas: usize) -> Ruling {
    let found = live.get(kind, name);
    let asked = found.and_then(|found| count(&found["spec"]["replicas"]));
    ensure(asked == Some(replicas), || {
        let said = asked.map_or("none".to_owned(), |asked| asked.to_string());
        let found_otherwise =
            violation(OTHER_REPLICAS, format!("{kind} {name}: spec.replicas is {said}, want {replicas}"));
        match found {
            Some(object) => found_otherwise.shown_by_object("observed", object),
            None => found_otherwise,
        }
    })
}

#[cfg(test)]
#[path = "scaled_tests.rs"]
mod tests;
