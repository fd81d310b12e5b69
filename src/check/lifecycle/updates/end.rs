use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_facts::health::is_ready;
use conformance_facts::updates::{exceeds, first_change, lacks, lacks_pods, templates, walk};
use conformance_history::{History, Live, SharedMark, Version, text};
use serde_json::Value;

use crate::{Shown, ensure, none, patience, violation};

const NOT_ENDED: Code = Code::new("update-not-ended");
const ENDED_EARLY: Code = Code::new("update-ended-early");

/// Returns `NotAsked` with the operator's message if the operator refuses updates.
pub fn are_admitted(history: &History) -> Ruling {
    match history.marks(SharedMark::UpdateRefused).next() {
        None => Ok(()),
        Some((_, mark)) => {
            let why = text(&mark.detail["message"]);
            Err(Broken::NotAsked(format!("the operator refuses a change of pod templates: {why}")))
        }
    }
}

/// Requires that the update is complete at the entry `index`. `NotReached` if the templates had not changed,
/// because a timeout before the change is about another clause.
pub fn is_complete(history: &History, index: usize, set: &str) -> Ruling {
    if first_change(&history.upto(index), set).is_none() {
        return Err(never_changed(set));
    }
    none(lacks(&history.before(index), set).map(|lack| {
        violation(NOT_ENDED, format!("the update of PodCliqueSet {set} is not complete: {lack}"))
    }))
}

fn never_changed(set: &str) -> Broken {
    Broken::NotReached(format!("the pod templates of PodCliqueSet {set} never changed"))
}

pub fn pods_are_complete(live: &Live, set: &str) -> Ruling {
    none(
        lacks_pods(live, set)
            .map(|lack| violation(NOT_ENDED, format!("PodCliqueSet {set} is not updated: {lack}"))),
    )
}

/// Requires that no pod is beyond the requested replicas (UPD-13).
pub fn none_beyond(live: &Live, set: &str) -> Ruling {
    none(exceeds(live, set).map(|excess| {
        violation(NOT_ENDED, format!("the update of PodCliqueSet {set} ended with more pods: {excess}"))
    }))
}

/// Requires that the update has ended, with a new hash. `NotReached` if the templates never changed.
pub fn ended(history: &History, set: &str) -> Ruling {
    let live = history.end();
    let end = live.get("PodCliqueSet", set).unwrap_or(&Value::Null);
    let hash = |pcs: &Value| pcs["status"]["currentGenerationHash"].as_str().map(str::to_owned);
    let mut before: Option<Version<'_>> = None;
    let mut before_change = None;
    for version in history.named("PodCliqueSet", set) {
        let is_changed = |before: &Version<'_>| templates(before.object) != templates(version.object);
        before_change = before.filter(is_changed).or(before_change);
        before = Some(version);
    }
    let Some(before_change) = before_change else {
        return Err(never_changed(set));
    };
    let lack = lacks(&live, set).or_else(|| {
        let is_stale = hash(end).is_none() || hash(before_change.object) == hash(end);
        is_stale.then(|| "currentGenerationHash of the PodCliqueSet did not change".to_owned())
    });
    none(lack.map(|lack| {
        violation(NOT_ENDED, format!("the update of PodCliqueSet {set} has not ended: {lack}"))
            .shown_by_object("observed", end)
    }))
}

/// Requires that no status reports the end too early, except with OnDelete, which ends immediately.
pub fn never_ended_early(history: &History, set: &str) -> Ruling {
    let mut violations = Vec::new();
    walk(history, set, |state, version| {
        if version.kind() != "PodCliqueSet" || version.name() != set {
            return;
        }
        let mut now = state.clone();
        now.apply(version, set);
        let ended = |pcs: &Value| pcs["status"]["updateProgress"]["updateEndedAt"].clone();
        let is_reported_now = !ended(now.pcs()).is_null() && ended(state.pcs()).is_null();
        if !is_reported_now || now.pcs()["spec"]["updateStrategy"]["type"] == "OnDelete" {
            return;
        }
        let old = now.pods.values().find(|pod| now.is_old(pod.pod()));
        let cliques: Vec<_> = now.replicas().iter().flat_map(|replica| now.cliques(replica)).collect();
        let below = cliques.iter().find(|clique| {
            now.count(&clique.name, is_ready) < clique.min.min(now.size(&clique.name, clique.replicas))
        });
        let why = old.map(|old| format!("Pod {} has an old template", old.name()));
        let why = why.or(below.map(|clique| format!("PodClique {} is below its minAvailable", clique.name)));
        violations.extend(why.map(|why| {
            let message = format!("the update of PodCliqueSet {set} was reported as ended, but {why}");
            violation(ENDED_EARLY, message).shown_by("reported", version)
        }));
    });
    none(violations)
}

pub fn ended_at_once(history: &History, set: &str) -> Ruling {
    let Some(change) = first_change(history, set) else { return Ok(()) };
    let mut versions = history.named("PodCliqueSet", set).filter(|version| version.index >= change.index);
    let ended =
        versions.find(|version| !version.object["status"]["updateProgress"]["updateEndedAt"].is_null());
    let after = ended.map(|ended| ended.at.duration_since(change.at));
    ensure(after.is_some_and(|after| after <= patience(history)), || {
        let message = format!(
            "the status of PodCliqueSet {set} did not report the end of the update within {} s",
            patience(history).as_secs()
        );
        violation(NOT_ENDED, message).shown_by("template changed", change)
    })
}

#[cfg(test)]
#[path = "end_tests.rs"]
mod tests;
