use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::SetReplica;
use conformance_facts::health::is_live;
use conformance_facts::updates::{State, has_revision_of, walk};
use conformance_history::{Change, History, Live, Version, count, list, text};
use serde_json::Value;

use crate::{Shown, ensure, none, violation};

const WRONG_UPDATE_PROGRESS: Code = Code::new("wrong-update-progress");
const MISCOUNTED: Code = Code::new("update-miscounted");

/// Requires that the update progress in every status matches the pods at that time.
pub fn progress_is_correct(history: &History, set: &str) -> Ruling {
    let mut checked: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut pods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    // The generations to which the statuses refer, now and when the templates last changed.
    let (mut generations, mut former_generations) = (BTreeMap::new(), BTreeMap::new());
    let mut update = 0;
    let mut violations = Vec::new();
    walk(history, set, |state, version| {
        if std::mem::replace(&mut update, state.update) != state.update {
            former_generations.clone_from(&generations);
        }
        let is_of_set = version.label(names::PART_OF) == Some(set) || version.name() == set;
        if let Some(clique) = version.pod().pod_clique().filter(|_| version.kind() == "Pod" && is_of_set) {
            pods.entry(clique).or_default().insert(version.name());
        }
        if !is_of_set || version.change == Change::Deleted {
            return;
        }
        // A scaling group reports the progress of the last update that it has observed.
        let generation = &version.object["status"]["updateProgress"]["podCliqueSetGenerationHash"];
        generations.insert(version.uid(), generation);
        let former = former_generations.get(version.uid());
        let refers_to_former = version.kind() == "PodCliqueScalingGroup"
            && former.is_some_and(|former| !former.is_null() && *former == generation);
        if refers_to_former {
            checked.remove(version.uid());
            return;
        }
        let faults = match version.kind() {
            "PodClique" => clique_faults(state, version, pods.get(version.name())),
            "PodCliqueScalingGroup" => group_faults(state, version),
            "PodCliqueSet" => set_faults(state, version),
            _ => return,
        };
        let last = checked.get(version.uid());
        if last.is_some_and(|last| last.object["status"] == version.object["status"]) {
            return;
        }
        checked.insert(version.uid(), version);
        violations.extend(faults.into_iter().map(|fault| {
            let message = format!("{} {}: {fault}", version.kind(), version.name());
            violation(WRONG_UPDATE_PROGRESS, message).shown_by("reported", version)
        }));
    });
    none(violations)
}

fn updated(object: &Value) -> Option<usize> {
    let status = &object["status"];
    status["updateProgress"].is_object().then(|| count(&status["updatedReplicas"]).unwrap_or(0))
}

fn too_many(updated: Option<usize>, most: usize) -> Option<String> {
    let updated = updated.filter(|updated| *updated > most)?;
    Some(format!("updatedReplicas is {updated}, want at most {most}"))
}

fn clique_faults(state: &State<'_>, version: Version<'_>, own: Option<&BTreeSet<&str>>) -> Vec<String> {
    let new = state.count(version.name(), |pod| has_revision_of(pod, version.object));
    let selected = &version.object["status"]["updateProgress"]["readyPodsSelectedToUpdate"];
    let completed: Vec<_> = list(&selected["completed"]).iter().filter_map(Value::as_str).collect();
    let all = completed.iter().copied().chain(selected["current"].as_str().filter(|name| !name.is_empty()));
    let unknown = all.clone().find(|name| !own.is_some_and(|own| own.contains(name)));
    let unknown = unknown.map(|name| {
        format!("readyPodsSelectedToUpdate names Pod {name}, which never belonged to the PodClique")
    });
    let pods = state.pods_of(version.name());
    let kept = completed.iter().find(|name| pods.iter().any(|pod| pod.name() == **name));
    let kept = kept.map(|name| format!("Pod {name} is reported as completed but still exists"));
    too_many(updated(version.object), new).into_iter().chain(unknown).chain(kept).collect()
}

fn group_faults(state: &State<'_>, version: Version<'_>) -> Vec<String> {
    let groups: Vec<_> = state.replicas().into_iter().flat_map(|replica| replica.groups).collect();
    let Some(group) = groups.iter().find(|group| group.name == version.name()) else { return Vec::new() };
    let size = state.size(&group.name, group.replicas);
    let new = (0..size).filter(|j| !state.has_old(group, *j)).count();
    let selected = &version.object["status"]["updateProgress"]["readyReplicaIndicesSelectedToUpdate"];
    let completed: Vec<_> = list(&selected["completed"]).iter().filter_map(count).collect();
    let kept = completed.iter().find(|j| **j < size && state.has_old(group, **j));
    let kept =
        kept.map(|j| format!("replica {j} is reported as completed but has a pod with an old template"));
    too_many(updated(version.object), new).into_iter().chain(kept).collect()
}

fn set_faults(state: &State<'_>, version: Version<'_>) -> Vec<String> {
    let mut now = state.clone();
    now.apply(version, version.name());
    // A status from before the change of the templates does not refer to the new templates.
    let is_new_status = state.pcs.is_some_and(|before| before.object["status"] != version.object["status"]);
    let is_new = |replica: &SetReplica| {
        let cliques = now.cliques(replica);
        cliques.iter().all(|clique| now.count(&clique.name, |pod| now.is_old(pod)) == 0)
    };
    let new = now.replicas().iter().filter(|replica| is_new(replica)).count();
    too_many(updated(version.object).filter(|_| is_new_status), new).into_iter().collect()
}

pub fn counted(live: &Live, set: &str) -> Ruling {
    let of_set = |found: &&Value| found["metadata"]["labels"][names::PART_OF] == set;
    let parts =
        ["PodClique", "PodCliqueScalingGroup"].into_iter().flat_map(|kind| live.of(kind)).filter(of_set);
    none(live.get("PodCliqueSet", set).into_iter().chain(parts).filter_map(|found| {
        let wanted = count(&found["spec"]["replicas"]).unwrap_or(0);
        let reported = |field: &str| count(&found["status"][field]).unwrap_or(0);
        let field = ["replicas", "updatedReplicas"].into_iter().find(|field| reported(field) != wanted)?;
        let (kind, name) = (text(&found["kind"]), text(&found["metadata"]["name"]));
        let message = format!("{kind} {name} has {wanted} replicas, but its {field} is {}", reported(field));
        Some(violation(MISCOUNTED, message).shown_by_object("observed", found))
    }))
}

pub fn counts_new_pods(live: &Live, clique: &str) -> Ruling {
    let Some(found) = live.get("PodClique", clique) else {
        return Err(Broken::NotReached(format!("PodClique {clique} does not exist")));
    };
    let own = live.pods().filter(|pod| pod.pod_clique() == Some(clique) && is_live(*pod));
    let new = own.filter(|pod| has_revision_of(*pod, found)).count();
    let reported = count(&found["status"]["updatedReplicas"]).unwrap_or(0);
    ensure(reported == new, || {
        let message = format!("updatedReplicas of PodClique {clique} is {reported}, want {new}");
        violation(MISCOUNTED, message).shown_by_object("observed", found)
    })
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
