use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::schedulers;
use conformance_facts::health::is_bound;
use conformance_facts::pod_gangs::{reference_mismatch, referred_pods};
use conformance_facts::updates::{first_change, walk};
use conformance_history::{Change, History, Live, Pod, Version, list, text};
use serde_json::{Value, json};

use crate::order::no_later_pod_before_its_group;
use crate::{Shown, all, none, patience, violation};

const GANG_CHANGED: Code = Code::new("gang-changed-by-update");
const NO_MEMBER: Code = Code::new("replacement-is-no-member");

/// Requires that an update keeps PodGangs, and their gang resources unless all pods were once unbound.
pub fn gangs_stay(history: &History, set: &str) -> Ruling {
    let Some(change) = first_change(history, set) else { return Ok(()) };
    let (before, after) = (history.before(change.index), history.end());
    let mut violations = Vec::new();
    let of_set = |object: &&Value| object["metadata"]["labels"][names::PART_OF] == set;
    let minimums = |gang: &Value| {
        let podgroups = list(&gang["spec"]["podgroups"]).iter();
        podgroups.map(|podgroup| json!([podgroup["name"], podgroup["minReplicas"]])).collect::<Vec<_>>()
    };
    let changed = |what: &str, object: &Value| {
        let message = format!("{} {} {what}", text(&object["kind"]), text(&object["metadata"]["name"]));
        violation(GANG_CHANGED, message).shown_by_object("before", object)
    };
    let survived = survivors(history, set, change);
    for gang in before.of("PodGang").filter(of_set) {
        let name = text(&gang["metadata"]["name"]);
        let mut versions = history.named("PodGang", name).filter(|version| version.index >= change.index);
        if after.get("PodGang", name).is_none_or(|now| now["metadata"]["uid"] != gang["metadata"]["uid"]) {
            violations.push(changed("was deleted or created again", gang));
        } else if versions.any(|version| minimums(version.object) != minimums(gang)) {
            violations.push(changed("has other minReplicas than before the update", gang));
        }
        if !survived.contains(name) {
            continue;
        }
        let expectations = schedulers::of(history.header.target);
        let resources = schedulers::kinds().into_iter().flat_map(|(kind, _)| before.of(kind));
        let owned = resources.filter(|found| {
            list(&found["metadata"]["ownerReferences"])
                .iter()
                .any(|owner| owner["uid"] == gang["metadata"]["uid"])
        });
        for resource in owned {
            let found = after.get(text(&resource["kind"]), text(&resource["metadata"]["name"]));
            let same = |now: &Value| now["metadata"]["uid"] == resource["metadata"]["uid"];
            match found.filter(|now| same(now)) {
                None => violations.push(changed("was deleted or created again", resource)),
                Some(now) if expectations.size(now) != expectations.size(resource) => {
                    violations.push(changed("has another size than before the update", resource));
                }
                Some(_) => {}
            }
        }
    }
    none(violations)
}

pub fn references_match_pods(live: &Live, set: &str) -> Ruling {
    none(reference_mismatch(live, set).map(|fault| violation(GANG_CHANGED, fault)))
}

pub fn references_follow_the_pods(history: &History, set: &str) -> Ruling {
    let Some(change) = first_change(history, set) else { return Ok(()) };
    none(wrong_references(history, set, change))
}

/// Returns violations for podReferences to pods that do not exist yet, or that were deleted long before.
fn wrong_references(history: &History, set: &str, change: Version<'_>) -> Vec<Violation> {
    let mut created: BTreeSet<&str> = BTreeSet::new();
    let mut deleted: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut violations = Vec::new();
    walk(history, set, |_, version| {
        let name = version.name();
        match (version.kind(), version.change) {
            ("Pod", Change::Deleted) => drop(deleted.insert(name, version)),
            ("Pod", _) => drop(created.insert(name)),
            ("PodGang", Change::Added | Change::Modified) if version.label(names::PART_OF) == Some(set) => {
                let now: BTreeSet<_> = referred_pods(version.object).collect();
                let old = known.insert(name, now.clone()).unwrap_or_default();
                if version.index < change.index {
                    return;
                }
                let early = now.difference(&old).find(|pod| !created.contains(*pod));
                let early =
                    early.map(|pod| format!("PodGang {name} referred to Pod {pod} before the pod existed"));
                let is_late =
                    |deletion: &Version<'_>| version.at.duration_since(deletion.at) > patience(history);
                let late = old.iter().find(|pod| deleted.get(*pod).is_some_and(is_late));
                let late = late.map(|pod| {
                    format!(
                        "PodGang {name} still referred to Pod {pod} more than {} s after the pod was deleted",
                        patience(history).as_secs()
                    )
                });
                let found = early.into_iter().chain(late);
                violations.extend(
                    found.map(|message| violation(GANG_CHANGED, message).shown_by("PodGang", version)),
                );
            }
            _ => {}
        }
    });
    violations
}

/// Requires that a replacement is ungated only after its PodGang refers to it and its gang resource exists.
/// It must be in its predecessor's PodGang, and in the same gang resource unless all pods were once unbound.
pub fn replacements_are_members(history: &History, set: &str) -> Ruling {
    let Some(change) = first_change(history, set) else { return Ok(()) };
    let expectations = schedulers::of(history.header.target);
    let (before, after) = (history.before(change.index), history.end());
    let survived = survivors(history, set, change);
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut released = BTreeSet::new();
    let mut violations = Vec::new();
    walk(history, set, |_, version| {
        if version.kind() == "PodGang" {
            named.insert(version.uid(), referred_pods(version.object).collect());
        }
        let pod = version.pod();
        let is_pod_of_set = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        let is_released =
            is_pod_of_set && version.change != Change::Deleted && !pod.gates().contains(&names::GATE);
        if is_released
            && released.insert(version.uid())
            && version.index > change.index
            && !named.values().any(|names| names.contains(pod.name()))
        {
            let message = format!("Pod {} lost its gate before a PodGang referred to it", pod.name());
            violations.push(violation(NO_MEMBER, message).shown_by("gate removed", version));
        }
    });
    let place =
        |pod: &Pod<'_>| (pod.pod_clique().map(str::to_owned), pod.label(names::POD_INDEX).map(str::to_owned));
    for old in before.pods().filter(|pod| pod.label(names::PART_OF) == Some(set)) {
        let new = after.pods().find(|pod| place(pod) == place(&old) && !pod.is_terminating());
        let Some(new) = new.filter(|_| old.pod_gang().is_some_and(|gang| survived.contains(gang))) else {
            continue;
        };
        let groups = (expectations.named_by(old), expectations.named_by(new));
        if groups.0 != groups.1 || old.pod_gang() != new.pod_gang() {
            let message = format!(
                "Pod {} replaced Pod {} but names another gang resource or PodGang: {groups:?}",
                new.name(),
                old.name()
            );
            violations.push(violation(NO_MEMBER, message).shown_by_object("observed", new.0));
        }
    }
    all([none(violations), no_later_pod_before_its_group(history, change.index)])
}

fn survivors<'a>(history: &'a History, set: &str, change: Version<'_>) -> BTreeSet<&'a str> {
    let mut bound: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut lost = BTreeSet::new();
    walk(history, set, |state, version| {
        let Some(gang) = version.pod().pod_gang().filter(|_| version.kind() == "Pod") else { return };
        let of_gang = bound.entry(gang).or_default();
        let is_bound_now = version.change != Change::Deleted && is_bound(version.pod());
        let had_bound = !of_gang.is_empty();
        if is_bound_now {
            of_gang.insert(version.uid());
        } else {
            of_gang.remove(version.uid());
        }
        if had_bound && of_gang.is_empty() && version.index >= change.index && state.pcs.is_some() {
            lost.insert(gang);
        }
    });
    bound.into_keys().filter(|gang| !lost.contains(gang)).collect()
}

#[cfg(test)]
#[path = "gangs_tests.rs"]
mod tests;
