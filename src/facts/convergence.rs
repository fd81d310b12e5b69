//! What a PodCliqueSet lacks until it has converged, in objects and in statuses.

use conformance_contract::names;
use conformance_expect::resolver::resolved;
use conformance_expect::{Gang, Group, schedulers};
use conformance_history::{Live, Pod, condition, counted_pods, name};
use serde_json::Value;

use crate::binding::bound_pods;
use crate::cliques::pods_of;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lack {
    pub what: String,
    /// The clause that demands the state, if any.
    pub clause: Option<&'static str>,
}

impl Lack {
    fn demanded_by(clause: &'static str, what: String) -> Self {
        Self { what, clause: Some(clause) }
    }

    fn of_no_clause(what: String) -> Self {
        Self { what, clause: None }
    }

    fn to_be_deleted(what: &str) -> Self {
        Self::demanded_by("GANG-10", format!("{what} to be deleted"))
    }
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Returns the first object or state that a PodCliqueSet with these PodGangs lacks. Missing and superfluous
/// objects come first, and then the state of each PodGang and PodClique.
pub fn lacks(live: &Live, set: &str, gangs: &[Gang]) -> Option<Lack> {
    let gangs = &resolved(live, gangs.to_vec());
    let groups = || gangs.iter().flat_map(|gang| &gang.groups);
    // A PodClique that is scaled to 0 remains, without pods.
    let is_idle = |object: &&Value| object["kind"] == "PodClique" && object["spec"]["replicas"] == 0;
    let surplus = |kind: &'static str, wanted: &dyn Fn(&str) -> bool| {
        let of_set = live.of(kind).filter(|object| is_part_of(object, set) && !is_idle(object));
        of_set.map(name).find(|name| !wanted(name)).map(|name| Lack::to_be_deleted(&format!("{kind} {name}")))
    };
    missing_gang(live, gangs)
        .or_else(|| surplus("PodGang", &|name| gangs.iter().any(|gang| gang.name == name)))
        .or_else(|| surplus("PodClique", &|name| groups().any(|group| group.clique == name)))
        .or_else(|| {
            let mut pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(set));
            let is_expected = |pod: &Pod<'_>| {
                gangs.iter().any(|gang| pod.pod_gang() == Some(&gang.name))
                    && groups().any(|group| pod.pod_clique() == Some(&group.clique))
            };
            let surplus = pods.find(|pod| !is_expected(pod));
            surplus.map(|pod| Lack::to_be_deleted(&format!("Pod {}", pod.name())))
        })
        .or_else(|| {
            let replicas = gangs.iter().filter(|gang| gang.is_base).count();
            // DEL-10 covers remaining Services, because they do not affect a gang.
            let mut groups = live.of("PodCliqueScalingGroup").filter(|object| is_part_of(object, set));
            let surplus = groups.find(|object| replica(object).is_some_and(|index| index >= replicas));
            surplus.map(|object| Lack::to_be_deleted(&format!("PodCliqueScalingGroup {}", name(object))))
        })
        .or_else(|| schedulers::kinds().into_iter().find_map(|(kind, _)| orphan(live, kind)))
        .or_else(|| gangs.iter().find_map(|gang| gang_lacks(live, gang)))
        .or_else(|| groups().find_map(|group| clique_lacks(live, gangs, group)))
}

fn missing_gang(live: &Live, gangs: &[Gang]) -> Option<Lack> {
    let unknown = gangs.iter().find(|gang| !gang.is_known())?;
    let first = gangs.iter().find(|gang| gang.find(live).is_none()).unwrap_or(unknown);
    let clause = if first.is_base { "GANG-01" } else { "GANG-03" };
    Some(Lack::demanded_by(clause, format!("PodGang {}", unknown.name)))
}

pub fn statuses_are_complete(live: &Live, set: &str, gangs: &[Gang]) -> bool {
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

pub fn is_scheduled_and_ready(live: &Live, gang: &Gang) -> bool {
    let found = gang.find(live);
    found.is_some_and(|found| ["Scheduled", "Ready"].iter().all(|type_| condition_is(found, type_, "True")))
}

fn replica(object: &Value) -> Option<usize> {
    object["metadata"]["labels"][names::REPLICA_INDEX].as_str()?.parse().ok()
}

/// A gang resource without its PodGang waits for the garbage collector or for its last pod.
fn orphan(live: &Live, kind: &str) -> Option<Lack> {
    let orphaned = |object: &&Value| {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let mut gangs =
            owners.filter(|owner| owner["kind"] == "PodGang").filter_map(|owner| owner["name"].as_str());
        gangs.any(|gang| live.get("PodGang", gang).is_none())
    };
    live.of(kind).find(orphaned).map(|object| Lack::to_be_deleted(&format!("{kind} {}", name(object))))
}

fn gang_lacks(live: &Live, gang: &Gang) -> Option<Lack> {
    let Some(found) = gang.find(live) else {
        return Some(Lack::of_no_clause(format!("PodGang {}", gang.name)));
    };
    if !condition_is(found, "Initialized", "True") {
        return Some(Lack::demanded_by("GANG-06", format!("Initialized=True on PodGang {}", gang.name)));
    }
    let podgroups = found["spec"]["podgroups"].as_array().into_iter().flatten();
    let mut idle = podgroups.filter_map(|podgroup| live.get("PodClique", podgroup["name"].as_str()?));
    if let Some(idle) = idle.find(|clique| clique["spec"]["replicas"] == 0) {
        let what = format!("podgroup {} to be removed from PodGang {}", name(idle), gang.name);
        return Some(Lack::demanded_by("AUTO-06", what));
    }
    gang.groups.iter().find_map(|group| {
        let mut pods: Vec<_> = pods_of(live, &group.clique).map(Pod::name).collect();
        pods.sort_unstable();
        let referenced = references(found, &group.clique);
        (referenced != pods).then(|| {
            let (pods, clique) = (counted_pods(pods.len()), &group.clique);
            let what = format!("the {pods} of PodClique {clique} referenced in PodGang {}", gang.name);
            Lack::demanded_by("GANG-20", what)
        })
    })
}

fn clique_lacks(live: &Live, gangs: &[Gang], group: &Group) -> Option<Lack> {
    let running = pods_of(live, &group.clique)
        .filter(|pod| pod.node().is_some() && condition_is(pod.0, "Ready", "True"))
        .count();
    let all = live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique)).count();
    if running != group.replicas || all != group.replicas {
        let what = format!(
            "exactly {} of PodClique {}, Ready ({running} of {all} are Ready)",
            counted_pods(group.replicas),
            group.clique
        );
        let clause = has_unbound(live, gangs).then_some("AON-01");
        return Some(Lack { what, clause });
    }
    let is_missing = live.get("PodClique", &group.clique).is_none();
    is_missing.then(|| Lack::of_no_clause(format!("PodClique {}", group.clique)))
}

fn has_unbound(live: &Live, gangs: &[Gang]) -> bool {
    let mut groups = gangs.iter().flat_map(|gang| &gang.groups);
    groups.any(|group| bound_pods(live, &group.clique) < group.replicas)
}

fn counts(object: &Value, counts: &[&str]) -> bool {
    let wanted = object["spec"]["replicas"].as_u64().unwrap_or(0);
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
        && counts.iter().all(|count| object["status"][*count].as_u64().unwrap_or(0) == wanted)
}

fn condition_is(object: &Value, of_type: &str, status: &str) -> bool {
    condition(object, of_type).is_some_and(|condition| condition["status"] == status)
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
        lacks(&live(objects), "w", &gangs()).map(|lack| lack.what)
    }

    #[rstest::rstest]
    #[case::not_initialized(0, "/status/conditions/0/status", "Initialized=True on PodGang w-0")]
    #[case::not_referred_to(
        0,
        "/spec/podgroups/0/podReferences",
        "the 1 pod of PodClique w-0-a referenced in PodGang w-0"
    )]
    #[case::not_bound(2, "/spec/nodeName", "exactly 1 pod of PodClique w-0-a, Ready (0 of 1 are Ready)")]
    #[case::of_a_deleted_gang(2, "/metadata/labels/grove.io~1podgang", "Pod p to be deleted")]
    fn a_missing_part_is_described(#[case] object: usize, #[case] field: &str, #[case] message: &str) {
        let mut objects = converged();
        assert_eq!(lack(objects.clone()), None);
        *objects[object].pointer_mut(field).unwrap() = Value::Null;
        assert_eq!(lack(objects).as_deref(), Some(message));
    }

    #[test]
    fn a_pod_gang_beyond_the_replicas_has_to_be_deleted() {
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
    fn incomplete_statuses_do_not_prevent_convergence(#[case] object: usize, #[case] field: &str) {
        let mut objects = converged();
        assert_eq!(lack(objects.clone()), None);
        assert!(statuses_are_complete(&live(objects.clone()), "w", &gangs()));
        *objects[object].pointer_mut(field).unwrap() = Value::Null;
        assert_eq!(lack(objects.clone()), None);
        assert!(!statuses_are_complete(&live(objects), "w", &gangs()));
    }

    #[rstest::rstest]
    #[case::no_gang(0, None, Some("GANG-01"))]
    #[case::not_initialized(0, Some("/status/conditions/0/status"), Some("GANG-06"))]
    #[case::not_referred_to(0, Some("/spec/podgroups/0/podReferences"), Some("GANG-20"))]
    #[case::not_bound(2, Some("/spec/nodeName"), Some("AON-01"))]
    #[case::not_ready(2, Some("/status/conditions/0/status"), None)]
    #[case::to_be_deleted(2, Some("/metadata/labels/grove.io~1podgang"), Some("GANG-10"))]
    fn each_lack_names_the_clause_that_demands_it(
        #[case] object: usize,
        #[case] field: Option<&str>,
        #[case] wanted: Option<&'static str>,
    ) {
        let mut objects = converged();
        match field {
            Some(field) => *objects[object].pointer_mut(field).unwrap() = Value::Null,
            None => drop(objects.remove(object)),
        }
        let lack = lacks(&live(objects), "w", &gangs()).unwrap();
        assert_eq!(lack.clause, wanted, "{lack}");
    }
}
