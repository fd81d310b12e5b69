use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::scopes::{Clique, Scope, SetReplica};
use conformance_facts::generations::{is_wanted, only_generation, terminations};
use conformance_facts::health::{is_bound, is_live};
use conformance_history::{Change, History, Live, SharedMark, count, counted_pods, list};

use super::timing::patience;
use crate::{Shown, none, violation};

const NOT_RECREATED: Code = Code::new("not-recreated-after-gang-termination");
const DELETED_WITHOUT_TERMINATION: Code = Code::new("deleted-without-gang-termination");
const RELEASED_BEFORE_REFERENCE: Code = Code::new("released-before-reference");
const TERMINATED_IN_PART: Code = Code::new("gang-terminated-in-part-or-repeatedly");

/// Requires that only the harness, or a termination of the replica or of its groups' replicas, deletes pods.
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
    let terminated: BTreeSet<&str> = scopes
        .iter()
        .flat_map(|scope| terminations(history, scope))
        .flat_map(|termination| termination.old)
        .collect();
    let mut seen = BTreeSet::new();
    let ends = history.pods().filter(|version| replica.scope().has(version.pod()));
    let ends = ends.filter(|version| version.change == Change::Deleted || !is_live(version.pod()));
    none(ends.filter(|version| seen.insert(version.uid())).filter_map(|version| {
        let is_excused = excused.contains(version.name()) || terminated.contains(version.uid());
        (!is_excused).then(|| {
            let message = format!(
                "Pod {} was deleted without a gang termination of {}",
                version.name(),
                replica.scope()
            );
            violation(DELETED_WITHOUT_TERMINATION, message).shown_by("deleted", version)
        })
    }))
}

/// Requires that a termination recreates the pods that the PodClique or its template requested, whichever are
/// fewer. Undecided within the operator's time to react.
pub fn recreated(history: &History, replica: &SetReplica, scope: &Scope) -> Ruling {
    has_new_pods(history, replica, scope, false)
}

/// Like [`recreated`], within the operator's time to react (TERM-02).
pub fn recreated_in_time(history: &History, replica: &SetReplica, scope: &Scope) -> Ruling {
    has_new_pods(history, replica, scope, true)
}

fn has_new_pods(history: &History, replica: &SetReplica, scope: &Scope, in_time: bool) -> Ruling {
    let end = history.end();
    let cliques = remaining_cliques(&end, replica, scope);
    let found = terminations(history, scope);
    let mut violations = Vec::new();
    for (number, termination) in found.iter().enumerate() {
        let until = found.get(number + 1).map_or(history.last_at(), |next| next.started.at);
        let due = termination.ended.at + patience(history);
        if until <= due {
            continue;
        }
        let before = history.before(termination.started.index);
        let next = only_generation(history, scope, number + 1);
        for clique in &cliques {
            let asked =
                before.get("PodClique", &clique.name).and_then(|found| count(&found["spec"]["replicas"]));
            let wanted = asked.unwrap_or(0).min(clique.replicas);
            let new = next.pods().filter(|pod| pod.pod().pod_clique() == Some(&clique.name));
            let new = new.filter(|pod| !in_time || pod.happened() <= due);
            let new = new.map(|pod| pod.uid()).collect::<BTreeSet<_>>().len();
            if new >= wanted {
                continue;
            }
            let current = end.get("PodClique", &clique.name);
            let state = current.map_or_else(
                || "it does not exist".to_owned(),
                |current| format!("its spec.replicas is {}", current["spec"]["replicas"]),
            );
            let limit =
                if in_time { format!(" within {} s", patience(history).as_secs()) } else { String::new() };
            let message = format!(
                "PodClique {} got {new} new pods{limit} after {scope} was gang-terminated, want {wanted}: \
                 {state}",
                clique.name
            );
            let shown = violation(NOT_RECREATED, message).shown_by("first deletion", termination.started);
            violations.push(match current {
                Some(current) => shown.shown_by_object("recreated", current),
                None => shown,
            });
        }
    }
    none(violations)
}

fn remaining_cliques(end: &Live, replica: &SetReplica, scope: &Scope) -> Vec<Clique> {
    if !is_wanted(end, scope) {
        return Vec::new();
    }
    let is_whole = *scope == replica.scope();
    let of_groups = replica.groups.iter().flat_map(|group| {
        let scopes = (0..group.replicas)
            .map(|index| (index, Scope::GroupReplica { group: group.name.clone(), index }));
        let selected = scopes.filter(|(_, its)| if is_whole { is_wanted(end, its) } else { its == scope });
        selected.flat_map(|(index, _)| group.replica(index).collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    let standalone = replica.standalone.iter().filter(|_| is_whole).cloned();
    standalone.chain(of_groups).collect()
}

/// Requires that each pod is replaced once or twice, and that all pods are bound at the end (TERM-14).
pub fn replaced_once_or_twice(history: &History, replica: &SetReplica, from: usize, until: usize) -> Ruling {
    let (before, after) = (history.before(from), history.before(until));
    let of_groups = replica
        .groups
        .iter()
        .flat_map(|group| (0..group.replicas).flat_map(|index| group.replica(index).collect::<Vec<_>>()));
    none(replica.standalone.iter().cloned().chain(of_groups).flat_map(|clique| {
        let uids = |live: &Live| -> BTreeSet<String> {
            let of_clique = live.pods().filter(|pod| pod.pod_clique() == Some(&clique.name));
            of_clique.map(|pod| pod.uid().to_owned()).collect()
        };
        let (old, left) = (uids(&before), uids(&after));
        let of_clique = history.pods().filter(|version| version.pod().pod_clique() == Some(&clique.name));
        let created: BTreeSet<&str> =
            of_clique.filter(|version| version.index < until).map(|version| version.uid()).collect();
        let created = created.iter().filter(|uid| !old.contains(**uid)).count();
        let bound =
            after.pods().filter(|pod| pod.pod_clique() == Some(&clique.name) && is_bound(*pod)).count();
        let wanted = clique.replicas;
        let kept = old.intersection(&left).count();
        let faults = [
            (kept > 0).then(|| format!("PodClique {} kept {}, want 0", clique.name, counted_pods(kept))),
            (created > 2 * wanted).then(|| {
                format!(
                    "{created} pods were created for the {wanted} replicas of PodClique {}, want at most two \
                     per replica",
                    clique.name
                )
            }),
            (bound != wanted || left.len() != wanted).then(|| {
                format!(
                    "PodClique {} has {} bound and {} in all, want {wanted}",
                    clique.name,
                    counted_pods(bound),
                    left.len()
                )
            }),
        ];
        faults.into_iter().flatten().map(|fault| violation(TERMINATED_IN_PART, fault)).collect::<Vec<_>>()
    }))
}

/// Requires that new pods are referenced before they are ungated, in the order of the writes (TERM-25).
pub fn named_before_release(history: &History, scope: &Scope) -> Ruling {
    let Some(first) = terminations(history, scope).first().map(|termination| termination.started.revision())
    else {
        return Ok(());
    };
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let (mut created, mut released) = (BTreeMap::new(), BTreeSet::new());
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
        let is_pod_of_scope = version.kind() == "Pod" && !pod.is_canary() && scope.has(pod);
        if !is_pod_of_scope || version.change == Change::Deleted {
            continue;
        }
        let is_of_later_generation = *created.entry(version.uid()).or_insert(version.revision()) > first;
        let is_released = !pod.gates().contains(&names::GATE) && released.insert(version.uid());
        if is_of_later_generation
            && is_released
            && !named.values().any(|names| names.contains(version.name()))
        {
            let message = format!("Pod {} lost its gate before a PodGang referred to it", version.name());
            violations.push(violation(RELEASED_BEFORE_REFERENCE, message).shown_by("gate removed", version));
        }
    }
    none(violations)
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
