//! When a PodCliqueSet has converged: every wanted object exists and no controller has work left.
//!
//! No clause defines the counts that an operator keeps in its statuses. If they report that all is complete,
//! nothing is left to do. If not, convergence is assumed after a period without writes. Checks use the
//! converged state as their baseline ("was anything else touched?"), so a late write would look like a touch.

use conformance_contract::clauses::Feature;
use conformance_contract::names;
use conformance_expect::resolver::resolved;
use conformance_expect::{Gang, Group, scaling, schedulers};
use conformance_history::{Live, Pod, SharedMark, condition, name};
use conformance_judge::gang_resources;
use serde_json::Value;

use super::limits::{REACTION, SCHEDULING};
use crate::context::{Duty, Stop, TestContext};

impl TestContext {
    /// Waits until a PodCliqueSet has converged as last scaled. Checks start at the mark `converged`.
    pub async fn until_converged(&self, set: &str) -> Result<(), Stop> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        let gangs = pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default();
        let waited = self
            .until(&format!("PodCliqueSet {set} converged"), SCHEDULING, |live| {
                lacks(live, set, &gangs).is_none()
            })
            .await;
        match waited {
            Ok(()) => {
                let speak = self.target.declares(Feature::PodGangStatus);
                self.until_settled(|live| {
                    is_counted(live, set, &gangs) && (!speak || gangs.iter().all(|gang| is_well(live, gang)))
                })
                .await;
                self.mark(SharedMark::Converged, serde_json::json!({"name": set}));
                Ok(())
            }
            Err(Stop::Wait(mut waited)) => {
                self.look(|live| {
                    let lack = lacks(live, set, &gangs).unwrap_or_default();
                    waited.duty = duty(live, &gangs, &lack);
                    waited.condition = format!("{} (still waiting for {lack})", waited.condition);
                });
                Err(Stop::Wait(waited))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Waits until the gang resources of a PodCliqueSet match its PodGangs. A gang resource that contains the
    /// number of pods may be updated after everything else.
    pub async fn until_followed(&self, set: &str) -> Result<(), Stop> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        let gangs = pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default();
        let follow = |live: &Live| gang_resources::as_the_pod_gangs_say(&history, live, &gangs).is_ok();
        self.until("gang resources that match their PodGangs", REACTION, follow).await
    }
}

impl TestContext {
    /// Like [`TestContext::until_converged`], for a case whose clause applies to any PodCliqueSet, converged
    /// or not. The driver continues after a timeout, which is returned as the inner error.
    pub async fn converged_or_not(&self, set: &str) -> Result<Result<(), Stop>, Stop> {
        match self.until_converged(set).await {
            Err(stop @ Stop::Wait(_)) => {
                self.mark(SharedMark::WentOn, Value::Null);
                Ok(Err(stop))
            }
            ended => ended.map(Ok),
        }
    }
}

/// The first object or state that a PodCliqueSet with these PodGangs still lacks, as text.
pub fn lacks(live: &Live, set: &str, gangs: &[Gang]) -> Option<String> {
    let gangs = &resolved(live, gangs.to_vec());
    let groups = || gangs.iter().flat_map(|gang| &gang.groups);
    // A PodClique that is scaled to 0 keeps existing, without pods.
    let is_idle = |object: &&Value| object["kind"] == "PodClique" && object["spec"]["replicas"] == 0;
    let surplus = |kind: &'static str, wanted: &dyn Fn(&str) -> bool| {
        let of_set = live.of(kind).filter(|object| is_part_of(object, set) && !is_idle(object));
        of_set.map(name).find(|name| !wanted(name)).map(|name| format!("{kind} {name} to be deleted"))
    };
    let missing = gangs.iter().find(|gang| !gang.is_known()).map(|gang| format!("PodGang {}", gang.name));
    missing
        .or_else(|| surplus("PodGang", &|name| gangs.iter().any(|gang| gang.name == name)))
        .or_else(|| surplus("PodClique", &|name| groups().any(|group| group.clique == name)))
        .or_else(|| {
            let mut pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(set));
            let is_expected = |pod: &Pod<'_>| {
                gangs.iter().any(|gang| pod.pod_gang() == Some(&gang.name))
                    && groups().any(|group| pod.pod_clique() == Some(&group.clique))
            };
            let gone = pods.find(|pod| !is_expected(pod));
            gone.map(|pod| format!("Pod {} to be deleted", pod.name()))
        })
        .or_else(|| {
            let replicas = gangs.iter().filter(|gang| gang.is_base).count();
            // DEL-10 covers Services that remain; they do not affect a gang.
            let mut groups = live.of("PodCliqueScalingGroup").filter(|object| is_part_of(object, set));
            let gone = groups.find(|object| replica(object).is_some_and(|index| index >= replicas));
            gone.map(|object| format!("PodCliqueScalingGroup {} to be deleted", name(object)))
        })
        .or_else(|| schedulers::kinds().into_iter().find_map(|(kind, _)| orphan(live, kind)))
        .or_else(|| gangs.iter().find_map(|gang| gang_lacks(live, gang)))
        .or_else(|| groups().find_map(|group| clique_lacks(live, group)))
}

/// Whether the statuses of a PodCliqueSet and of its objects report that everything exists.
fn is_counted(live: &Live, set: &str, gangs: &[Gang]) -> bool {
    let scaling_groups = live.of("PodCliqueScalingGroup").filter(|object| is_part_of(object, set));
    let cliques =
        gangs.iter().flat_map(|gang| &gang.groups).map(|group| live.get("PodClique", &group.clique));
    let is_healthy = |clique: &Value| {
        counts(clique, &["readyReplicas", "scheduledReplicas", "updatedReplicas"])
            && condition_is(clique, "PodCliqueScheduled", "True")
            && condition_is(clique, "MinAvailableBreached", "False")
    };
    let mut cliques = cliques.map(|clique| clique.is_some_and(is_healthy));
    cliques.all(|healthy| healthy)
        && scaling_groups
            .into_iter()
            .all(|group| counts(group, &["scheduledReplicas", "availableReplicas", "updatedReplicas"]))
        && live
            .get("PodCliqueSet", set)
            .is_some_and(|pcs| counts(pcs, &["availableReplicas", "updatedReplicas"]))
}

/// Whether a PodGang reports that its minimum is scheduled and ready.
fn is_well(live: &Live, gang: &Gang) -> bool {
    let found = gang.find(live);
    found.is_some_and(|found| ["Scheduled", "Ready"].iter().all(|type_| condition_is(found, type_, "True")))
}

/// The clause that demands what a PodCliqueSet [lacks]. No clause demands counts in statuses.
fn duty(live: &Live, gangs: &[Gang], lack: &str) -> Duty {
    let missing = gangs.iter().find(|gang| lack.starts_with("PodGang <") && gang.find(live).is_none());
    let has_unbound = || {
        gangs.iter().flat_map(|gang| &gang.groups).any(|group| {
            let bound = pods_of(live, group).filter(|pod| pod.node().is_some()).count();
            bound < group.replicas
        })
    };
    match missing {
        Some(gang) if gang.is_base => Duty::Clause("GANG-01"),
        Some(_) => Duty::Clause("GANG-03"),
        None if lack.starts_with("podgroup ") => Duty::Clause("AUTO-06"),
        None if lack.ends_with(" to be deleted") => Duty::Clause("GANG-10"),
        None if lack.contains(" referenced in PodGang ") => Duty::Clause("GANG-20"),
        None if lack.contains(" PodGang ") => Duty::Clause("GANG-06"),
        None if lack.starts_with("exactly ") && has_unbound() => Duty::Clause("AON-01"),
        None => Duty::Harness,
    }
}

fn replica(object: &Value) -> Option<usize> {
    object["metadata"]["labels"][names::REPLICA_INDEX].as_str()?.parse().ok()
}

/// A gang resource whose PodGang is already deleted. It waits for the garbage collector or for its last pod.
fn orphan(live: &Live, kind: &str) -> Option<String> {
    let orphaned = |object: &&Value| {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let mut gangs =
            owners.filter(|owner| owner["kind"] == "PodGang").filter_map(|owner| owner["name"].as_str());
        gangs.any(|gang| live.get("PodGang", gang).is_none())
    };
    live.of(kind).find(orphaned).map(|object| format!("{kind} {} to be deleted", name(object)))
}

fn gang_lacks(live: &Live, gang: &Gang) -> Option<String> {
    let Some(found) = gang.find(live) else { return Some(format!("PodGang {}", gang.name)) };
    if !condition_is(found, "Initialized", "True") {
        return Some(format!("Initialized=True on PodGang {}", gang.name));
    }
    let podgroups = found["spec"]["podgroups"].as_array().into_iter().flatten();
    let mut idle = podgroups.filter_map(|podgroup| live.get("PodClique", podgroup["name"].as_str()?));
    if let Some(idle) = idle.find(|clique| clique["spec"]["replicas"] == 0) {
        return Some(format!("podgroup {} to be removed from PodGang {}", name(idle), gang.name));
    }
    gang.groups.iter().find_map(|group| {
        let mut pods: Vec<_> = pods_of(live, group).map(Pod::name).collect();
        pods.sort_unstable();
        let referenced = references(found, &group.clique);
        (referenced != pods).then(|| {
            format!(
                "the {} pods of PodClique {} referenced in PodGang {}",
                pods.len(),
                group.clique,
                gang.name
            )
        })
    })
}

fn clique_lacks(live: &Live, group: &Group) -> Option<String> {
    let running = pods_of(live, group)
        .filter(|pod| pod.node().is_some() && condition_is(pod.0, "Ready", "True"))
        .count();
    let all = live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique)).count();
    if running != group.replicas || all != group.replicas {
        return Some(format!(
            "exactly {} Ready pods of PodClique {} ({running} of {all} are Ready)",
            group.replicas, group.clique
        ));
    }
    live.get("PodClique", &group.clique).is_none().then(|| format!("PodClique {}", group.clique))
}

/// Whether a status has observed the current generation and these counts equal `spec.replicas`.
fn counts(object: &Value, counts: &[&str]) -> bool {
    let wanted = object["spec"]["replicas"].as_u64().unwrap_or(0);
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
        && counts.iter().all(|count| object["status"][*count].as_u64().unwrap_or(0) == wanted)
}

fn condition_is(object: &Value, of_type: &str, status: &str) -> bool {
    condition(object, of_type).is_some_and(|condition| condition["status"] == status)
}

fn pods_of<'a>(live: &'a Live, group: &'a Group) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique) && !pod.is_terminating())
}

fn references<'a>(pod_gang: &'a Value, clique: &str) -> Vec<&'a str> {
    let podgroups = pod_gang["spec"]["podgroups"].as_array().into_iter().flatten();
    podgroups
        .filter(|podgroup| podgroup["name"] == clique)
        .flat_map(|podgroup| podgroup["podReferences"].as_array().into_iter().flatten())
        .filter_map(|reference| reference["name"].as_str())
        .collect()
}

fn is_part_of(object: &Value, set: &str) -> bool {
    object["metadata"]["labels"][names::PART_OF] == set
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;

    /// One converged PodClique with one pod.
    fn converged() -> Vec<Value> {
        let labelled = |kind: &str, name: &str| {
            let mut object = object(kind, name);
            object["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "w"});
            object["metadata"]["generation"] = json!(1);
            object
        };
        let scaled = |mut object: Value, counts: &[&str]| {
            object["spec"] = json!({"replicas": 1});
            object["status"] = json!({"observedGeneration": 1});
            counts.iter().for_each(|count| object["status"][*count] = json!(1));
            object
        };
        let conditions = |mut object: Value, all: &[(&str, &str)]| {
            let all = all.iter().map(|(of_type, status)| json!({"type": of_type, "status": status}));
            object["status"]["conditions"] = all.collect();
            object
        };
        let mut pod_gang = conditions(labelled("PodGang", "w-0"), &[("Initialized", "True")]);
        pod_gang["spec"] =
            json!({"podgroups": [{"name": "w-0-a", "podReferences": [{"namespace": "ns", "name": "p"}]}]});
        let clique = scaled(
            labelled("PodClique", "w-0-a"),
            &["readyReplicas", "scheduledReplicas", "updatedReplicas"],
        );
        let clique = conditions(clique, &[("PodCliqueScheduled", "True"), ("MinAvailableBreached", "False")]);
        let mut pod = conditions(labelled("Pod", "p"), &[("Ready", "True")]);
        pod["metadata"]["labels"]["grove.io/podclique"] = json!("w-0-a");
        pod["metadata"]["labels"]["grove.io/podgang"] = json!("w-0");
        pod["spec"] = json!({"nodeName": "n"});
        let pcs = scaled(labelled("PodCliqueSet", "w"), &["availableReplicas", "updatedReplicas"]);
        vec![pod_gang, clique, pod, pcs]
    }

    fn gangs() -> Vec<Gang> {
        expect::gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 1}}],
        }}}))
    }

    fn live(objects: Vec<Value>) -> Live {
        Story::flat().all_added(objects).end().end()
    }

    fn lack(objects: Vec<Value>) -> Option<String> {
        lacks(&live(objects), "w", &gangs())
    }

    #[rstest::rstest]
    #[case::not_initialized(0, "/status/conditions/0/status", "Initialized=True on PodGang w-0")]
    #[case::not_referred_to(
        0,
        "/spec/podgroups/0/podReferences",
        "the 1 pods of PodClique w-0-a referenced in PodGang w-0"
    )]
    #[case::not_bound(2, "/spec/nodeName", "exactly 1 Ready pods of PodClique w-0-a (0 of 1 are Ready)")]
    #[case::of_a_gang_that_is_gone(2, "/metadata/labels/grove.io~1podgang", "Pod p to be deleted")]
    fn what_is_missing(#[case] object: usize, #[case] field: &str, #[case] message: &str) {
        let mut objects = converged();
        assert_eq!(lack(objects.clone()), None);
        *objects[object].pointer_mut(field).unwrap() = Value::Null;
        assert_eq!(lack(objects).as_deref(), Some(message));
    }

    #[test]
    fn what_has_to_go() {
        let mut beyond = converged()[0].clone();
        beyond["metadata"]["name"] = json!("w-1");
        beyond["spec"]["podgroups"][0]["name"] = json!("w-1-a");
        let objects = converged().into_iter().chain([beyond]).collect();
        assert_eq!(lack(objects).as_deref(), Some("PodGang w-1 to be deleted"));
    }

    #[rstest::rstest]
    #[case::not_observed(1, "/status/observedGeneration")]
    #[case::not_counted(1, "/status/scheduledReplicas")]
    #[case::unhealthy(1, "/status/conditions/1/status")]
    #[case::not_available(3, "/status/availableReplicas")]
    fn statuses_are_not_waited_for_but_end_the_wait(#[case] object: usize, #[case] field: &str) {
        let mut objects = converged();
        assert_eq!(lack(objects.clone()), None);
        assert!(is_counted(&live(objects.clone()), "w", &gangs()));
        *objects[object].pointer_mut(field).unwrap() = Value::Null;
        assert_eq!(lack(objects.clone()), None);
        assert!(!is_counted(&live(objects), "w", &gangs()));
    }

    /// The converged objects without one object, or with one field set to null.
    #[rstest::rstest]
    #[case::no_gang(0, None, Duty::Clause("GANG-01"))]
    #[case::not_initialized(0, Some("/status/conditions/0/status"), Duty::Clause("GANG-06"))]
    #[case::not_referred_to(0, Some("/spec/podgroups/0/podReferences"), Duty::Clause("GANG-20"))]
    #[case::not_bound(2, Some("/spec/nodeName"), Duty::Clause("AON-01"))]
    #[case::not_ready(2, Some("/status/conditions/0/status"), Duty::Harness)]
    #[case::to_go(2, Some("/metadata/labels/grove.io~1podgang"), Duty::Clause("GANG-10"))]
    fn whose_duty_it_is(#[case] object: usize, #[case] field: Option<&str>, #[case] wanted: Duty) {
        let mut objects = converged();
        match field {
            Some(field) => *objects[object].pointer_mut(field).unwrap() = Value::Null,
            None => drop(objects.remove(object)),
        }
        let lack = lack(objects.clone()).unwrap();
        assert_eq!(duty(&live(objects), &gangs(), &lack), wanted, "{lack}");
    }
}
