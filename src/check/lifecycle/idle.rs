use std::collections::BTreeSet;

use conformance_contract::ruling::Ruling;
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_expect::{Gang, Group, schedulers};
use conformance_history::{History, Live, condition, count, counted_pods, is_owned_by, list, text};
use serde_json::Value;

use crate::binding::bindings;
use crate::{Shown, ensure, none, violation};

const IDLE_CLIQUE_HAS_PODS: Code = Code::new("idle-clique-has-pods");
const IDLE_OBJECT_DELETED: Code = Code::new("idle-object-deleted");
const IDLE_CLIQUE_IN_GANG: Code = Code::new("idle-clique-in-gang");
const IDLE_REPORTED_AS_BREACHED: Code = Code::new("idle-reported-as-breached");
const WRONG_MINIMUM: Code = Code::new("gang-resource-with-wrong-minimum");
const WRONG_PODGROUPS: Code = Code::new("scaled-up-with-other-podgroups");
const SCALED_UP_IN_PART: Code = Code::new("scaled-up-in-part");

pub fn has_left_gang(target: Target, live: &Live, gangs: &[Gang], cliques: &[&str]) -> Ruling {
    let pods = live.pods().filter(|pod| pod.pod_clique().is_some_and(|clique| cliques.contains(&clique)));
    let existing = pods.map(|pod| {
        violation(
            IDLE_CLIQUE_HAS_PODS,
            format!("Pod {} exists, want it absent because its PodClique is scaled to 0", pod.name()),
        )
        .shown_by_object("exists", pod.0)
    });
    let listed = live.of("PodGang").filter_map(|found| {
        let (name, _) = podgroups(found).find(|(name, _)| cliques.contains(name))?;
        let message = format!("PodGang {} lists PodClique {name}, which is scaled to 0", name_of(found));
        Some(violation(IDLE_CLIQUE_IN_GANG, message).shown_by_object("lists it", found))
    });
    none(existing.chain(listed))?;
    require_members(target, live, gangs)
}

pub fn is_no_breach(live: &Live, (kind, name): (&str, &str), set: &str) -> Ruling {
    let found = live.get(kind, name);
    ensure(found.is_some(), || {
        violation(
            IDLE_OBJECT_DELETED,
            format!("{kind} {name} was deleted after it was scaled to 0, want it kept"),
        )
    })?;
    let breached = found.and_then(|found| condition(found, "MinAvailableBreached"));
    ensure(breached.is_none_or(|breached| breached["status"] != "True"), || {
        let reported = violation(
            IDLE_REPORTED_AS_BREACHED,
            format!("{kind} {name} is scaled to 0, but its condition MinAvailableBreached is True"),
        );
        found.into_iter().fold(reported, |reported, found| reported.shown_by_object("its status", found))
    })?;
    let pcs = live.get("PodCliqueSet", set);
    let reported = |field: &str| pcs.and_then(|pcs| count(&pcs["status"][field]));
    ensure(reported("replicas").is_some() && reported("availableReplicas") == reported("replicas"), || {
        let message =
            format!("PodCliqueSet {set} reports a replica as unavailable because {name} is scaled to 0");
        let reported = violation(IDLE_REPORTED_AS_BREACHED, message);
        pcs.into_iter().fold(reported, |reported, found| reported.shown_by_object("its status", found))
    })
}

pub fn has_returned(target: Target, live: &Live, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().filter_map(|gang| {
        let found = gang.find(live);
        let listed: Vec<_> = found.into_iter().flat_map(podgroups).collect();
        let wanted: Vec<_> =
            gang.groups.iter().map(|group| (group.clique.as_str(), Some(group.min))).collect();
        (listed != wanted).then(|| {
            let message = format!("PodGang {} lists podgroups {listed:?}, want {wanted:?}", gang.name);
            let listed_wrongly = violation(WRONG_PODGROUPS, message);
            found.into_iter().fold(listed_wrongly, |shown, found| shown.shown_by_object("observed", found))
        })
    }))?;
    require_members(target, live, gangs)
}

/// Requires that none of the pods is bound, although some of them would fit.
pub fn none_bound(history: &History, cliques: &[&str], from: usize, until: usize) -> Ruling {
    let bound: Vec<_> = bindings(history)
        .filter(|version| (from..until).contains(&version.index))
        .filter(|version| version.pod().pod_clique().is_some_and(|clique| cliques.contains(&clique)))
        .collect();
    ensure(bound.is_empty(), || {
        let message = format!(
            "PodCliques {} had {} bound, want 0 because the pods do not all fit",
            cliques.join(" and "),
            counted_pods(bound.len())
        );
        let in_part = violation(SCALED_UP_IN_PART, message);
        bound.iter().fold(in_part, |shown, version| shown.shown_by("bound", *version))
    })
}

/// Gang resources without a size are not checked, and neither are names, which may change.
fn require_members(target: Target, live: &Live, gangs: &[Gang]) -> Ruling {
    let expectations = schedulers::of(target);
    let existing: Vec<_> = gangs.iter().filter_map(|gang| gang.find(live)).collect();
    let of_kinds = expectations.kinds().iter().flat_map(|kind| live.of(kind));
    let own = of_kinds.filter(|found| existing.iter().any(|gang| is_owned_by(found, gang)));
    none(own.filter_map(|found| {
        let name = name_of(found);
        let named = live.pods().filter(|pod| expectations.named_by(*pod) == Some(name));
        let members: BTreeSet<_> = named.filter_map(|pod| pod.pod_clique()).collect();
        let is_member = |group: &&Group| members.contains(group.clique.as_str());
        let wanted: usize =
            gangs.iter().flat_map(|gang| &gang.groups).filter(is_member).map(|group| group.min).sum();
        let required = expectations.size(found).filter(|_| !members.is_empty())?;
        (u64::try_from(wanted) != Ok(required)).then(|| {
            let message = format!("{} {name} requires {required} pods, want {wanted}", text(&found["kind"]));
            violation(WRONG_MINIMUM, message).shown_by_object("observed", found)
        })
    }))
}

fn podgroups(pod_gang: &Value) -> impl Iterator<Item = (&str, Option<usize>)> {
    list(&pod_gang["spec"]["podgroups"])
        .iter()
        .map(|found| (text(&found["name"]), count(&found["minReplicas"])))
}

fn name_of(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

#[cfg(test)]
#[path = "idle_tests.rs"]
mod tests;
