//! Compares gang resources with the PodGang as created: no backend is responsible for an incomplete one.

use std::collections::BTreeMap;

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::schedulers::{self, Resource};
use conformance_expect::{Gang, scaling};
use conformance_facts::cliques::pods_of;
use conformance_facts::gang_resources::{Mismatch, expected, found, is_gang_resource, mismatches};
use conformance_facts::pod_gangs::as_created;
use conformance_facts::warnings::is_warning;
use conformance_history::{Change, History, Live, Version, counted_pods, owners, text};
use serde_json::Value;

use super::{Shown, deviates, ensure, gangs, none, patience, precondition, violation};

const OUTLIVES_ITS_GANG: Code = Code::new("outlives-its-gang");
const GANG_RESOURCE_NEVER_CREATED: Code = Code::new("gang-resource-never-created");
const GANG_MISSING: Code = Code::new("gang-missing");
const GANG_WITHOUT_PODGROUPS: Code = Code::new("gang-without-podgroups");
const GANG_RESOURCE_EXTRA: Code = Code::new("gang-resource-extra");
const GANG_RESOURCE_MISSING: Code = Code::new("gang-resource-missing");
const GANG_RESOURCE_DIFFERS: Code = Code::new("gang-resource-differs");
const GANG_RESOURCE_RESHAPED: Code = Code::new("gang-resource-reshaped");
const NOT_RESTORED: Code = Code::new("not-restored");
const RESTORED_DIFFERENTLY: Code = Code::new("restored-differently");
const NO_WARNING: Code = Code::new("no-warning");
const WRONG_PRIORITY: Code = Code::new("wrong-priority");
const PRIORITY_NOT_READ: Code = Code::new("priority-not-read");
const PRIORITY_ADMITTED: Code = Code::new("priority-admitted-without-effect");
const PRIORITY_REFUSED: Code = Code::new("priority-wrongly-refused");

/// Maximum number of owner references from a gang resource to its PodGang. No known backend has more.
const DEEPEST: usize = 4;

/// Whether a PodGang or PodCliqueSet owns the object, through at most `deeper` owner references. Every owner
/// reference counts, because the garbage collector follows every one.
fn is_owned_by_gang(live: &Live, object: &Value, deeper: usize) -> bool {
    let mut existing = owners(object).iter().filter_map(|owner| {
        let found = live.get(text(&owner["kind"]), text(&owner["name"]))?;
        (found["metadata"]["uid"] == owner["uid"]).then_some(found)
    });
    existing.any(|owner| match text(&owner["kind"]) {
        "PodGang" | "PodCliqueSet" => true,
        "Pod" => false,
        _ => deeper > 1 && is_owned_by_gang(live, owner, deeper - 1),
    })
}

/// Requires that the gang resources exist (GANG-08) and have an owner (GANG-23).
pub fn owned(history: &History, live: &Live, gangs: &[Gang]) -> Ruling {
    none(missing(history, live, gangs).chain(without_owner(live)))
}

pub fn exist(history: &History, live: &Live, gangs: &[Gang]) -> Ruling {
    none(missing(history, live, gangs))
}

pub fn have_owners(live: &Live) -> Ruling {
    none(without_owner(live))
}

fn missing<'a>(
    history: &'a History,
    live: &'a Live,
    gangs: &'a [Gang],
) -> impl Iterator<Item = Violation> + 'a {
    gangs.iter().flat_map(move |gang| {
        let Some(pod_gang) = live.get("PodGang", &gang.name) else {
            return vec![violation(GANG_MISSING, format!("PodGang {} does not exist", gang.name))];
        };
        let expected = expected(history, gang);
        let found = found(history.header.target, live, pod_gang, &expected);
        let missing = expected.iter().zip(found).filter(|(_, found)| found.is_none());
        missing
            .map(|(wanted, _)| {
                violation(GANG_RESOURCE_MISSING, format!("{} {} does not exist", wanted.kind, wanted.name))
            })
            .collect()
    })
}

fn without_owner(live: &Live) -> impl Iterator<Item = Violation> + '_ {
    live.all().filter(|object| is_gang_resource(object)).filter_map(move |object| {
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        (!is_owned_by_gang(live, object, DEEPEST)).then(|| {
            let message = format!(
                "{kind} {name} has no owner reference to an existing PodGang or PodCliqueSet, directly or \
                     through other owners"
            );
            violation(OUTLIVES_ITS_GANG, message).shown_by_object("its owners", object)
        })
    })
}

/// Requires that gang resources were created (GANG-08), even if they were deleted later. Call it only when
/// the backend has had time to react.
pub fn were_created(history: &History, gangs: &[Gang]) -> Ruling {
    let was_created =
        |wanted: &Resource| history.of(wanted.kind).any(|version| wanted.name.matches(version.name()));
    let never = gangs.iter().flat_map(|gang| {
        let created = as_created(history, &gang.name).map(|(created, _)| created);
        let missing = expected(history, gang).into_iter().filter(|wanted| !was_created(wanted));
        let violations = missing.map(|wanted| {
            let found = violation(
                GANG_RESOURCE_NEVER_CREATED,
                format!("{} {} was never created", wanted.kind, wanted.name),
            );
            created.into_iter().fold(found, |found, created| found.shown_by("its PodGang", created))
        });
        violations.collect::<Vec<_>>()
    });
    precondition("GANG-08", none(never))
}

pub fn match_pod_gangs(history: &History, live: &Live, gangs: &[Gang]) -> Ruling {
    none(mismatches(history, live, gangs).map(|found| deviates(code_of(found.kind), found)))
}

fn code_of(mismatch: Mismatch) -> Code {
    match mismatch {
        Mismatch::GangMissing => GANG_MISSING,
        Mismatch::GangWithoutPodgroups => GANG_WITHOUT_PODGROUPS,
        Mismatch::Extra => GANG_RESOURCE_EXTRA,
        Mismatch::Missing => GANG_RESOURCE_MISSING,
        Mismatch::Differs => GANG_RESOURCE_DIFFERS,
    }
}

pub fn as_scaled_last(history: &History, live: &Live, set: &str) -> Ruling {
    gangs::as_scaled_last(history, live, set)?;
    let all = scaling::gangs(history, history.submitted(set)?, history.entries.len());
    owned(history, live, &all)?;
    match_pod_gangs(history, live, &all)
}

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
        let found = violation(
            GANG_RESOURCE_RESHAPED,
            format!("{kind} {name} {what} while its gang existed, want it unchanged"),
        );
        violations.push(found.shown_by("as created", original).shown_by(what, version));
    }
    if first.is_empty() {
        return Err(Broken::NotReached("no gang resource ever existed".into()));
    }
    none(violations)
}

pub fn restored(history: &History, since: usize, kind: &str, name: &str) -> Ruling {
    let (before, end) = (history.before(since), history.end());
    let Some(lost) = before.get(kind, name) else {
        return Err(Broken::NotReached(format!("{kind} {name} did not exist before the deletion")));
    };
    let Some(found) = end.get(kind, name) else {
        return Err(violation(NOT_RESTORED, format!("{kind} {name} was not created again"))
            .shown_by_object("lost", lost)
            .into());
    };
    let metadata = |field: &str| (&lost["metadata"][field], &found["metadata"][field]);
    let (old, new) = metadata("uid");
    let (owners, new_owners) = metadata("ownerReferences");
    let is_same = old != new && owners == new_owners && lost["spec"] == found["spec"];
    ensure(is_same && found["metadata"]["deletionTimestamp"].is_null(), || {
        violation(
            RESTORED_DIFFERENTLY,
            format!("{kind} {name} was not created again with the same owners and spec"),
        )
        .shown_by_object("lost", lost)
        .shown_by_object("at the end", found)
    })
}

pub fn warning_reported(history: &History, since: usize, pod_gang: &str, set: &str, about: &str) -> Ruling {
    let is_reported = history
        .of("Event")
        .any(|event| event.index > since && is_warning(event.object, pod_gang, set, about));
    ensure(is_reported, || {
        violation(
            NO_WARNING,
            format!("no Warning event on PodGang {pod_gang} or PodCliqueSet {set} contains {about:?}"),
        )
    })
}

/// Requires that PodGangs and their gang resources (GANG-08) have the priority class. If the API server drops
/// the field from gang resources (`kept` is false), only PodGangs must have it.
pub fn have_priority(history: &History, live: &Live, gangs: &[Gang], class: &str, kept: bool) -> Ruling {
    precondition("GANG-08", exist(history, live, gangs))?;
    with_priority(history, live, gangs, class, kept)
}

/// Like [`have_priority`], but ignores gang resources that do not exist.
pub fn with_priority(history: &History, live: &Live, gangs: &[Gang], class: &str, kept: bool) -> Ruling {
    none(without_priority(history, live, gangs, class, kept).map(|object| wrong_priority(object, class)))
}

/// Requires that the priority class is on PodGangs, gang resources and, for some schedulers, pods (PRE-16).
pub fn priority_reaches_scheduler(
    history: &History,
    live: &Live,
    gangs: &[Gang],
    class: &str,
    kept: bool,
) -> Ruling {
    let not_read = |object: &Value| {
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        violation(
            PRIORITY_NOT_READ,
            format!("the scheduler finds no priority class {class} in {kind} {name}"),
        )
        .shown_by_object("observed", object)
    };
    none(without_priority(history, live, gangs, class, kept).map(not_read))?;
    if !schedulers::of(history.header.target).reads_priority_of_pods() {
        return Ok(());
    }
    let mut violations = Vec::new();
    for group in gangs.iter().flat_map(|gang| &gang.groups) {
        let pods: Vec<_> = pods_of(live, &group.clique).collect();
        if pods.len() < group.min {
            return Err(Broken::NotReached(format!(
                "PodClique {} has {}, want at least {}",
                group.clique,
                counted_pods(pods.len()),
                group.min
            )));
        }
        let without = pods.into_iter().filter(|pod| pod.0["spec"]["priorityClassName"] != class);
        violations.extend(without.map(|pod| not_read(pod.0)));
    }
    none(violations)
}

fn without_priority<'a>(
    history: &History,
    live: &'a Live,
    gangs: &'a [Gang],
    class: &'a str,
    kept: bool,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    let expectations = schedulers::of(history.header.target);
    let has_it = move |object: &Value| match text(&object["kind"]) {
        "PodGang" => {
            let is_expected = gangs.iter().any(|gang| object["metadata"]["name"] == gang.name.as_str());
            !is_expected || object["spec"]["priorityClassName"] == class
        }
        _ => !kept || !is_gang_resource(object) || expectations.has_priority(object, class),
    };
    live.all().filter(move |object| !has_it(object))
}

fn wrong_priority(object: &Value, class: &str) -> Violation {
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    violation(WRONG_PRIORITY, format!("{kind} {name} does not have priority class {class}"))
        .shown_by_object("observed", object)
}

/// Requires that PodGangs and gang resources get the new priority class. If the target's gang resources
/// cannot change, admission should have refused the change (UPD-20).
pub fn priority_follows(
    history: &History,
    gangs: &[Gang],
    class: &str,
    kept: bool,
    changed: usize,
) -> Ruling {
    let expectations = schedulers::of(history.header.target);
    ensure(expectations.follows_priority(), || {
        let message = format!(
            "the change to priority class {class} was admitted, want it refused because gang resources \
             cannot follow it"
        );
        violation(PRIORITY_ADMITTED, message)
    })?;
    let live = history.end();
    with_priority(history, &live, gangs, class, kept)?;
    let has_it = |object: &Value| match text(&object["kind"]) {
        "PodGang" => object["spec"]["priorityClassName"] == class,
        _ => kept && is_gang_resource(object) && expectations.has_priority(object, class),
    };
    let requested = history.entries[changed].at;
    none(live.all().filter(|object| has_it(object)).filter_map(|object| {
        let mut versions =
            history.versions().filter(|version| version.uid() == text(&object["metadata"]["uid"]));
        let first = versions.find(|version| has_it(version.object))?;
        (first.at.duration_since(requested) > patience(history)).then(|| {
            let (kind, name) = (first.kind(), first.name());
            let message = format!(
                "{kind} {name} got priority class {class} more than {} s after the change",
                patience(history).as_secs()
            );
            violation(WRONG_PRIORITY, message).shown_by("updated", first)
        })
    }))
}

/// Requires that refusing a priority class is correct: the target's gang resources cannot change (UPD-20).
pub fn priority_is_refused(target: Target, refusal: &str) -> Ruling {
    ensure(!schedulers::of(target).follows_priority(), || {
        let message = format!(
            "the change of the priority class was refused, want it admitted because gang resources can \
             follow it: {refusal}"
        );
        violation(PRIORITY_REFUSED, message)
    })?;
    ensure(refusal.contains("priorityClassName"), || {
        violation(PRIORITY_REFUSED, format!("the refusal does not contain priorityClassName: {refusal}"))
    })
}

#[cfg(test)]
#[path = "gang_resources_tests.rs"]
mod tests;
