//! Checks of pods on real kubelets. Every version counts, because the last one hides a container's restart.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::{Gang, Group};
use conformance_facts::cliques::pods_of;
use conformance_facts::kubelets::{containers, gpus, not_running, runs, waits};
use conformance_history::{Change, History, Live, Pod, Version, condition, count, text};
use serde_json::Value;

use super::{Shown, deviates, ensure, none, violation};

const PODS_NOT_RUNNING: Code = Code::new("pods-not-running");
const OBJECT_MISSING: Code = Code::new("object-missing");
const WRONG_STATUS: Code = Code::new("wrong-status");
const REPORTED_READY_TOO_EARLY: Code = Code::new("reported-ready-too-early");
const SILENT_ABOUT_IMAGE: Code = Code::new("silent-about-image");
const DISTURBED: Code = Code::new("disturbed");
const PODS_LEFT_ON_NODE: Code = Code::new("pods-left-on-node");
const WRONG_ALLOCATABLE_GPUS: Code = Code::new("wrong-allocatable-gpus");

const NOT_PULLED: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

fn groups(gangs: &[Gang]) -> impl Iterator<Item = &Group> {
    gangs.iter().flat_map(|gang| &gang.groups)
}

/// Requires that all pods run, including surplus (KLT-01). A violation quotes the status of one pod.
pub fn all_run(live: &Live, gangs: &[Gang]) -> Ruling {
    none(not_running(live, gangs).map(|found| deviates(PODS_NOT_RUNNING, found)))
}

/// Requires that the statuses count all pods as ready (KLT-01). Other counts are judged by STAT.
pub fn statuses_follow(live: &Live, set: &str, gangs: &[Gang]) -> Ruling {
    let cliques = groups(gangs)
        .flat_map(|group| counted(live, "PodClique", &group.clique, "readyReplicas", group.replicas));
    let scaling_groups = scaling_groups(gangs).into_iter().flat_map(|(name, replicas)| {
        counted(live, "PodCliqueScalingGroup", name, "availableReplicas", replicas)
    });
    let replicas = gangs.iter().filter(|gang| gang.is_base).count();
    let of_set = counted(live, "PodCliqueSet", set, "availableReplicas", replicas);
    none(cliques.chain(scaling_groups).chain(of_set))
}

fn scaling_groups(gangs: &[Gang]) -> BTreeMap<&str, usize> {
    let mut replicas: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (name, index) in groups(gangs).filter_map(|group| group.scaling_group.as_ref()) {
        replicas.entry(name.as_str()).or_default().insert(*index);
    }
    replicas.into_iter().map(|(name, indexes)| (name, indexes.len())).collect()
}

fn counted(live: &Live, kind: &str, name: &str, field: &str, wanted: usize) -> Option<Violation> {
    let Some(object) = live.get(kind, name) else {
        return Some(violation(OBJECT_MISSING, format!("{kind} {name} does not exist")));
    };
    let found = count(&object["status"][field]).unwrap_or(0);
    (found != wanted).then(|| {
        violation(WRONG_STATUS, format!("{kind} {name}: {field} is {found}, want {wanted}"))
            .shown_by_object("its status", object)
    })
}

/// Requires that no status counted pods, or replicas of pods, as ready before they were.
pub fn ready_count_is_not_early(history: &History, set: &str, gangs: &[Gang]) -> Ruling {
    let mut ready_since: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for version in history.pods().filter(|version| is_true(version.object, "Ready")) {
        let clique = version.pod().pod_clique().unwrap_or_default();
        ready_since.entry(version.uid()).or_insert((clique, version.revision()));
    }
    let pods_by = |clique: &str, revision: u64| {
        ready_since.values().filter(|(of, since)| *of == clique && *since < revision).count()
    };
    let is_ready_by = |group: &Group, revision: u64| pods_by(&group.clique, revision) >= group.min;
    let replicas_by = |name: &str, revision: u64| {
        let mut replicas: BTreeMap<usize, bool> = BTreeMap::new();
        for group in groups(gangs) {
            if let Some((_, index)) = group.scaling_group.as_ref().filter(|(of, _)| of == name) {
                *replicas.entry(*index).or_insert(true) &= is_ready_by(group, revision);
            }
        }
        replicas.values().filter(|is_ready| **is_ready).count()
    };
    // A base PodGang has the cliques and the replicas of scaling groups that its PodCliqueSet replica needs.
    let is_available_by = |base: &Gang, revision: u64| {
        let mut standalone = base.groups.iter().filter(|group| group.scaling_group.is_none());
        let mut of_groups = scaling_groups(std::slice::from_ref(base)).into_iter();
        standalone.all(|group| is_ready_by(group, revision))
            && of_groups.all(|(name, needed)| replicas_by(name, revision) >= needed)
    };
    let cliques = groups(gangs).filter_map(|group| {
        let by = |revision| pods_by(&group.clique, revision);
        reported_early(history, ("PodClique", group.clique.as_str()), ("readyReplicas", "pods"), by)
    });
    let of_groups = scaling_groups(gangs).into_keys().filter_map(|name| {
        let by = |revision| replicas_by(name, revision);
        reported_early(history, ("PodCliqueScalingGroup", name), ("availableReplicas", "replicas"), by)
    });
    let available_by = |revision| {
        let bases = gangs.iter().filter(|gang| gang.is_base);
        bases.filter(|base| is_available_by(base, revision)).count()
    };
    let of_set =
        reported_early(history, ("PodCliqueSet", set), ("availableReplicas", "replicas"), available_by);
    none(cliques.chain(of_groups).chain(of_set))
}

fn reported_early<'a>(
    history: &'a History,
    (kind, name): (&'a str, &'a str),
    (field, parts): (&str, &str),
    ready_by: impl Fn(u64) -> usize,
) -> Option<Violation> {
    let reported = |version: &Version<'_>| count(&version.object["status"][field]).unwrap_or(0);
    let early = history.named(kind, name).find(|version| {
        version.change != Change::Deleted && reported(version) > ready_by(version.revision())
    })?;
    let message = format!(
        "{kind} {name}: {field} was {} when {} of its {parts} had been Ready",
        reported(&early),
        ready_by(early.revision())
    );
    Some(violation(REPORTED_READY_TOO_EARLY, message).shown_by("reported", early))
}

/// Requires that no pod of the clique counts as ready (KLT-06).
pub fn clique_is_not_ready(live: &Live, clique: &str) -> Ruling {
    none(counted(live, "PodClique", clique, "readyReplicas", 0))
}

pub fn reports_image_failure(live: &Live, clique: &str) -> Ruling {
    let reports_failure = |pod: Pod<'_>| {
        waits(pod).any(|(reason, message)| NOT_PULLED.contains(&reason) && !message.is_empty())
    };
    ensure(pods_of(live, clique).any(reports_failure), || {
        let found = violation(
            SILENT_ABOUT_IMAGE,
            format!("no pod of PodClique {clique} reports why its image is not pulled"),
        );
        match pods_of(live, clique).next() {
            Some(pod) => found.shown_by_object("its status", pod.0),
            None => found,
        }
    })
}

/// Requires that running pods stay on their node without a container restart. `NotReached` if no pod ran.
pub fn kept_running(history: &History, since: usize, until: usize) -> Ruling {
    others_kept_running(history, since, until, &[])
}

/// Like [`kept_running`], except for pods with these names.
pub fn others_kept_running(history: &History, since: usize, until: usize, lost: &[&str]) -> Ruling {
    let before = history.before(since);
    let others = before.pods().filter(|pod| !lost.contains(&pod.name()));
    let ran: Vec<Pod<'_>> = others.filter(|pod| runs(*pod)).collect();
    if ran.is_empty() {
        return Err(Broken::NotReached("no pod was running before the disturbance".into()));
    }
    none(ran.into_iter().filter_map(|was| {
        let mut later = history
            .pods()
            .filter(|version| version.index > since && version.index < until && version.uid() == was.uid());
        later.find_map(|version| {
            let what = disturbed(was, version)?;
            let found = violation(DISTURBED, format!("Pod {} {what}, want it to keep running", was.name()))
                .shown_by("disturbed", version);
            Some(found.shown_by_object("before", was.0))
        })
    }))
}

fn disturbed(was: Pod<'_>, version: Version<'_>) -> Option<String> {
    let now = version.pod();
    if version.change == Change::Deleted || now.is_terminating() {
        return Some("was deleted".into());
    }
    if now.node() != was.node() {
        return Some(format!("moved to Node {}", now.node().unwrap_or("no node")));
    }
    if now.0["status"]["phase"] != "Running" {
        return Some(format!("is in phase {}", text(&now.0["status"]["phase"])));
    }
    let other = |container: &&Value| {
        let found = containers(now).iter().find(|found| found["name"] == container["name"]);
        found.is_some_and(|found| {
            // A kubelet that starts may not report all fields of a container yet.
            let differs = |key: &str| !found[key].is_null() && found[key] != container[key];
            differs("containerID") || differs("restartCount")
        })
    };
    let restarted = containers(was).iter().find(other)?;
    Some(format!("had its container {} restarted", text(&restarted["name"])))
}

pub fn has_no_running_pods(live: &Live, node: &str) -> Ruling {
    let left = live.pods().filter(|pod| pod.node() == Some(node) && !pod.is_terminating());
    none(left.map(|pod| {
        violation(PODS_LEFT_ON_NODE, format!("Pod {} is still on Node {node}, want it deleted", pod.name()))
            .shown_by_object("not deleted", pod.0)
    }))
}

pub fn has_gpus(live: &Live, node: &str, wanted: u64) -> Ruling {
    let unknown = || Broken::NotReached(format!("Node {node} does not exist"));
    let (object, found) = live.get("Node", node).zip(gpus(live, node)).ok_or_else(unknown)?;
    ensure(found == wanted, || {
        violation(WRONG_ALLOCATABLE_GPUS, format!("Node {node}: {found} GPUs are allocatable, want {wanted}"))
            .shown_by_object("its status", object)
    })
}

fn is_true(object: &Value, of_type: &str) -> bool {
    condition(object, of_type).is_some_and(|found| found["status"] == "True")
}

#[cfg(test)]
#[path = "kubelets_tests.rs"]
mod tests;
