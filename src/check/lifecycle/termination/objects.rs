use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::scopes::Scope;
use conformance_facts::generations::GangTermination;
use conformance_history::{History, Live, SharedMark, controller, name, text};
use serde_json::Value;

use crate::lifecycle::autoscalers;
use crate::{Shown, none, violation};

const NOT_KEPT: Code = Code::new("not-kept-by-gang-termination");

pub fn kept(history: &History, scope: &Scope, termination: &GangTermination<'_>, until: usize) -> Ruling {
    let Scope::Replica { set, index } = scope else { return Ok(()) };
    let settled = settled_before(history, termination);
    let (before, after) = (history.before(termination.started.index), history.before(until));
    let is_of_replica =
        |object: &&Value| is_of_set(object, set) && replica_of(object).is_none_or(|found| found == *index);
    let kept_kinds = ["PodGang", "PodCliqueScalingGroup", "Service", autoscalers::KIND];
    let is_kept = |object: &&Value| kept_kinds.contains(&text(&object["kind"])) || is_shared_claim(object);
    let deleted =
        settled.all().filter(is_of_replica).filter(is_kept).filter(|object| !is_same(&after, object, "uid"));
    let recreated = deleted.map(|object| recreated(scope, object));
    none(recreated.chain(before.all().filter(is_of_replica).filter_map(|object| {
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

/// Requires that objects of other replicas keep their resourceVersions during a termination (TERM-27).
/// Autoscalers must only exist, because other clients write their status.
pub fn other_replicas_untouched(
    history: &History,
    scope: &Scope,
    termination: &GangTermination<'_>,
    until: usize,
) -> Ruling {
    let Scope::Replica { set, index } = scope else { return Ok(()) };
    let settled = settled_before(history, termination);
    let (before, after) = (history.before(termination.started.index), history.before(until));
    let is_of_another =
        |object: &&Value| is_of_set(object, set) && replica_of(object).is_some_and(|found| found != *index);
    let is_autoscaler = |object: &&Value| object["kind"] == autoscalers::KIND;
    let autoscalers = settled.all().filter(is_of_another).filter(is_autoscaler);
    let deleted = autoscalers.filter(|object| !is_same(&after, object, "uid"));
    let recreated = deleted.map(|object| recreated(scope, object));
    let others = before.all().filter(is_of_another).filter(|object| !is_autoscaler(object));
    let changed = others.filter(|object| !is_same(&after, object, "resourceVersion")).map(|object| {
        let fault = format!("{} {} of another replica was changed", text(&object["kind"]), name(object));
        not_kept(scope, &fault, object)
    });
    none(recreated.chain(changed))
}

/// The state at the last convergence, because the termination may delete other objects before the first pod.
fn settled_before(history: &History, termination: &GangTermination<'_>) -> Live {
    let converged = history.marks(SharedMark::Converged).map(|(index, _)| index);
    let settled = converged.filter(|index| *index < termination.started.index).last();
    history.before(settled.unwrap_or(termination.started.index))
}

fn is_of_set(object: &Value, set: &str) -> bool {
    object["metadata"]["labels"][names::PART_OF] == set
}

fn replica_of(object: &Value) -> Option<usize> {
    object["metadata"]["labels"][names::REPLICA_INDEX].as_str()?.parse().ok()
}

/// Whether the object is a shared claim. Other claims may be deleted with their pods.
fn is_shared_claim(object: &Value) -> bool {
    let owner = controller(object).map(|owner| text(&owner["kind"]));
    object["kind"] == "ResourceClaim" && owner.is_some_and(|owner| owner != "PodClique" && owner != "Pod")
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

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
