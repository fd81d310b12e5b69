use std::collections::BTreeMap;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_facts::attempts::Attempt;
use conformance_facts::gang_resources::is_gang_resource;
use conformance_history::{Change, History, Live, Version};
use serde_json::Value;

use super::replies::reply_to;
use crate::{Shown, none, violation};

const REMOVED_THOUGH_REFUSED: Code = Code::new("removed-though-refused");
const CHANGED_THOUGH_REFUSED: Code = Code::new("changed-though-refused");
const CREATED_THOUGH_REFUSED: Code = Code::new("created-though-refused");
const RECREATED: Code = Code::new("recreated");
const NOT_DELETED: Code = Code::new("not-deleted");

/// Requires that a refused create left no object of any kind (ADM-05).
pub fn left_nothing(history: &History, attempts: &[Attempt]) -> Ruling {
    let mut violations = Vec::new();
    for attempt in attempts {
        let reply = reply_to(history, attempt)?;
        if reply.is_admitted() {
            continue;
        }
        let left = history.versions().filter(|version| belongs(version.object, &reply.name));
        violations.extend(left.filter(|version| version.change == Change::Added).map(|version| {
            violation(
                CREATED_THOUGH_REFUSED,
                format!(
                    "{}: the request was refused, but {} {} was created",
                    attempt.title,
                    version.kind(),
                    version.name()
                ),
            )
            .shown_by("created", version)
        }));
    }
    none(violations)
}

/// Requires that refused updates changed only the status of the PodCliqueSet (ADM-05).
pub fn unchanged(history: &History, pcs: &str, since: usize) -> Ruling {
    let before = history.before(since);
    let Some(stored) = before.get("PodCliqueSet", pcs) else {
        return Err(Broken::NotReached(format!("PodCliqueSet {pcs} did not exist before the update")));
    };
    let later = history.named("PodCliqueSet", pcs).filter(|version| version.index >= since);
    none(later.filter(|version| user_fields(version.object) != user_fields(stored)).map(|version| {
        violation(CHANGED_THOUGH_REFUSED, format!("PodCliqueSet {pcs} was changed by a refused update"))
            .shown_by_object("before", stored)
            .shown_by("after", version)
    }))?;
    let end = history.end();
    let (old, now) = (objects(&before, pcs), objects(&end, pcs));
    let deleted_or_changed = old.iter().filter_map(|(uid, object)| match now.get(uid) {
        None => Some(
            violation(
                REMOVED_THOUGH_REFUSED,
                format!("{} was deleted after a refused update", named(object)),
            )
            .shown_by_object("before", object),
        ),
        Some(now) if now["spec"] != object["spec"] => Some(
            violation(
                CHANGED_THOUGH_REFUSED,
                format!("the spec of {} was changed after a refused update", named(object)),
            )
            .shown_by_object("before", object)
            .shown_by_object("after", now),
        ),
        Some(_) => None,
    });
    let new = now.iter().filter(|(uid, _)| !old.contains_key(*uid));
    let new = new.map(|(_, object)| {
        violation(CREATED_THOUGH_REFUSED, format!("{} was created after a refused update", named(object)))
            .shown_by_object("new", object)
    });
    none(deleted_or_changed.chain(new))
}

fn named(object: &Value) -> String {
    let version = Version::of(object);
    format!("{} {}", version.kind(), version.name())
}

pub fn nothing_recreated(history: &History, pcs: &str, since: usize) -> Ruling {
    let before = history.before(since);
    let old = objects(&before, pcs);
    let end = history.end();
    let new = objects(&end, pcs);
    let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
    if !old.values().any(|object| kind(object) == "Pod") {
        return Err(Broken::NotReached(format!("PodCliqueSet {pcs} had no pods yet")));
    }
    let is_checked = |object: &Value| {
        matches!(kind(object).as_str(), "Pod" | "PodClique" | "PodCliqueScalingGroup" | "PodGang")
            || is_gang_resource(object)
    };
    let deleted = old.iter().filter(|(uid, object)| is_checked(object) && !new.contains_key(*uid));
    none(deleted.map(|(_, object)| {
        let message = format!("{} {} was deleted, want it kept", kind(object), object["metadata"]["name"]);
        violation(RECREATED, message).shown_by_object("before", object)
    }))
}

/// Returns `NotReached` if the object never existed.
pub fn deleted(history: &History, kind: &str, name: &str) -> Ruling {
    if history.named(kind, name).next().is_none() {
        return Err(Broken::NotReached(format!("{kind} {name} never existed")));
    }
    let end = history.end();
    none(end.get(kind, name).map(|object| {
        violation(NOT_DELETED, format!("{kind} {name} still exists, want it deleted"))
            .shown_by_object("at the end", object)
    }))
}

/// Gang resources lack Grove's labels, but their names start with the PodCliqueSet's name.
fn belongs(object: &Value, pcs: &str) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    !matches!(kind, "Event" | "Node" | "Namespace" | "ClusterTopologyBinding")
        && (name == pcs
            || name.strip_prefix(pcs).is_some_and(|rest| rest.starts_with('-'))
            || object["metadata"]["labels"][names::PART_OF] == pcs)
}

fn user_fields(object: &Value) -> [&Value; 4] {
    let metadata = &object["metadata"];
    [&object["spec"], &metadata["generation"], &metadata["labels"], &metadata["annotations"]]
}

fn objects<'a>(live: &'a Live, pcs: &str) -> BTreeMap<&'a str, &'a Value> {
    live.all()
        .filter(|object| belongs(object, pcs))
        .map(|object| (Version::of(object).uid(), object))
        .collect()
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
