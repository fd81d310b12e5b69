//! Checks of Koordinator's GangGroups (KOORD-01, KOORD-07, KOORD-08).

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::schedulers::koordinator::{GANG, POD_GROUP};
use conformance_expect::schedulers::{self, Name};
use conformance_expect::{Gang, Group};
use conformance_history::{Change, History, Live, is_controlled_by, list, text};
use serde_json::Value;

use super::{Shown, all, ensure, none, precondition, violation};

const WRONG_NUMBER_OF_GROUPS: Code = Code::new("wrong-number-of-groups");
const WRONG_GROUP_LIST: Code = Code::new("wrong-group-list");
const GROUP_BEFORE_GANG: Code = Code::new("group-before-gang");
const PRUNED_BEFORE_COMPLETE: Code = Code::new("pruned-before-complete");
const GANG_MISSING: Code = Code::new("gang-missing");
const NAMES_NO_GROUP: Code = Code::new("names-no-group");
const WRONG_GROUP: Code = Code::new("wrong-group");

pub fn annotation<'a>(pod_group: &'a Value, name: &str) -> &'a Value {
    &pod_group["metadata"]["annotations"][format!("{GANG}/{name}")]
}

fn members<'a>(live: &'a Live, pod_gang: &'a Value) -> impl Iterator<Item = &'a Value> {
    live.of(POD_GROUP).filter(|found| is_controlled_by(found, pod_gang))
}

pub fn complete(live: &Live, pod_gang: &str) -> Ruling {
    let Some(gang) = live.get("PodGang", pod_gang) else {
        return Err(Broken::NotReached(format!("PodGang {pod_gang} does not exist")));
    };
    let podgroups = list(&gang["spec"]["podgroups"]).len();
    let members: Vec<_> = members(live, gang).collect();
    ensure(members.len() == podgroups, || {
        violation(
            WRONG_NUMBER_OF_GROUPS,
            format!("PodGang {pod_gang} has {} PodGroups, want {podgroups}: one per podgroup", members.len()),
        )
        .shown_by_object("observed", gang)
    })?;
    none(incomplete(&members, &members))
}

fn incomplete(all: &[&Value], wanted: &[&Value]) -> Vec<Violation> {
    let wanted: BTreeSet<_> = wanted
        .iter()
        .map(|object| {
            format!("{}/{}", text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
        })
        .collect();
    let first = all.first().map(|first| annotation(first, "groups"));
    let is_wrong = |object: &&&Value| {
        let groups = annotation(object, "groups");
        let listed: Vec<String> = serde_json::from_str(text(groups)).unwrap_or_default();
        let set: BTreeSet<_> = listed.iter().cloned().collect();
        Some(groups) != first || set != wanted || listed.len() != wanted.len()
    };
    let wrong = |object: &&Value| {
        let (name, groups) = (text(&object["metadata"]["name"]), annotation(object, "groups"));
        violation(
            WRONG_GROUP_LIST,
            format!("PodGroup {name} lists {groups}, want exactly {wanted:?}, the same in all PodGroups"),
        )
        .shown_by_object("observed", object)
    };
    all.iter().filter(is_wrong).map(wrong).collect()
}

/// Requires that the backend deletes obsolete PodGroups only after it has written the remaining ones.
pub fn created_before_pruned(history: &History, pod_gang: &str) -> Ruling {
    let of_gang = || history.named("PodGang", pod_gang);
    let deleted = history.of(POD_GROUP).filter(|version| version.change == Change::Deleted);
    let mut deleted = deleted
        .filter(|deleted| of_gang().any(|gang| is_controlled_by(deleted.object, gang.object)))
        .peekable();
    if deleted.peek().is_none() {
        return Err(Broken::NotReached(format!("no PodGroup of PodGang {pod_gang} was deleted")));
    }
    none(deleted.flat_map(|deleted| {
        let Some(gang) = of_gang().filter(|gang| gang.revision() < deleted.revision()).last() else {
            return vec![violation(
                GROUP_BEFORE_GANG,
                format!("PodGroup {} was deleted before its PodGang existed", deleted.name()),
            )];
        };
        let podgroups = list(&gang.object["spec"]["podgroups"]).iter();
        let wanted: Vec<_> =
            podgroups.map(|group| Name::label(format!("{pod_gang}-{}", text(&group["name"])))).collect();
        let before = history.before(deleted.index);
        let is_wanted =
            |member: &&Value| wanted.iter().any(|name| name.matches(text(&member["metadata"]["name"])));
        let stay: Vec<_> = members(&before, gang.object).filter(is_wanted).collect();
        if stay.len() < wanted.len() {
            let message = format!(
                "PodGroup {} was deleted while {} of the {} remaining PodGroups existed, want all",
                deleted.name(),
                stay.len(),
                wanted.len()
            );
            return vec![violation(PRUNED_BEFORE_COMPLETE, message).shown_by("deleted", deleted)];
        }
        incomplete(&stay, &stay)
    }))
}

/// Requires that pods name PodGroups that match KOORD-01. A name that is too long ends in a unique suffix.
/// Ungated pods must name their PodGroup (KOORD-02); gated pods may name it.
pub fn named_by_pods(live: &Live, gangs: &[Gang]) -> Ruling {
    let (mut violations, mut unnamed) = (Vec::new(), Vec::new());
    for gang in gangs {
        let Some(pod_gang) = live.get("PodGang", &gang.name) else {
            return Err(violation(GANG_MISSING, format!("PodGang {} does not exist", gang.name)).into());
        };
        for group in &gang.groups {
            let expectations = schedulers::of(Target::KOORDINATOR);
            let pods = || live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique));
            let is_of_gang =
                |name: &str| live.get(POD_GROUP, name).is_some_and(|found| is_controlled_by(found, pod_gang));
            let loose = pods().filter(|pod| pod.gates().is_empty());
            let loose = loose.filter(|pod| !expectations.named_by(*pod).is_some_and(is_of_gang));
            unnamed.extend(loose.map(|pod| {
                violation(
                    NAMES_NO_GROUP,
                    format!(
                        "Pod {} lost its gate but names no PodGroup of PodGang {}",
                        pod.name(),
                        gang.name
                    ),
                )
                .shown_by_object("observed", pod.0)
            }));
            let named: BTreeSet<_> = pods().filter_map(|pod| expectations.named_by(pod)).collect();
            let [name] = Vec::from_iter(named)[..] else {
                all([none(violations), precondition("KOORD-02", none(unnamed))])?;
                return Err(Broken::NotReached(format!(
                    "the pods of PodClique {} do not all name the same PodGroup",
                    group.clique
                )));
            };
            let wrong = match live.get(POD_GROUP, name) {
                None => Some("it does not exist".to_owned()),
                Some(found) => wrong(found, pod_gang, gang, group),
            };
            violations.extend(wrong.map(|wrong| {
                violation(WRONG_GROUP, format!("PodGroup {name} of podgroup {}: {wrong}", group.clique))
            }));
        }
    }
    all([none(violations), precondition("KOORD-02", none(unnamed))])
}

/// Proposal 537 demands a controller reference to the PodGang, and a label with its name.
fn wrong(found: &Value, pod_gang: &Value, gang: &Gang, group: &Group) -> Option<String> {
    if !is_controlled_by(found, pod_gang) {
        return Some(format!("it is not controlled by PodGang {}", gang.name));
    }
    if found["metadata"]["labels"][names::POD_GANG] != gang.name.as_str() {
        return Some(format!("its label {} is not {}", names::POD_GANG, gang.name));
    }
    if found["spec"]["minMember"] != group.min {
        return Some(format!("minMember is {}, want {}", found["spec"]["minMember"], group.min));
    }
    let podgroup =
        list(&pod_gang["spec"]["podgroups"]).iter().find(|found| found["name"] == group.clique.as_str());
    let references = podgroup.map_or(0, |podgroup| list(&podgroup["podReferences"]).len());
    let (number, wanted) = (annotation(found, "total-number"), references.to_string());
    if references >= group.min && *number != wanted.as_str() {
        return Some(format!("total-number is {number}, want {wanted}"));
    }
    let wanted = name_of(gang, group);
    (!is_named(text(&found["metadata"]["name"]), &wanted)).then(|| format!("want the name {wanted}"))
}

fn name_of(gang: &Gang, group: &Group) -> Name {
    Name::label(format!("{}-{}", gang.name, group.clique))
}

fn is_named(name: &str, wanted: &Name) -> bool {
    let head = name.rsplit_once('-').map(|(head, _)| head);
    let is_truncated =
        head.is_some_and(|head| wanted.wanted.starts_with(head) && !wanted.wanted.starts_with(name));
    wanted.matches(name) && (wanted.is_exact() || is_truncated)
}

pub fn long_names_are_truncated(live: &Live, gangs: &[Gang]) -> Ruling {
    let mut long = Vec::new();
    for gang in gangs {
        let named = gang.groups.iter().map(|group| (group, name_of(gang, group)));
        long.extend(named.filter(|(_, wanted)| !wanted.is_exact()));
    }
    if long.is_empty() {
        return Err(Broken::NotReached("no PodGroup name is too long for a label".into()));
    }
    let expectations = schedulers::of(Target::KOORDINATOR);
    let mut violations = Vec::new();
    for (group, wanted) in long {
        let pods = live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique));
        let named: BTreeSet<_> = pods.filter_map(|pod| expectations.named_by(pod)).collect();
        if named.is_empty() {
            return Err(Broken::NotReached(format!("no pod of PodClique {} names a PodGroup", group.clique)));
        }
        let is_right = |name: &&str| is_named(name, &wanted) && live.get(POD_GROUP, name).is_some();
        if named.len() > 1 || !named.iter().all(is_right) {
            violations.push(violation(
                WRONG_GROUP,
                format!("the pods of PodClique {} name PodGroups {named:?}, want one {wanted}", group.clique),
            ));
        }
    }
    none(violations)
}

#[cfg(test)]
#[path = "gang_groups_tests.rs"]
mod tests;
