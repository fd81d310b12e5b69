use std::collections::BTreeSet;

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::scopes::SetReplica;
use conformance_history::{History, count, list};
use serde_json::Value;

use super::deletions::deletions;
use crate::{Shown, none, patience, violation};

const REPLICAS_OVERLAP: Code = Code::new("replicas-overlap");
const AVAILABLE_UPDATED_FIRST: Code = Code::new("available-replica-updated-first");
const HIGHER_BEFORE_LOWER: Code = Code::new("higher-replica-before-a-lower-one");
const REPLICA_UNNAMED: Code = Code::new("updated-replica-not-named");

/// Requires that a pod is deleted only if every other replica that this update touched is complete, new and
/// Ready. A replica that an earlier change left incomplete must first be complete and Ready, with any pods.
pub fn one_replica_at_a_time(history: &History, set: &str) -> Ruling {
    let mut touched: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut incomplete: BTreeSet<usize> = BTreeSet::new();
    let mut violations = Vec::new();
    for deletion in deletions(history, set) {
        let Some(own) = deletion.replica() else { continue };
        let (state, update, name) = (&deletion.state, deletion.state.update, deletion.pod.name());
        touched.insert((update, own));
        incomplete.insert(own);
        let replicas = state.replicas();
        for other in replicas.iter().filter(|other| other.index != own) {
            let is_touched = touched.contains(&(update, other.index));
            let cliques = state.cliques(other);
            let missing = cliques.iter().find_map(|clique| state.lacks_pods(clique));
            if missing.is_none() {
                incomplete.remove(&other.index);
            }
            let lack = cliques.iter().find_map(|clique| state.lacks(clique)).filter(|_| is_touched);
            if let Some(lack) = lack.or(missing.filter(|_| incomplete.contains(&other.index))) {
                let message = format!(
                    "Pod {name} was deleted while the update of replica {} was not complete: {lack}",
                    other.index
                );
                violations.push(violation(REPLICAS_OVERLAP, message).shown_by("deleted", deletion.at));
            }
        }
    }
    none(violations)
}

pub fn status_names_the_replica(history: &History, set: &str) -> Ruling {
    none(deletions(history, set).into_iter().filter_map(|deletion| {
        let own = deletion.replica()?;
        let reported = reported_updating(deletion.state.pcs());
        let since = deletion.at.at;
        let due = since.saturating_add(patience(history)).unwrap_or(since);
        let is_named_later = || {
            let later = history.named("PodCliqueSet", set);
            let mut later = later.filter(|version| version.at >= since && version.at <= due);
            later.any(|version| reported_updating(version.object) == [own])
        };
        (reported != [own] && !is_named_later()).then(|| {
            let name = deletion.pod.name();
            let message = format!(
                "Pod {name} was deleted while currentlyUpdating named replicas {reported:?}, want the \
                 replica of the pod"
            );
            violation(REPLICA_UNNAMED, message).shown_by("deleted", deletion.at)
        })
    }))
}

/// Requires that the update of the lowest old replica starts first, unless one is down or was already being
/// updated (UPD-28). Whether it has ended is UPD-03.
pub fn lowest_is_updated_first(history: &History, set: &str) -> Ruling {
    let mut touched: BTreeSet<(usize, usize)> = BTreeSet::new();
    none(deletions(history, set).into_iter().filter_map(|deletion| {
        let (state, own) = (&deletion.state, deletion.replica()?);
        let replicas = state.replicas();
        let is_continued = state.changed.is_some_and(|changed| reported_updating(changed.object) == [own]);
        let is_down = replicas.get(own).is_some_and(|own| state.is_down(own));
        if !touched.insert((state.update, own)) || is_continued || is_down {
            return None;
        }
        let is_untouched = |other: &&SetReplica| !touched.contains(&(state.update, other.index));
        let lower = replicas.iter().filter(|other| other.index < own).filter(is_untouched);
        let cliques =
            lower.flat_map(|other| state.cliques(other).into_iter().map(move |clique| (other.index, clique)));
        let mut pods = cliques
            .flat_map(|(index, clique)| state.pods_of(&clique.name).into_iter().map(move |pod| (index, pod)));
        let (index, old) = pods.find(|(_, pod)| state.is_old(*pod))?;
        let message = format!(
            "Pod {} was deleted before Pod {}, which has an old template, in the lower replica {index}",
            deletion.pod.name(),
            old.name()
        );
        Some(violation(HIGHER_BEFORE_LOWER, message).shown_by("deleted", deletion.at))
    }))
}

pub fn unavailable_are_updated_first(history: &History, set: &str) -> Ruling {
    let mut touched: BTreeSet<(usize, usize)> = BTreeSet::new();
    none(deletions(history, set).into_iter().filter_map(|deletion| {
        let (state, own) = (&deletion.state, deletion.replica()?);
        let all = state.replicas();
        if !touched.insert((state.update, own)) || state.is_down(all.get(own)?) {
            return None;
        }
        let is_untouched = |other: &&SetReplica| !touched.contains(&(state.update, other.index));
        let down = all.iter().filter(is_untouched).find(|other| state.is_down(other))?;
        let name = deletion.pod.name();
        let message = format!(
            "Pod {name} was deleted before replica {}, which is unavailable, was updated",
            down.index
        );
        Some(violation(AVAILABLE_UPDATED_FIRST, message).shown_by("deleted", deletion.at))
    }))
}

fn reported_updating(pcs: &Value) -> Vec<usize> {
    let entries = list(&pcs["status"]["updateProgress"]["currentlyUpdating"]).iter();
    entries.filter_map(|entry| count(&entry["replicaIndex"])).collect()
}

#[cfg(test)]
#[path = "replicas_tests.rs"]
mod tests;
