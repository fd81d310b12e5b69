use conformance_contract::names;
use conformance_facts::updates::REVISION;
use conformance_history::testing::{Story, object};
use serde_json::{Value, json};

/// PodCliqueSet `w`: clique `a` (2 pods, minimum 1) and group `g` (2 replicas of 1 pod, minimum 1).
pub(super) fn pcs(replicas: usize, revision: &str, status: Value) -> Value {
    let spec = json!({"replicas": 2, "minAvailable": 1, "podSpec": pod_spec(revision)});
    let unit = json!({"replicas": 1, "podSpec": pod_spec(revision)});
    let mut pcs = object("PodCliqueSet", "w");
    pcs["spec"] = json!({"replicas": replicas, "template": {
        "cliques": [{"name": "a", "spec": spec}, {"name": "u", "spec": unit}],
        "podCliqueScalingGroups": [{"name": "g", "replicas": 2, "minAvailable": 1, "cliqueNames": ["u"]}],
    }});
    pcs["status"] = status;
    pcs
}

pub(super) fn pod_spec(revision: &str) -> Value {
    json!({"containers": [{"name": "c", "env": [{"name": REVISION, "value": revision}]}]})
}

/// Returns a pod that is named after its place: `0a1` is pod 1 of clique `a` in replica 0, and `0g1` the pod
/// of group replica 1. A suffix distinguishes replacements.
pub(super) fn pod(name: &str, revision: &str, ready: bool) -> Value {
    let (replica, of, index) = (&name[..1], &name[1..2], &name[2..3]);
    let mut pod = object("Pod", name);
    let clique = if of == "a" { format!("w-{replica}-a") } else { format!("w-{replica}-g-{index}-u") };
    pod["metadata"]["labels"] = json!({
        names::PART_OF: "w", names::REPLICA_INDEX: replica, names::POD_CLIQUE: clique,
        names::POD_GANG: format!("w-{replica}"), names::POD_INDEX: if of == "a" { index } else { "0" },
    });
    if of == "g" {
        pod["metadata"]["labels"][names::SCALING_GROUP] = json!(format!("w-{replica}-g"));
        pod["metadata"]["labels"][names::SCALING_GROUP_REPLICA_INDEX] = json!(index);
    }
    pod["spec"] = pod_spec(revision);
    pod["spec"]["nodeName"] = json!("n");
    pod["status"] =
        json!({"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]});
    pod
}

pub(super) fn clique(replica: usize, status: Value) -> Value {
    let mut pclq = object("PodClique", &format!("w-{replica}-a"));
    pclq["metadata"]["labels"] = json!({names::PART_OF: "w"});
    pclq["spec"] = json!({"replicas": 2, "podSpec": pod_spec("2")});
    pclq["status"] = status;
    pclq
}

pub(super) fn updating(replica: usize) -> Value {
    json!({"updateProgress": {"updateStartedAt": "t", "currentlyUpdating": [{"replicaIndex": replica}]}})
}

pub(super) const PODS: [&str; 4] = ["0a0", "0a1", "0g0", "0g1"];

pub(super) fn changed() -> Story {
    let story = Story::flat().added(pcs(1, "1", json!({"currentGenerationHash": "1"})));
    let with_pods = PODS.iter().fold(story, |story, name| story.added(pod(name, "1", true)));
    with_pods.modified(pcs(1, "2", json!({"currentGenerationHash": "1"}))).modified(pcs(1, "2", updating(0)))
}

pub(super) fn deleted(story: Story, name: &str) -> Story {
    story.deleted(pod(name, "1", true))
}

pub(super) fn replaced(story: Story, name: &str) -> Story {
    deleted(story, name).added(pod(&format!("{name}-new"), "2", true))
}

pub(super) fn all_replaced() -> Story {
    PODS.iter().fold(changed(), |story, name| replaced(story, name))
}

pub(super) fn ended_status(replicas: usize) -> Value {
    json!({"currentGenerationHash": "2", "updatedReplicas": replicas,
        "updateProgress": {"updateStartedAt": "t", "updateEndedAt": "u"}})
}

pub(super) fn on_delete(revision: &str, status: Value) -> Value {
    let mut pcs = pcs(1, revision, status);
    pcs["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    pcs
}

pub(super) fn changed_on_delete(status: Value) -> Story {
    let story = Story::flat().added(on_delete("1", json!({"currentGenerationHash": "1"})));
    let with_pods = story.added(pod("0a0", "1", true)).added(pod("0a1", "1", true));
    with_pods
        .modified(on_delete("2", json!({"currentGenerationHash": "1"})))
        .later(1)
        .modified(on_delete("2", status))
}
