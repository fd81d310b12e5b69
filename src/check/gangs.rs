use std::collections::BTreeMap;

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::{Gang, scaling};
use conformance_facts::cliques::pods_of;
use conformance_facts::pod_gangs::{as_created, podgroups_in, versions};
use conformance_history::{History, Live, Version, condition, controller, is_controlled_by, name};
use serde_json::Value;

use super::{Shown, none, violation};

const NOT_CONTROLLED_BY_SET: Code = Code::new("not-controlled-by-set");
const GANG_EXTRA: Code = Code::new("gang-extra");
const GANG_RENAMED: Code = Code::new("gang-renamed");
const WRONG_GANG_LABEL: Code = Code::new("wrong-gang-label");
const IN_SEVERAL_GANGS: Code = Code::new("in-several-gangs");
const GANG_MISSING: Code = Code::new("gang-missing");
const GANG_WITHOUT_PODGROUPS: Code = Code::new("gang-without-podgroups");
const WRONG_PODGROUPS: Code = Code::new("wrong-podgroups");
const WRONG_PODGROUP_ORDER: Code = Code::new("wrong-podgroup-order");
const PODGROUPS_CHANGED: Code = Code::new("podgroups-changed");
const MINIMUM_CHANGED: Code = Code::new("minimum-changed");
const GANG_NEVER_CREATED: Code = Code::new("gang-never-created");
const WRONG_SCHEDULER_LABEL: Code = Code::new("wrong-scheduler-label");
const NEVER_INITIALIZED: Code = Code::new("never-initialized");
const NEVER_UNINITIALIZED: Code = Code::new("never-uninitialized");
pub(super) const UNINITIALIZED_AGAIN: Code = Code::new("uninitialized-again");
const INITIALIZED_EARLY: Code = Code::new("initialized-early");
const PODGROUP_MISSING: Code = Code::new("podgroup-missing");
const WRONG_REFERENCES: Code = Code::new("wrong-references");
const UNSORTED_REFERENCES: Code = Code::new("unsorted-references");

/// Requires the base PodGangs, no PodGang outside `gangs`, and correct owners and gang labels (GANG-01).
pub fn base(live: &Live, set: &str, gangs: &[Gang]) -> Ruling {
    let missing = absent(live, gangs.iter().filter(|gang| gang.is_base));
    let pcs = live.get("PodCliqueSet", set);
    let existing = gangs.iter().filter_map(|gang| live.get("PodGang", &gang.name));
    let uncontrolled =
        existing.filter(|found| !pcs.is_some_and(|pcs| is_controlled_by(found, pcs))).map(|found| {
            let message = format!("PodGang {} is not controlled by PodCliqueSet {set}", name(found));
            violation(NOT_CONTROLLED_BY_SET, message).shown_by_object("its owner references", found)
        });
    let surplus = live.of("PodGang").filter(|found| {
        let of_set = found["metadata"]["labels"][names::PART_OF] == set
            || controller(found).is_some_and(|owner| owner["name"] == set);
        of_set && !gangs.iter().any(|gang| gang.name == name(found))
    });
    let surplus = surplus.map(|found| {
        violation(GANG_EXTRA, format!("PodGang {} exists, want it absent", name(found)))
            .shown_by_object("exists", found)
    });
    none(missing.chain(uncontrolled).chain(surplus).chain(wrong_gang_labels(live, gangs)))
}

fn wrong_gang_labels<'a>(live: &'a Live, gangs: &'a [Gang]) -> impl Iterator<Item = Violation> + 'a {
    let existing = gangs.iter().filter(|gang| live.get("PodGang", &gang.name).is_some());
    existing.flat_map(move |gang| {
        let is_member =
            |clique: Option<&str>| gang.groups.iter().any(|group| Some(group.clique.as_str()) == clique);
        let cliques = live.of("PodClique").filter(move |clique| is_member(Some(name(clique))));
        let pods = live.pods().filter(move |pod| is_member(pod.pod_clique())).map(|pod| pod.0);
        let wrong = cliques
            .chain(pods)
            .filter(|object| object["metadata"]["labels"][names::POD_GANG] != gang.name.as_str());
        wrong.map(|object| {
            let label = object["metadata"]["labels"][names::POD_GANG].as_str().unwrap_or("none");
            let (kind, labelled) = (object["kind"].as_str().unwrap_or_default(), name(object));
            let message = format!(
                "label {} of {kind} {labelled} is {label}, want {}: that PodGang lists the PodClique",
                names::POD_GANG,
                gang.name
            );
            violation(WRONG_GANG_LABEL, message).shown_by_object("its label", object)
        })
    })
}

pub fn keeps_its_name(history: &History, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().filter(|gang| gang.is_base).filter_map(|gang| {
        let of_gang = || history.of("PodGang").filter(|version| gang.is(version.object));
        let owner = |version: &Version<'_>| controller(version.object).map(|owner| owner["uid"].clone());
        let last = of_gang().last()?;
        let earlier =
            of_gang().find(|version| version.name() != last.name() && owner(version) == owner(&last))?;
        let message = format!("PodGang {} had another name before: {}", last.name(), earlier.name());
        Some(violation(GANG_RENAMED, message).shown_by("first", earlier).shown_by("then", last))
    }))
}

pub fn scaled(history: &History, live: &Live, gangs: &[Gang]) -> Ruling {
    let scaled = || gangs.iter().filter(|gang| !gang.is_base);
    none(absent(live, scaled()).chain(scaled().flat_map(|gang| composed(history, gang))))
}

fn absent<'a>(live: &'a Live, gangs: impl Iterator<Item = &'a Gang>) -> impl Iterator<Item = Violation> {
    let absent = gangs.filter(|gang| live.get("PodGang", &gang.name).is_none());
    absent.map(|gang| violation(GANG_MISSING, format!("PodGang {} does not exist", gang.name)))
}

/// Requires the `minReplicas` expected at creation, and one PodGang per PodClique (GANG-02).
pub fn podgroups(history: &History, gangs: &[Gang]) -> Ruling {
    let composed = gangs.iter().filter(|gang| gang.is_base).flat_map(|gang| composed(history, gang));
    none(composed.chain(shared(&history.end(), gangs)))
}

/// Requires that podgroups are in the order of the template (GANG-15). Some may be missing.
pub fn in_template_order(history: &History, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().filter_map(|gang| {
        let (created, podgroups) = as_created(history, &gang.name)?;
        let cliques = || gang.groups.iter().map(|group| group.clique.as_str());
        let found: Vec<&str> = podgroups
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| cliques().any(|clique| clique == *name))
            .collect();
        let wanted: Vec<&str> = cliques().filter(|clique| found.contains(clique)).collect();
        (found != wanted).then(|| {
            let (found, wanted) = (found.join(", "), wanted.join(", "));
            let message = format!(
                "PodGang {} was created with podgroups in the order [{found}], want [{wanted}]",
                gang.name
            );
            violation(WRONG_PODGROUP_ORDER, message).shown_by("created", created)
        })
    }))
}

fn shared(live: &Live, gangs: &[Gang]) -> Vec<Violation> {
    let groups = gangs.iter().flat_map(|gang| &gang.groups);
    let several = groups.filter_map(|group| {
        let lists = |found: &&Value| podgroups_in(found).iter().any(|(name, _)| *name == group.clique);
        let of: Vec<_> = live.of("PodGang").filter(lists).collect();
        (of.len() > 1).then(|| {
            let names: Vec<_> = of.iter().map(|found| name(found)).collect();
            let message =
                format!("PodClique {} is a podgroup of several PodGangs: {}", group.clique, names.join(", "));
            of.iter().fold(violation(IN_SEVERAL_GANGS, message), |found, gang| {
                found.shown_by_object("lists it", gang)
            })
        })
    });
    several.collect()
}

fn composed(history: &History, gang: &Gang) -> Vec<Violation> {
    let wanted: Vec<_> = gang.groups.iter().map(|group| (group.clique.clone(), group.min)).collect();
    let Some((created, found)) = as_created(history, &gang.name) else {
        return vec![violation(GANG_WITHOUT_PODGROUPS, format!("PodGang {} never had podgroups", gang.name))];
    };
    let mut violations = Vec::new();
    if sorted(found.clone()) != sorted(wanted.clone()) {
        let message = format!(
            "PodGang {} was created with podgroups {}, want {}",
            gang.name,
            listed(&found),
            listed(&wanted)
        );
        violations.push(violation(WRONG_PODGROUPS, message).shown_by("created", created));
    }
    let names = |podgroups: &[(String, usize)]| {
        sorted(podgroups.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
    };
    let changed = versions(history, &gang.name)
        .filter(|version| version.index > created.index)
        .find(|version| names(&podgroups_in(version.object)) != names(&found));
    violations.extend(changed.map(|version| {
        violation(PODGROUPS_CHANGED, format!("PodGang {}: its podgroups changed after creation", gang.name))
            .shown_by("created", created)
            .shown_by("changed", version)
    }));
    violations
}

fn sorted<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all
}

/// Requires that `minReplicas` of these podgroups stays what it was at the entry `since`. It may become 0:
/// some operators report in this way that a gang is placed.
pub fn minimums_stay(
    history: &History,
    gangs: &[Gang],
    since: usize,
    is_chosen: impl Fn(&str) -> bool,
) -> Ruling {
    let before = history.before(since);
    none(gangs.iter().filter_map(|gang| {
        let was = before.get("PodGang", &gang.name)?;
        let initial = podgroups_in(was);
        let has_changed = |(name, min): &(String, usize)| {
            let same = initial.iter().find(|(other, _)| other == name);
            is_chosen(name) && *min != 0 && same.is_some_and(|(_, initial_min)| min != initial_min)
        };
        let mut later = versions(history, &gang.name).filter(|version| version.index >= since);
        let changed = later.find(|version| podgroups_in(version.object).iter().any(has_changed))?;
        let (now, initial) = (listed(&podgroups_in(changed.object)), listed(&initial));
        let message = format!("PodGang {} has podgroups {now}, want the minReplicas of {initial}", gang.name);
        Some(violation(MINIMUM_CHANGED, message).shown_by_object("before", was).shown_by("changed", changed))
    }))
}

fn listed(podgroups: &[(String, usize)]) -> String {
    let all: Vec<_> = podgroups.iter().map(|(name, min)| format!("{name} (minReplicas {min})")).collect();
    format!("[{}]", all.join(", "))
}

pub fn labelled(history: &History, gangs: &[Gang], target: Target) -> Ruling {
    let backend = target.backend();
    none(gangs.iter().filter_map(|gang| {
        let mut all = versions(history, &gang.name).peekable();
        if all.peek().is_none() {
            return Some(violation(GANG_NEVER_CREATED, format!("PodGang {} never existed", gang.name)));
        }
        let other = all.find(|version| version.label(names::SCHEDULER_NAME) != Some(backend))?;
        let label = other.label(names::SCHEDULER_NAME).unwrap_or("absent");
        let message =
            format!("label {} of PodGang {} is {label}, want {backend}", names::SCHEDULER_NAME, gang.name);
        Some(violation(WRONG_SCHEDULER_LABEL, message).shown_by("observed", other))
    }))
}

/// Requires that `Initialized` became True only once all pods existed (GANG-06). Takes PodGangs as created.
pub fn initialized(history: &History, gangs: &[Gang]) -> Ruling {
    let mut creations: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for version in history.pods() {
        creations
            .entry(version.name())
            .or_insert((version.pod().pod_clique().unwrap_or_default(), version.revision()));
    }
    none(gangs.iter().filter_map(|gang| {
        let status = |version: &Version<'_>| {
            condition(version.object, "Initialized")
                .and_then(|found| found["status"].as_str().map(str::to_owned))
        };
        let all: Vec<_> = versions(history, &gang.name).collect();
        let Some(first_true) = all.iter().position(|version| status(version).as_deref() == Some("True"))
        else {
            return Some(violation(
                NEVER_INITIALIZED,
                format!("PodGang {} never became Initialized", gang.name),
            ));
        };
        let (before, after) = all.split_at(first_true);
        if !before.iter().any(|version| status(version).as_deref() == Some("False")) {
            let message = format!("PodGang {} never had condition Initialized=False", gang.name);
            return Some(violation(NEVER_UNINITIALIZED, message).shown_by("Initialized=True", after[0]));
        }
        let too_soon = gang.groups.iter().find_map(|group| {
            let referenced = references(after[0].object, &group.clique).unwrap_or_default();
            let existed = |name: &str| {
                creations.get(name).is_some_and(|(clique, revision)| {
                    *clique == group.clique && *revision < after[0].revision()
                })
            };
            let exist = referenced.iter().filter(|(_, name)| existed(name)).count();
            (exist < group.replicas)
                .then(|| format!("{exist} of {} pods of PodClique {}", group.replicas, group.clique))
        })?;
        let message = format!(
            "PodGang {} became Initialized when {too_soon} existed and were in its podReferences, \
             want all",
            gang.name
        );
        Some(violation(INITIALIZED_EARLY, message).shown_by("Initialized", after[0]))
    }))
}

pub fn stays_initialized(history: &History, gangs: &[Gang]) -> Ruling {
    let is_true = |version: &Version<'_>| {
        condition(version.object, "Initialized").is_some_and(|found| found["status"] == "True")
    };
    none(gangs.iter().filter_map(|gang| {
        let all: Vec<_> = versions(history, &gang.name).skip_while(|version| !is_true(version)).collect();
        let back = all.iter().find(|version| !is_true(version))?;
        let message = format!("PodGang {}: condition Initialized did not stay True", gang.name);
        let found = violation(UNINITIALIZED_AGAIN, message);
        Some(found.shown_by("True", all[0]).shown_by("not True", *back))
    }))
}

pub fn references_are_sorted(live: &Live, gangs: &[Gang]) -> Ruling {
    let groups = gangs.iter().flat_map(|gang| gang.groups.iter().map(move |group| (gang, group)));
    none(groups.filter_map(|(gang, group)| {
        let pod_gang = live.get("PodGang", &gang.name)?;
        let referenced = references(pod_gang, &group.clique)?;
        (!referenced.is_sorted()).then(|| {
            let names = referenced.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
            let message = format!("the podReferences of podgroup {} are not sorted: [{names}]", group.clique);
            violation(UNSORTED_REFERENCES, message).shown_by_object("podReferences", pod_gang)
        })
    }))
}

pub fn references_are_the_pods(live: &Live, gangs: &[Gang]) -> Ruling {
    let groups = gangs.iter().flat_map(|gang| gang.groups.iter().map(move |group| (gang, group)));
    none(groups.filter_map(|(gang, group)| {
        let found = live.get("PodGang", &gang.name);
        let Some((pod_gang, referenced)) =
            found.and_then(|found| Some((found, references(found, &group.clique)?)))
        else {
            return Some(violation(
                PODGROUP_MISSING,
                format!("PodGang {} has no podgroup {}", gang.name, group.clique),
            ));
        };
        let mut pods: Vec<(&str, &str)> = pods_of(live, &group.clique)
            .map(|pod| (pod.0["metadata"]["namespace"].as_str().unwrap_or_default(), pod.name()))
            .collect();
        pods.sort_unstable();
        (sorted(referenced.clone()) != pods).then(|| {
            let names =
                |all: &[(&str, &str)]| all.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
            let clique = &group.clique;
            violation(
                WRONG_REFERENCES,
                format!(
                    "podgroup {clique} has podReferences [{}], want its pods [{}]",
                    names(&referenced),
                    names(&pods)
                ),
            )
            .shown_by_object("podReferences", pod_gang)
        })
    }))
}

fn references<'a>(pod_gang: &'a Value, podgroup: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let podgroups = pod_gang["spec"]["podgroups"].as_array()?;
    let references = podgroups.iter().find(|found| found["name"] == podgroup)?["podReferences"].as_array();
    let text = |value: &'a Value| value.as_str().unwrap_or_default();
    Some(
        references
            .into_iter()
            .flatten()
            .map(|found| (text(&found["namespace"]), text(&found["name"])))
            .collect(),
    )
}

pub fn as_scaled_last(history: &History, live: &Live, set: &str) -> Ruling {
    let all = scaling::gangs(history, history.submitted(set)?, history.entries.len());
    base(live, set, &all)?;
    scaled(history, live, &all)?;
    references_are_the_pods(live, &all)
}

#[cfg(test)]
#[path = "gangs_tests.rs"]
mod tests;
