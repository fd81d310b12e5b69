use std::collections::BTreeSet;

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::scopes::{ScalingGroup, Scope, SetReplica};
use conformance_facts::generations::GangTermination;
use conformance_facts::health::is_bound;
use conformance_history::{Change, History, Version, condition, event_about, event_note, text};

use super::timing::{API_ROUNDING, own_terminations, patience};
use crate::lifecycle::census::Census;
use crate::{Shown, ensure, none, violation};

const NOT_REPORTED: Code = Code::new("gang-termination-not-reported");
const LOSS_NOT_REPORTED: Code = Code::new("loss-of-all-pods-not-reported");
const REPORTED_OVER_EARLY: Code = Code::new("gang-termination-reported-over-early");

/// Requires that statuses show a termination until the pods are healthy again (TERM-19): a lower
/// `availableReplicas`, and the condition `GangTerminationInProgress` of each scaling group. Grove's API does
/// not define this condition for the termination of a single scaling-group replica.
pub fn shown_in_statuses(history: &History, replica: &SetReplica) -> Ruling {
    let mut violations = Vec::new();
    for termination in own_terminations(history, replica, &replica.scope()) {
        let of_groups = replica.groups.iter();
        violations.extend(of_groups.filter_map(|group| wrong_condition(history, group, &termination)));
        violations.extend(wrong_available_replicas(history, replica, termination.started));
    }
    none(violations)
}

/// Requires that events report terminations, including those of scaling-group replicas (TERM-31).
pub fn reported_by_events(history: &History, replica: &SetReplica) -> Ruling {
    let mut violations = Vec::new();
    let groups = replica.groups.iter();
    let of_groups = groups.flat_map(|group| {
        (0..group.replicas).map(|index| Scope::GroupReplica { group: group.name.clone(), index })
    });
    for scope in of_groups.chain([replica.scope()]) {
        let (Scope::Replica { index, .. } | Scope::GroupReplica { index, .. }) = &scope;
        for termination in own_terminations(history, replica, &scope) {
            if !has_event(history, replica, *index, termination.started) {
                let message = format!("no Normal event reports the gang termination of {scope}");
                violations
                    .push(violation(NOT_REPORTED, message).shown_by("first deletion", termination.started));
            }
        }
    }
    none(violations)
}

pub fn loss_of_all_pods_reported(history: &History, clique: &str) -> Ruling {
    let mut bound = BTreeSet::new();
    let mut its = history.pods().filter(|version| version.pod().pod_clique() == Some(clique));
    let lost = its.find(|version| {
        let is_bound_now = version.change != Change::Deleted && is_bound(version.pod());
        if is_bound_now {
            bound.insert(version.uid());
        }
        !is_bound_now && bound.remove(version.uid()) && bound.is_empty()
    });
    let lost =
        lost.ok_or_else(|| Broken::NotReached(format!("PodClique {clique} never lost all of its pods")))?;
    let is_reported = history.of("Event").any(|version| {
        let event = version.object;
        event["type"] == "Warning"
            && event["reason"] == "AllScheduledReplicasLost"
            && event_about(event)["name"] == clique
            && version.at.duration_since(lost.at).abs() <= patience(history)
    });
    ensure(is_reported, || {
        let message = format!(
            "no Warning event AllScheduledReplicasLost reports that PodClique {clique} lost its last \
             bound pod"
        );
        violation(LOSS_NOT_REPORTED, message).shown_by("last bound pod lost", lost)
    })
}

/// Kinds whose events count. Pods are excluded, because schedulers' events about them contain numbers.
const REPORTING_KINDS: [&str; 4] = ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique", "PodGang"];

/// Whether an event near the termination contains the index as a separate word, not inside a name.
fn has_event(history: &History, replica: &SetReplica, index: usize, started: Version<'_>) -> bool {
    let index = index.to_string();
    let mut events = history.of("Event").filter(|version| version.object["type"] == "Normal");
    events.any(|version| {
        let event = version.object;
        let about = event_about(event);
        let mut words = event_note(event).split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let is_near = version.at.duration_since(started.at).abs() <= patience(history);
        is_near
            && REPORTING_KINDS.contains(&text(&about["kind"]))
            && text(&about["name"]).starts_with(&replica.set)
            && words.any(|word| word == index)
    })
}

/// Describes a wrong condition of a scaling group. No condition is required if the group was healthy again
/// before a status had to report the termination.
fn wrong_condition(
    history: &History,
    group: &ScalingGroup,
    termination: &GangTermination<'_>,
) -> Option<Violation> {
    const TYPE: &str = "GangTerminationInProgress";
    let started = termination.started;
    let is_true = |version: &Version<'_>| {
        condition(version.object, TYPE).is_some_and(|found| found["status"] == "True")
    };
    let versions = || {
        history
            .named("PodCliqueScalingGroup", &group.name)
            .filter(|version| version.change != Change::Deleted)
    };
    let earliest = started.at.saturating_sub(API_ROUNDING).unwrap_or(started.at);
    let Some(on) = versions().find(|version| version.at >= earliest && is_true(version)) else {
        if healed_soon(history, group, termination) {
            return None;
        }
        let message =
            format!("condition {TYPE} of scaling group {} was not True after a gang termination", group.name);
        return Some(violation(NOT_REPORTED, message).shown_by("first deletion", started));
    };
    let Some(off) = versions().find(|version| version.index > on.index && !is_true(version)) else {
        let message = format!("condition {TYPE} of scaling group {} stayed True", group.name);
        return Some(violation(NOT_REPORTED, message).shown_by("True", on));
    };
    let mut census = Census::default();
    for version in history.as_written().into_iter().filter(|version| version.revision() < off.revision()) {
        census.apply(version);
    }
    let short = unhealthy_member(&census, group)?;
    let message = format!(
        "condition {TYPE} of scaling group {} was no longer True while PodClique {short} was below its \
         minAvailable",
        group.name
    );
    Some(violation(REPORTED_OVER_EARLY, message).shown_by("ended", off))
}

fn unhealthy_member(census: &Census<'_>, group: &ScalingGroup) -> Option<String> {
    let size = census.replicas("PodCliqueScalingGroup", &group.name).unwrap_or(group.replicas);
    let mut members = (0..size).flat_map(|index| group.replica(index).collect::<Vec<_>>());
    members.find(|member| census.healthy(&member.name) < member.min).map(|member| member.name)
}

fn healed_soon(history: &History, group: &ScalingGroup, termination: &GangTermination<'_>) -> bool {
    let (mut census, soon) = (Census::default(), crate::patience(history));
    for version in history.as_written() {
        if version.at.duration_since(termination.ended.at) > soon {
            return false;
        }
        census.apply(version);
        if version.revision() > termination.ended.revision() && unhealthy_member(&census, group).is_none() {
            return true;
        }
    }
    false
}

fn wrong_available_replicas(
    history: &History,
    replica: &SetReplica,
    started: Version<'_>,
) -> Option<Violation> {
    let available =
        |version: &Version<'_>| version.object["status"]["availableReplicas"].as_u64().unwrap_or(0);
    let earlier =
        || history.named("PodCliqueSet", &replica.set).filter(|version| version.index < started.index);
    let later = history.named("PodCliqueSet", &replica.set).filter(|version| version.index > started.index);
    let before = earlier().map(|version| available(&version)).max()?;
    if earlier().last().into_iter().chain(later).any(|version| available(&version) < before) {
        return None;
    }
    let message = format!(
        "PodCliqueSet {} reported {before} available replicas while one of them was gang-terminated",
        replica.set
    );
    Some(violation(NOT_REPORTED, message).shown_by("first deletion", started))
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
