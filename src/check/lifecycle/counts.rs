use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::{Clique, ScalingGroup, SetReplica, clique_template, replicas};
use conformance_facts::health::{is_bound, is_healthy, is_live, is_ready};
use conformance_facts::updates::is_new;
use conformance_history::{Change, History, Live, Pod, Version, condition, count, counted_pods, text};
use serde_json::{Value, json};

use super::census::Census;
use crate::{Shown, all, none, patience, violation};

const BINDING_NOT_REPORTED: Code = Code::new("binding-not-reported");
const MISCOUNTED: Code = Code::new("miscounted");
const COUNTS_CONTRADICT: Code = Code::new("counts-contradict-each-other");

const BREACHED: &str = "MinAvailableBreached";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    live: usize,
    gated: usize,
    bound: usize,
    healthy: usize,
    ready: usize,
    /// Number of pods that match their PodClique.
    current: usize,
    /// Number of pods that match the current template of the PodCliqueSet.
    new: usize,
}

impl Counted {
    fn of(live: &Live, clique: &str) -> Self {
        let hash =
            live.get("PodClique", clique).map(|found| &found["metadata"]["labels"][names::POD_TEMPLATE_HASH]);
        let pods: Vec<_> =
            live.pods().filter(|pod| pod.pod_clique() == Some(clique) && is_live(*pod)).collect();
        let count = |predicate: &dyn Fn(Pod<'_>) -> bool| pods.iter().filter(|pod| predicate(**pod)).count();
        let is_current = |pod: Pod<'_>| Some(&pod.0["metadata"]["labels"][names::POD_TEMPLATE_HASH]) == hash;
        let template = template_of(live, clique);
        Self {
            live: pods.len(),
            gated: count(&|pod| !pod.gates().is_empty()),
            bound: count(&is_bound),
            healthy: count(&is_healthy),
            ready: count(&is_ready),
            current: count(&is_current),
            new: count(&|pod| template.map_or_else(|| is_current(pod), |template| is_new(pod, template))),
        }
    }

    fn is_new(self, wanted: Option<usize>) -> bool {
        self.new == self.live && Some(self.live) == wanted
    }
}

fn template_of<'a>(live: &'a Live, clique: &str) -> Option<&'a Value> {
    let set = text(&live.get("PodClique", clique)?["metadata"]["labels"][names::PART_OF]);
    clique_template(&live.get("PodCliqueSet", set)?["spec"]["template"], set, clique)
}

fn wanted(live: &Live, kind: &str, name: &str) -> Option<usize> {
    count(&live.get(kind, name)?["spec"]["replicas"])
}

fn differences(object: &Value, wanted: &[(&str, usize)]) -> Vec<String> {
    let described = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let reported = |field: &str| count(&object["status"][field]).unwrap_or(0);
    let differs = wanted.iter().filter(|(field, wanted)| reported(field) != *wanted);
    differs
        .map(|(field, wanted)| format!("{described}: {field} is {}, want {wanted}", reported(field)))
        .collect()
}

fn out_of_bounds(object: &Value, field: &str, least: usize, most: usize) -> Option<String> {
    let described = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let found = count(&object["status"][field]).unwrap_or(0);
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    (found < least || found > most).then(|| format!("{described}: {field} is {found}, want {range}"))
}

/// Whether the object reports a breach as unknown, which is correct during an update.
fn is_breach_unknown(live: &Live, kind: &str, name: &str) -> bool {
    let breached = live.get(kind, name).and_then(|object| condition(object, BREACHED));
    breached.is_some_and(|breached| breached["status"] == "Unknown")
}

fn is_missing(kind: &str, name: &str) -> Vec<String> {
    vec![format!("{kind} {name} does not exist")]
}

pub fn of_clique(live: &Live, clique: &Clique) -> Vec<String> {
    let Some(found) = live.get("PodClique", &clique.name) else {
        return is_missing("PodClique", &clique.name);
    };
    let counted = Counted::of(live, &clique.name);
    let wanted = [
        ("replicas", counted.live),
        ("scheduledReplicas", counted.bound),
        ("readyReplicas", counted.ready),
        ("scheduleGatedReplicas", counted.gated),
        ("updatedReplicas", counted.current),
    ];
    differences(found, &wanted)
}

pub fn of_group(live: &Live, group: &ScalingGroup) -> Vec<String> {
    const KIND: &str = "PodCliqueScalingGroup";
    let Some(found) = live.get(KIND, &group.name) else { return is_missing(KIND, &group.name) };
    let tally = Tally::of(live, group);
    let wanted = [
        ("replicas", tally.size),
        ("scheduledReplicas", tally.scheduled),
        ("availableReplicas", tally.available),
    ];
    // Accept a range, because upstream's API leaves open whether an updated replica must be available.
    let updated = out_of_bounds(found, "updatedReplicas", tally.updated, tally.new);
    differences(found, &wanted).into_iter().chain(updated).collect()
}

/// Compares the counts in the status of a PodCliqueSet with its pods. An available replica has no breach
/// (upstream's API) or has `minAvailable` ready pods (upstream's operator); both are correct.
pub fn of_set(live: &Live, pcs: &Value) -> Vec<String> {
    let name = text(&pcs["metadata"]["name"]);
    let Some(found) = live.get("PodCliqueSet", name) else { return is_missing("PodCliqueSet", name) };
    let size = count(&found["spec"]["replicas"]).unwrap_or(0);
    let (mut available, mut unbreached, mut updated, mut new) = (0, 0, 0, 0);
    for replica in replicas_of(live, pcs) {
        let cliques = || replica.standalone.iter().map(|clique| (clique, Counted::of(live, &clique.name)));
        let tallies: Vec<_> = replica.groups.iter().map(|group| (group, Tally::of(live, group))).collect();
        let is_available = cliques().all(|(clique, counted)| counted.ready >= clique.min)
            && tallies.iter().all(|(group, tally)| tally.available >= group.min);
        let is_unbreached = cliques().all(|(clique, counted)| counted.healthy >= clique.min)
            && tallies.iter().all(|(group, tally)| tally.healthy >= group.min);
        let is_breach_unknown = cliques()
            .any(|(clique, _)| is_breach_unknown(live, "PodClique", &clique.name))
            || tallies.iter().any(|(group, _)| is_breach_unknown(live, "PodCliqueScalingGroup", &group.name));
        let are_new =
            cliques().all(|(clique, counted)| counted.is_new(wanted(live, "PodClique", &clique.name)));
        let is_counted = is_available && !is_breach_unknown;
        available += usize::from(is_counted);
        unbreached += usize::from(is_available || is_unbreached);
        updated += usize::from(
            is_counted && are_new && tallies.iter().all(|(_, tally)| tally.updated == tally.size),
        );
        new += usize::from(are_new && tallies.iter().all(|(_, tally)| tally.new == tally.size));
    }
    let bounds = [("availableReplicas", available, unbreached), ("updatedReplicas", updated, new)];
    let faults =
        bounds.into_iter().filter_map(|(field, least, most)| out_of_bounds(found, field, least, most));
    differences(found, &[("replicas", size)]).into_iter().chain(faults).collect()
}

pub fn replicas_of(live: &Live, pcs: &Value) -> Vec<SetReplica> {
    let found = live.get("PodCliqueSet", text(&pcs["metadata"]["name"]));
    let mut grown = pcs.clone();
    grown["spec"]["replicas"] = json!(found.and_then(|found| count(&found["spec"]["replicas"])));
    replicas(&grown)
}

#[derive(Debug, Default)]
struct Tally {
    size: usize,
    scheduled: usize,
    healthy: usize,
    available: usize,
    /// Number of available replicas that have only new pods.
    updated: usize,
    new: usize,
}

impl Tally {
    fn of(live: &Live, group: &ScalingGroup) -> Self {
        let size = wanted(live, "PodCliqueScalingGroup", &group.name).unwrap_or(group.replicas);
        let mut tally = Self { size, ..Self::default() };
        for index in 0..size {
            let members: Vec<_> = group
                .replica(index)
                .map(|member| {
                    (member.min, wanted(live, "PodClique", &member.name), Counted::of(live, &member.name))
                })
                .collect();
            let all = |predicate: fn(usize, Option<usize>, Counted) -> bool| {
                members.iter().all(|(min, wanted, counted)| predicate(*min, *wanted, *counted))
            };
            let is_scheduled = all(|min, _, counted| counted.bound >= min);
            let is_available = is_scheduled && all(|min, _, counted| counted.ready >= min);
            tally.scheduled += usize::from(is_scheduled);
            tally.healthy += usize::from(is_scheduled && all(|min, _, counted| counted.healthy >= min));
            tally.available += usize::from(is_available);
            let is_new = all(|_, wanted, counted| counted.is_new(wanted));
            tally.updated += usize::from(is_available && is_new);
            tally.new += usize::from(is_new);
        }
        tally
    }
}

pub fn breach_of_clique(live: &Live, clique: &Clique) -> Vec<String> {
    let Some(found) = live.get("PodClique", &clique.name) else {
        return is_missing("PodClique", &clique.name);
    };
    let counted = Counted::of(live, &clique.name);
    let wanted = if counted.bound < clique.min {
        ("True", Some("ScheduledReplicasBelowMinAvailable"))
    } else if counted.healthy < clique.min {
        ("True", Some("InsufficientReadyPods"))
    } else {
        ("False", None)
    };
    condition_differs(found, wanted)
}

pub fn breach_of_group(live: &Live, group: &ScalingGroup) -> Vec<String> {
    const KIND: &str = "PodCliqueScalingGroup";
    let Some(found) = live.get(KIND, &group.name) else { return is_missing(KIND, &group.name) };
    let wanted = if Tally::of(live, group).healthy < group.min {
        ("True", Some("InsufficientAvailablePodCliqueScalingGroupReplicas"))
    } else {
        ("False", None)
    };
    condition_differs(found, wanted)
}

fn condition_differs(object: &Value, (status, reason): (&str, Option<&str>)) -> Vec<String> {
    let described = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let breached = condition(object, BREACHED).unwrap_or(&Value::Null);
    let is_correct = breached["status"] == status && reason.is_none_or(|reason| breached["reason"] == reason);
    let found = format!("{}/{}", text(&breached["status"]), text(&breached["reason"]));
    let wanted = reason.map_or(status.to_owned(), |reason| format!("{status}/{reason}"));
    if is_correct { Vec::new() } else { vec![format!("{described}: {BREACHED} is {found}, want {wanted}")] }
}

pub fn ruling(live: &Live, faults: Vec<String>) -> Ruling {
    none(faults.into_iter().map(|fault| {
        let name = fault.split([' ', ':']).nth(1).unwrap_or_default().to_owned();
        let mut kinds = ["PodClique", "PodCliqueScalingGroup", "PodCliqueSet"].into_iter();
        let object =
            kinds.find(|kind| fault.starts_with(&format!("{kind} "))).and_then(|kind| live.get(kind, &name));
        let found = violation(MISCOUNTED, fault);
        match object {
            Some(object) => found.shown_by_object("its status", object),
            None => found,
        }
    }))
}

/// Requires consistent counts: ready ≤ scheduled ≤ replicas, and gated + scheduled ≤ replicas (STAT-01).
pub fn counts_are_consistent(history: &History) -> Ruling {
    let mut blamed = std::collections::BTreeSet::new();
    none(history.of("PodClique").filter(|version| version.change != Change::Deleted).filter_map(|version| {
        let reported = |field: &str| count(&version.object["status"][field]).unwrap_or(0);
        let (replicas, scheduled) = (reported("replicas"), reported("scheduledReplicas"));
        let (ready, gated) = (reported("readyReplicas"), reported("scheduleGatedReplicas"));
        let is_fine = ready <= scheduled && scheduled <= replicas && gated + scheduled <= replicas;
        (!is_fine && blamed.insert(version.uid().to_owned())).then(|| {
            let message = format!(
                "PodClique {}: its counts contradict each other: {replicas} replicas, {scheduled} \
                 scheduled, {ready} ready, {gated} gated",
                version.name()
            );
            violation(COUNTS_CONTRADICT, message).shown_by("observed", version)
        })
    }))
}

/// Requires that the status of a clique follows its number of bound pods (STAT-02). A number that changes
/// again within five seconds is not checked, and neither is the state of containers.
pub fn binding_is_reported(history: &History, clique: &Clique) -> Ruling {
    let mut census = Census::default();
    let mut changes: Vec<(Version<'_>, usize)> = Vec::new();
    for version in history.versions() {
        if census.apply(version) && version.kind() == "Pod" {
            let bound = census.bound(&clique.name);
            if changes.last().map_or(0, |(_, bound)| *bound) != bound {
                changes.push((version, bound));
            }
        }
    }
    let (end, patience) = (history.last_at(), patience(history));
    let mut rulings = Vec::new();
    for (number, (version, bound)) in changes.iter().enumerate() {
        let due = version.at.saturating_add(patience).unwrap_or(version.at);
        if changes.get(number + 1).is_some_and(|(next, _)| next.at <= due) {
            continue;
        }
        let last = history.named("PodClique", &clique.name).filter(|version| version.at <= due).last();
        let is_reported = last.is_some_and(|last| {
            let scheduled =
                condition(last.object, "PodCliqueScheduled").is_some_and(|found| found["status"] == "True");
            count(&last.object["status"]["scheduledReplicas"]).unwrap_or(0) == *bound
                && scheduled == (*bound >= clique.min)
        });
        rulings.push(if is_reported {
            Ok(())
        } else if end <= due {
            Err(Broken::NotReached(format!(
                "PodClique {} was not observed for {} s",
                clique.name,
                patience.as_secs()
            )))
        } else {
            let message = format!(
                "PodClique {} had {} bound, but its status did not report that within {} s",
                clique.name,
                counted_pods(*bound),
                patience.as_secs()
            );
            let found = violation(BINDING_NOT_REPORTED, message).shown_by("bound", *version);
            none([last.into_iter().fold(found, |found, last| found.shown_by("its status", last))])
        });
    }
    if changes.is_empty() {
        Err(Broken::NotReached(format!("no pod of PodClique {} was ever bound", clique.name)))
    } else {
        all(rulings)
    }
}

pub fn is_observed(live: &Live, set: &str) -> bool {
    let kinds = ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique"];
    let of_set = |object: &&Value| {
        object["metadata"]["name"] == set || object["metadata"]["labels"][names::PART_OF] == set
    };
    let mut all = kinds.into_iter().flat_map(|kind| live.of(kind)).filter(of_set);
    all.all(|object| object["status"]["observedGeneration"] == object["metadata"]["generation"])
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;
