//! The counts that statuses should have, recounted from the existing pods and objects (STAT-01 to STAT-04,
//! TERM-01).

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::{Clique, ScalingGroup, SetReplica, clique_template, replicas};
use conformance_facts::health::{is_bound, is_healthy, is_live, is_ready};
use conformance_facts::updates::is_new;
use conformance_history::{Change, History, Live, Pod, Version, condition, count, text};
use serde_json::{Value, json};

use super::census::Census;
use crate::{Shown, all, none, patience, violation};

const BINDING_NOT_FOLLOWED: Code = Code::new("binding-not-followed");
const MISCOUNTED: Code = Code::new("miscounted");
const COUNTS_CONTRADICT: Code = Code::new("counts-contradict-each-other");

const BREACHED: &str = "MinAvailableBreached";

/// The pods of a clique, counted as a status counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    live: usize,
    gated: usize,
    bound: usize,
    healthy: usize,
    ready: usize,
    /// Pods that match their PodClique.
    current: usize,
    /// Pods that match the current template of the PodCliqueSet.
    new: usize,
}

impl Counted {
    fn of(live: &Live, clique: &str) -> Self {
        let hash =
            live.get("PodClique", clique).map(|found| &found["metadata"]["labels"][names::POD_TEMPLATE_HASH]);
        let pods: Vec<_> =
            live.pods().filter(|pod| pod.pod_clique() == Some(clique) && is_live(*pod)).collect();
        let count = |holds: &dyn Fn(Pod<'_>) -> bool| pods.iter().filter(|pod| holds(**pod)).count();
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

    /// Whether all wanted pods exist with the current template of the PodCliqueSet.
    fn is_new(self, wanted: Option<usize>) -> bool {
        self.new == self.live && Some(self.live) == wanted
    }
}

/// The current template of the PodCliqueSet for a PodClique.
fn template_of<'a>(live: &'a Live, clique: &str) -> Option<&'a Value> {
    let set = text(&live.get("PodClique", clique)?["metadata"]["labels"][names::PART_OF]);
    clique_template(&live.get("PodCliqueSet", set)?["spec"]["template"], set, clique)
}

/// The replicas that an object requests.
fn wanted(live: &Live, kind: &str, name: &str) -> Option<usize> {
    count(&live.get(kind, name)?["spec"]["replicas"])
}

/// Describes the counts of a status that differ from the wanted ones.
fn differences(object: &Value, wanted: &[(&str, usize)]) -> Vec<String> {
    let of = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let said = |field: &str| count(&object["status"][field]).unwrap_or(0);
    let differs = wanted.iter().filter(|(field, wanted)| said(field) != *wanted);
    differs.map(|(field, wanted)| format!("{of}: {field} is {}, want {wanted}", said(field))).collect()
}

/// Describes what is wrong with a count in a status that may be anything from `least` to `most`.
fn out_of_bounds(object: &Value, field: &str, least: usize, most: usize) -> Option<String> {
    let of = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let said = count(&object["status"][field]).unwrap_or(0);
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    (said < least || said > most).then(|| format!("{of}: {field} is {said}, want {range}"))
}

/// Whether an object does not say if its minimum is breached, as during an update.
fn is_undecided(live: &Live, kind: &str, name: &str) -> bool {
    let said = live.get(kind, name).and_then(|object| condition(object, BREACHED));
    said.is_some_and(|said| said["status"] == "Unknown")
}

fn is_missing(kind: &str, name: &str) -> Vec<String> {
    vec![format!("{kind} {name} does not exist")]
}

/// Describes what is wrong with the counts of a PodClique (STAT-01).
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

/// Describes what is wrong with the counts of a scaling group (STAT-03).
pub fn of_group(live: &Live, group: &ScalingGroup) -> Vec<String> {
    const KIND: &str = "PodCliqueScalingGroup";
    let Some(found) = live.get(KIND, &group.name) else { return is_missing(KIND, &group.name) };
    let tally = Tally::of(live, group);
    let wanted =
        [("replicas", tally.size), ("scheduledReplicas", tally.held), ("availableReplicas", tally.available)];
    // Upstream's API does not say whether a replica has to be available to count as updated.
    let updated = out_of_bounds(found, "updatedReplicas", tally.updated, tally.new);
    differences(found, &wanted).into_iter().chain(updated).collect()
}

/// What is wrong with the counts of a PodCliqueSet (STAT-04).
///
/// Upstream's API counts as available a replica that is not breached, and its operator one that has minAvailable ready.
/// They differ while pods start, and during an update: then both are right.
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
        let is_undecided = cliques().any(|(clique, _)| is_undecided(live, "PodClique", &clique.name))
            || tallies.iter().any(|(group, _)| is_undecided(live, "PodCliqueScalingGroup", &group.name));
        let are_new =
            cliques().all(|(clique, counted)| counted.is_new(wanted(live, "PodClique", &clique.name)));
        let has_to_count = is_available && !is_undecided;
        available += usize::from(has_to_count);
        unbreached += usize::from(is_available || is_unbreached);
        updated += usize::from(
            has_to_count && are_new && tallies.iter().all(|(_, tally)| tally.updated == tally.size),
        );
        new += usize::from(are_new && tallies.iter().all(|(_, tally)| tally.new == tally.size));
    }
    let bounds = [("availableReplicas", available, unbreached), ("updatedReplicas", updated, new)];
    let faults =
        bounds.into_iter().filter_map(|(field, least, most)| out_of_bounds(found, field, least, most));
    differences(found, &[("replicas", size)]).into_iter().chain(faults).collect()
}

/// The current number of replicas of a PodCliqueSet, in the shape in which it was submitted.
pub fn replicas_of(live: &Live, pcs: &Value) -> Vec<SetReplica> {
    let found = live.get("PodCliqueSet", text(&pcs["metadata"]["name"]));
    let mut grown = pcs.clone();
    grown["spec"]["replicas"] = json!(found.and_then(|found| count(&found["spec"]["replicas"])));
    replicas(&grown)
}

#[derive(Debug, Default)]
struct Tally {
    size: usize,
    held: usize,
    healthy: usize,
    available: usize,
    updated: usize,
    /// Available or not.
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
            let all = |holds: fn(usize, Option<usize>, Counted) -> bool| {
                members.iter().all(|(min, wanted, counted)| holds(*min, *wanted, *counted))
            };
            let is_held = all(|min, _, counted| counted.bound >= min);
            let is_available = is_held && all(|min, _, counted| counted.ready >= min);
            tally.held += usize::from(is_held);
            tally.healthy += usize::from(is_held && all(|min, _, counted| counted.healthy >= min));
            tally.available += usize::from(is_available);
            let is_new = all(|_, wanted, counted| counted.is_new(wanted));
            tally.updated += usize::from(is_available && is_new);
            tally.new += usize::from(is_new);
        }
        tally
    }
}

/// Describes what is wrong with the `MinAvailableBreached` condition of a PodClique (TERM-01).
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
    verdict_differs(found, wanted)
}

/// Describes what is wrong with the `MinAvailableBreached` condition of a scaling group (TERM-01).
pub fn breach_of_group(live: &Live, group: &ScalingGroup) -> Vec<String> {
    const KIND: &str = "PodCliqueScalingGroup";
    let Some(found) = live.get(KIND, &group.name) else { return is_missing(KIND, &group.name) };
    let is_breached = Tally::of(live, group).healthy < group.min;
    verdict_differs(found, (if is_breached { "True" } else { "False" }, None))
}

fn verdict_differs(object: &Value, (status, reason): (&str, Option<&str>)) -> Vec<String> {
    let of = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let said = condition(object, BREACHED).unwrap_or(&Value::Null);
    let is_right = said["status"] == status && reason.is_none_or(|reason| said["reason"] == reason);
    let found = format!("{}/{}", text(&said["status"]), text(&said["reason"]));
    let wanted = reason.map_or(status.to_owned(), |reason| format!("{status}/{reason}"));
    if is_right { Vec::new() } else { vec![format!("{of}: {BREACHED} is {found}, want {wanted}")] }
}

/// The faults of a recount as a ruling.
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

/// In every version the counts of a PodClique are consistent (STAT-01): ready ≤ scheduled ≤ replicas, gated +
/// scheduled ≤ replicas.
pub fn go_together(history: &History) -> Ruling {
    let mut blamed = std::collections::BTreeSet::new();
    none(history.of("PodClique").filter(|version| version.change != Change::Deleted).filter_map(|version| {
        let said = |field: &str| count(&version.object["status"][field]).unwrap_or(0);
        let (replicas, scheduled) = (said("replicas"), said("scheduledReplicas"));
        let (ready, gated) = (said("readyReplicas"), said("scheduleGatedReplicas"));
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

/// Five seconds after a change of a clique's number of bound pods, its status reports the number and whether
/// it suffices (STAT-02). A number that changes again within that time is not checked. The state of the
/// containers does not matter.
pub fn follow_binding(history: &History, clique: &Clique) -> Ruling {
    let mut census = Census::default();
    let mut changes: Vec<(Version<'_>, usize)> = Vec::new();
    for version in history.versions() {
        if census.take(version) && version.kind() == "Pod" {
            let bound = census.bound(&clique.name);
            if changes.last().map_or(0, |(_, bound)| *bound) != bound {
                changes.push((version, bound));
            }
        }
    }
    let (end, patience) = (history.last_at(), patience(history));
    let mut rulings = Vec::new();
    for (place, (version, bound)) in changes.iter().enumerate() {
        let due = version.at.saturating_add(patience).unwrap_or(version.at);
        if changes.get(place + 1).is_some_and(|(next, _)| next.at <= due) {
            continue;
        }
        let told = history.named("PodClique", &clique.name).filter(|told| told.at <= due).last();
        let is_told = told.is_some_and(|told| {
            let scheduled =
                condition(told.object, "PodCliqueScheduled").is_some_and(|found| found["status"] == "True");
            count(&told.object["status"]["scheduledReplicas"]).unwrap_or(0) == *bound
                && scheduled == (*bound >= clique.min)
        });
        rulings.push(if is_told {
            Ok(())
        } else if end <= due {
            Err(Broken::NotReached(format!(
                "PodClique {} was not observed for {} s",
                clique.name,
                patience.as_secs()
            )))
        } else {
            let message = format!(
                "{bound} pods of PodClique {} were bound, but its status did not report that within {} s",
                clique.name,
                patience.as_secs()
            );
            let found = violation(BINDING_NOT_FOLLOWED, message).shown_by("bound", *version);
            none([told.into_iter().fold(found, |found, told| found.shown_by("its status", told))])
        });
    }
    match changes.is_empty() {
        true => Err(Broken::NotReached(format!("no pod of PodClique {} was ever bound", clique.name))),
        false => all(rulings),
    }
}

/// Whether a PodCliqueSet and all its objects report their current generation as observed.
pub fn is_observed(live: &Live, set: &str) -> bool {
    let kinds = ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique"];
    let of_set = |object: &&Value| {
        object["metadata"]["name"] == set || object["metadata"]["labels"][names::PART_OF] == set
    };
    let mut all = kinds.into_iter().flat_map(|kind| live.of(kind)).filter(of_set);
    all.all(|object| object["status"]["observedGeneration"] == object["metadata"]["generation"])
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};

    use super::*;

    fn pod(name: &str, clique: &str, state: &str) -> Value {
        let mut pod = object("Pod", name);
        pod["metadata"]["labels"] = json!({names::POD_CLIQUE: clique, names::POD_TEMPLATE_HASH: "h"});
        match state {
            "gated" => pod["spec"]["schedulingGates"] = json!([{"name": names::GATE}]),
            "pending" => {}
            _ => pod["spec"]["nodeName"] = json!("n"),
        }
        let started = json!([{"started": true, "ready": false}]);
        match state {
            "ready" => pod["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]}),
            "broken" => pod["status"] = json!({"containerStatuses": started}),
            "going" => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            "old" => pod["metadata"]["labels"][names::POD_TEMPLATE_HASH] = json!("g"),
            _ => {}
        }
        pod
    }

    fn clique(name: &str, min: usize, replicas: usize) -> Clique {
        Clique { name: name.into(), min, replicas }
    }

    fn pclq(name: &str, replicas: usize, status: Value) -> Value {
        let mut pclq = object("PodClique", name);
        pclq["metadata"]["labels"] = json!({names::POD_TEMPLATE_HASH: "h"});
        pclq["spec"]["replicas"] = json!(replicas);
        pclq["status"] = status;
        pclq
    }

    fn live(objects: Vec<Value>) -> Live {
        Story::flat().all_added(objects).end().end()
    }

    #[test]
    fn a_clique_counts_its_live_pods() {
        let states = ["gated", "pending", "bound", "ready", "broken", "going", "old"];
        let pods = states.iter().map(|state| pod(state, "c", state));
        let right = json!({"replicas": 6, "scheduledReplicas": 4, "readyReplicas": 1, "scheduleGatedReplicas": 1,
            "updatedReplicas": 5});
        let with = |status| live(pods.clone().chain([pclq("c", 6, status)]).collect());
        assert!(of_clique(&with(right.clone()), &clique("c", 1, 6)).is_empty());
        let mut wrong = right;
        wrong["scheduledReplicas"] = json!(5);
        let faults = of_clique(&with(wrong), &clique("c", 1, 6));
        assert_eq!(faults, ["PodClique c: scheduledReplicas is 5, want 4"]);
    }

    #[rstest::rstest]
    #[case::unbound(&["pending", "ready"], "True", "ScheduledReplicasBelowMinAvailable")]
    #[case::unready(&["broken", "ready"], "True", "InsufficientReadyPods")]
    #[case::starting(&["bound", "ready"], "False", "SufficientReadyPods")]
    #[case::terminating(&["going", "ready"], "True", "ScheduledReplicasBelowMinAvailable")]
    fn a_breach_follows_from_the_pods(#[case] states: &[&str], #[case] status: &str, #[case] reason: &str) {
        let saying = |status: &str, reason: &str| {
            let said = json!({"conditions": [{"type": BREACHED, "status": status, "reason": reason}]});
            let pods = states.iter().map(|state| pod(state, "c", state));
            breach_of_clique(&live(pods.chain([pclq("c", 2, said)]).collect()), &clique("c", 2, 2))
        };
        assert!(saying(status, reason).is_empty(), "{:?}", saying(status, reason));
        let other = if status == "True" { "False" } else { "True" };
        assert_eq!(saying(other, "Any").len(), 1);
    }

    /// A PodCliqueSet with one scaling group, of which one replica is needed. Each replica has one pod in the
    /// given state.
    fn grouped(states: &[&str], counts: Value, set: Value) -> (Vec<String>, Vec<String>) {
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "b", "spec": {}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": states.len(), "cliqueNames": ["b"]}],
        }}});
        let member = |index: usize| format!("w-0-sg-{index}-b");
        let pods =
            states.iter().enumerate().map(|(index, state)| pod(&format!("p{index}"), &member(index), state));
        let pclqs = (0..states.len()).map(|index| pclq(&member(index), 1, Value::Null));
        let mut pcsg = object("PodCliqueScalingGroup", "w-0-sg");
        (pcsg["spec"]["replicas"], pcsg["status"]) = (json!(states.len()), counts);
        let mut found = object("PodCliqueSet", "w");
        (found["spec"]["replicas"], found["status"]) = (json!(1), set);
        let live = live(pods.chain(pclqs).chain([pcsg, found]).collect());
        (of_group(&live, &replicas(&pcs)[0].groups[0]), of_set(&live, &pcs))
    }

    #[rstest::rstest]
    #[case(&["ready", "ready"], [2, 2, 2, 2], [1, 1, 1])]
    #[case(&["ready", "bound"], [2, 2, 1, 1], [1, 1, 0])]
    #[case(&["bound", "pending"], [2, 1, 0, 0], [1, 0, 0])]
    fn groups_and_sets(#[case] states: &[&str], #[case] group: [usize; 4], #[case] set: [usize; 3]) {
        let fields = ["replicas", "scheduledReplicas", "availableReplicas", "updatedReplicas"];
        let counts: Value = fields
            .iter()
            .zip(group)
            .map(|(field, n)| ((*field).to_owned(), json!(n)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let of_set = json!({"replicas": set[0], "availableReplicas": set[1], "updatedReplicas": set[2]});
        let (group, set) = grouped(states, counts, of_set);
        assert!(group.is_empty() && set.is_empty(), "{group:?} {set:?}");
        let (group, set) = grouped(states, json!({"availableReplicas": 7}), json!({"availableReplicas": 7}));
        assert!(!group.is_empty() && !set.is_empty());
    }

    #[rstest::rstest]
    #[case::in_time(3, 2, "True", true)]
    #[case::late(6, 2, "True", false)]
    #[case::one_less(3, 1, "True", false)]
    #[case::not_said_to_be_enough(3, 2, "False", false)]
    fn bindings_are_followed(
        #[case] after: i64,
        #[case] said: usize,
        #[case] enough: &str,
        #[case] right: bool,
    ) {
        let saying = |said: usize, enough: &str| {
            let conditions = json!([{"type": "PodCliqueScheduled", "status": enough}]);
            pclq("c", 2, json!({"scheduledReplicas": said, "conditions": conditions}))
        };
        let pods = [pod("a", "c", "pending"), pod("b", "c", "pending")];
        let made = Story::flat().added(saying(0, "False")).all_added(pods);
        let bound = made.modified(pod("a", "c", "bound")).modified(pod("b", "c", "bound"));
        let told = bound.later(after).modified(saying(said, enough)).later(9).added(object("Node", "n"));
        let found = follow_binding(&told.end(), &clique("c", 2, 2));
        assert_eq!(found.is_ok(), right, "{found:?}");
        if !right {
            assert!(crate::message(found).contains("2 pods of PodClique c were bound, but"));
        }
        let never = follow_binding(&Story::flat().added(saying(0, "False")).end(), &clique("c", 2, 2));
        assert!(matches!(never, Err(Broken::NotReached(_))));
    }

    #[rstest::rstest]
    #[case(3, 2, 2, 1, true)]
    #[case(3, 2, 3, 0, false)]
    #[case(3, 4, 0, 0, false)]
    #[case(3, 2, 0, 2, false)]
    fn contradictions(
        #[case] replicas: usize,
        #[case] scheduled: usize,
        #[case] ready: usize,
        #[case] gated: usize,
        #[case] fine: bool,
    ) {
        let status = json!({"replicas": replicas, "scheduledReplicas": scheduled, "readyReplicas": ready,
            "scheduleGatedReplicas": gated});
        assert_eq!(go_together(&Story::flat().added(pclq("c", 3, status)).end()).is_ok(), fine);
    }
}
