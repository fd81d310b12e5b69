//! What kube-scheduler's backend made of the PodGangs: Workloads and PodGroups.
//!
//! The PodGang is the measure, as it was created, and not the PodCliqueSet: a backend that was given too little is not
//! to blame for it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::gangs::{as_created, controller, is_controlled_by};
use super::{Broken, Ruling, Shown, Violation, ensure, none, violation};
use crate::suite::expect::Gang;
use crate::suite::history::{Change, History, Live, Version};
use crate::suite::schedulers::kube::{self, PodGroup};
use crate::suite::{names, target::Target};

/// The kinds of gang resources.
pub const KINDS: [&str; 2] = ["Workload", "PodGroup"];

/// Whether an object is a gang resource of the workload; canaries are none.
pub fn is_gang_resource(object: &Value) -> bool {
    KINDS.iter().any(|kind| object["kind"] == *kind) && object["metadata"]["labels"][names::CANARY].is_null()
}

/// The PodGroups that a PodGang should have, as it was created.
pub fn expected(history: &History, target: Target, pod_gang: &str) -> Vec<PodGroup> {
    as_created(history, pod_gang)
        .map(|(_, podgroups)| kube::pod_groups(target, pod_gang, &podgroups))
        .unwrap_or_default()
}

/// For each expected PodGroup the one that stands for it. A cut name is recognised by owner and size.
fn found<'a>(live: &'a Live, pod_gang: &Value, expected: &[PodGroup]) -> Vec<Option<&'a Value>> {
    let mut taken: Vec<&str> = Vec::new();
    let mut take = |wanted: &PodGroup| {
        let exact = live.get("PodGroup", &wanted.name.wanted);
        let cut = || {
            live.of("PodGroup").find(|found| {
                let name = text(&found["metadata"]["name"]);
                let size = found["spec"]["schedulingPolicy"]["gang"]["minCount"].as_u64();
                wanted.name.matches(name)
                    && is_controlled_by(found, pod_gang)
                    && size == u64::try_from(wanted.min_count).ok()
                    && !taken.contains(&name)
            })
        };
        let found = exact.filter(|_| wanted.name.matches(&wanted.name.wanted)).or_else(cut)?;
        taken.push(text(&found["metadata"]["name"]));
        Some(found)
    };
    expected.iter().map(&mut take).collect()
}

/// Every PodGang has its Workload and PodGroups, controlled by itself, and no gang resource has another owner or
/// none (GANG-08).
///
/// # Errors
/// A violation per object that is missing or owned otherwise.
pub fn owned(history: &History, live: &Live, gangs: &[Gang]) -> Ruling {
    let missing = gangs.iter().flat_map(|gang| {
        let Some(pod_gang) = live.get("PodGang", &gang.name) else {
            return vec![violation(format!("PodGang {} does not exist", gang.name))];
        };
        let expected = expected(history, history.header.target, &gang.name);
        let found = found(live, pod_gang, &expected);
        let workload = live.get("Workload", &gang.name).is_none().then(|| format!("Workload {}", gang.name));
        let groups = expected.iter().zip(found).filter(|(_, found)| found.is_none());
        let groups = groups.map(|(wanted, _)| format!("PodGroup {}", wanted.name));
        workload.into_iter().chain(groups).map(|what| violation(format!("{what} does not exist"))).collect()
    });
    let strayed = live.all().filter(|object| is_gang_resource(object)).filter_map(|object| {
        let owner = controller(object).map(|owner| text(&owner["name"]));
        let by_its_gang = owner
            .and_then(|name| live.get("PodGang", name))
            .is_some_and(|gang| is_controlled_by(object, gang));
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        (!by_its_gang).then(|| {
            violation(format!("{kind} {name} is not controlled by a PodGang"))
                .shown_by_object("its owners", object)
        })
    });
    none(missing.chain(strayed))
}

/// Every PodGang's Workload has a template per PodGroup and no more, and every PodGroup is what its template and
/// `minReplicas` say (KUBE-01).
///
/// # Errors
/// A violation per object that says otherwise.
pub fn as_the_pod_gangs_say(history: &History, live: &Live, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().flat_map(|gang| deviations(history, live, &gang.name)))
}

fn deviations(history: &History, live: &Live, pod_gang: &str) -> Vec<Violation> {
    let (Some(workload), Some(owner)) = (live.get("Workload", pod_gang), live.get("PodGang", pod_gang))
    else {
        return vec![violation(format!("Workload {pod_gang} does not exist"))];
    };
    let expected = expected(history, history.header.target, pod_gang);
    if expected.is_empty() {
        return vec![violation(format!("PodGang {pod_gang} never had podgroups"))];
    }
    let mut violations = Vec::new();
    let templates = list(&workload["spec"]["podGroupTemplates"]);
    if templates.len() != expected.len() {
        let message =
            format!("Workload {pod_gang} has {} templates for {} PodGroups", templates.len(), expected.len());
        violations.push(violation(message).shown_by_object("its templates", workload));
    }
    let groups = found(live, owner, &expected);
    let of_gang = live.of("PodGroup").filter(|group| is_controlled_by(group, owner));
    for extra in
        of_gang.filter(|group| !groups.iter().flatten().any(|known| known["metadata"] == group["metadata"]))
    {
        let message =
            format!("PodGroup {} stands for no podgroup of {pod_gang}", text(&extra["metadata"]["name"]));
        violations.push(violation(message).shown_by_object("one too many", extra));
    }
    for (wanted, found) in expected.iter().zip(groups) {
        let Some(found) = found else {
            violations.push(violation(format!("PodGroup {} does not exist", wanted.name)));
            continue;
        };
        let faults = faults(pod_gang, templates, wanted, found);
        if !faults.is_empty() {
            let message = format!("PodGroup {}: {}", text(&found["metadata"]["name"]), faults.join("; "));
            violations.push(
                violation(message).shown_by_object("it", found).shown_by_object("its Workload", workload),
            );
        }
    }
    violations
}

fn faults(workload: &str, templates: &[Value], wanted: &PodGroup, found: &Value) -> Vec<String> {
    let reference = &found["spec"]["podGroupTemplateRef"]["workload"];
    let template_name = text(&reference["podGroupTemplateName"]);
    let mut faults = Vec::new();
    if reference["workloadName"] != workload {
        faults.push(format!("it refers to Workload {}", reference["workloadName"]));
    }
    if let Some(wanted) = wanted.template.as_ref().filter(|wanted| !wanted.matches(template_name)) {
        faults.push(format!("its template is {template_name:?}, not {wanted}"));
    }
    let min_count = |shape: &Value| shape["schedulingPolicy"]["gang"]["minCount"].clone();
    if min_count(&found["spec"]) != wanted.min_count {
        faults.push(format!("minCount {} instead of {}", min_count(&found["spec"]), wanted.min_count));
    }
    match templates.iter().find(|template| template["name"] == template_name) {
        None => faults.push(format!("the Workload has no template {template_name:?}")),
        Some(template) => {
            for field in ["schedulingPolicy", "schedulingConstraints", "priorityClassName"] {
                if template[field] != found["spec"][field] {
                    faults.push(format!(
                        "{field} is {}, its template says {}",
                        found["spec"][field], template[field]
                    ));
                }
            }
        }
    }
    faults
}

/// Gang resources kept uid and spec from their first version to the entry at `until` (KUBE-04).
///
/// # Errors
/// A violation per gang resource that was patched, deleted or recreated; [`Broken::NotReached`] if there were none.
pub fn never_reshaped(history: &History, until: usize) -> Ruling {
    let mut first: BTreeMap<(&str, &str), Version<'_>> = BTreeMap::new();
    let mut violations = Vec::new();
    for version in
        history.versions().filter(|version| version.index < until && is_gang_resource(version.object))
    {
        let (kind, name) = (version.kind(), version.name());
        let original = *first.entry((kind, name)).or_insert(version);
        let what = match version.change {
            Change::Deleted => "was deleted",
            _ if version.uid() != original.uid() => "was recreated",
            _ if version.object["spec"] != original.object["spec"] => "got another spec",
            _ => continue,
        };
        let found = violation(format!("{kind} {name} {what} under a live gang"));
        violations.push(found.shown_by("as created", original).shown_by(what, version));
    }
    if first.is_empty() {
        return Err(Broken::NotReached("there never was a gang resource".into()));
    }
    none(violations)
}

/// A gang resource that was deleted at `since` is there again: another object with the same spec and owner (GANG-12).
///
/// # Errors
/// A violation if it is not; [`Broken::NotReached`] if it was not there before.
pub fn restored(history: &History, since: usize, kind: &str, name: &str) -> Ruling {
    let (before, end) = (history.before(since), history.end());
    let Some(lost) = before.get(kind, name) else {
        return Err(Broken::NotReached(format!("{kind} {name} did not exist")));
    };
    let Some(found) = end.get(kind, name) else {
        return Err(violation(format!("{kind} {name} was not restored"))
            .shown_by_object("lost", lost)
            .into());
    };
    let metadata = |field: &str| (&lost["metadata"][field], &found["metadata"][field]);
    let (old, new) = metadata("uid");
    let (owners, new_owners) = metadata("ownerReferences");
    let whole = old != new && owners == new_owners && lost["spec"] == found["spec"];
    ensure(whole && found["metadata"]["deletionTimestamp"].is_null(), || {
        violation(format!("{kind} {name} is not what it was before it was deleted"))
            .shown_by_object("lost", lost)
            .shown_by_object("at the end", found)
    })
}

/// After `since`, a Warning event on the PodGang or the PodCliqueSet named the object (GANG-12).
///
/// # Errors
/// A violation if none did.
pub fn told(history: &History, since: usize, pod_gang: &str, set: &str, about: &str) -> Ruling {
    let told = history
        .of("Event")
        .any(|event| event.index > since && is_warning(event.object, pod_gang, set, about));
    ensure(told, || {
        violation(format!("no Warning event on PodGang {pod_gang} or PodCliqueSet {set} names {about}"))
    })
}

/// Whether an Event is a warning on the PodGang or the PodCliqueSet that names `about`.
pub fn is_warning(event: &Value, pod_gang: &str, set: &str, about: &str) -> bool {
    let on = &event["involvedObject"];
    let on_them = on["kind"] == "PodGang" && on["name"] == pod_gang
        || on["kind"] == "PodCliqueSet" && on["name"] == set;
    event["type"] == "Warning" && on_them && text(&event["message"]).contains(about)
}

/// The priority class reached every PodGang and, where the API server keeps the field, every template and PodGroup;
/// where it drops it, the pods, for else it would reach nobody (GANG-13).
///
/// # Errors
/// A violation per object without it.
pub fn have_priority(live: &Live, gangs: &[Gang], class: &str, kept: bool) -> Ruling {
    let missing = live.all().filter(|object| match text(&object["kind"]) {
        "PodGang" => gangs.iter().any(|gang| object["metadata"]["name"] == gang.name.as_str()),
        "Workload" | "PodGroup" => kept && is_gang_resource(object),
        "Pod" => !kept && object["metadata"]["labels"][names::CANARY].is_null(),
        _ => false,
    });
    let missing = missing.filter(|object| {
        let spec = &object["spec"];
        match object["kind"] == "Workload" {
            true => {
                list(&spec["podGroupTemplates"]).iter().any(|template| template["priorityClassName"] != class)
            }
            false => spec["priorityClassName"] != class,
        }
    });
    none(missing.map(|object| {
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        violation(format!("{kind} {name} has not got priority class {class}")).shown_by_object("it", object)
    }))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "gang_resources_tests.rs"]
mod tests;
