use std::collections::BTreeMap;

use grove_api::names::CONDITION_POD_GANG_DISRUPTION_TARGET;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::context::test_api::{World, owned_by, set_without_cliques};

/// The base PodGang `wl-0` has 2 pods, both needed, and the scaled PodGang `wl-0-sg-0` has 1 pod.
fn world() -> World {
    let mut world = World::new();
    world.feeds.pod_clique_sets.apply(set_without_cliques());
    for (name, replicas, labels) in [
        ("wl-0-a", 2, json!({"grove.io/podgang": "wl-0"})),
        ("wl-0-sg-1-b", 1, json!({"grove.io/podgang": "wl-0-sg-0", "grove.io/base-podgang": "wl-0"})),
    ] {
        world.feeds.pod_cliques.apply(json!({
            "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "labels": labels,
                         "ownerReferences": owned_by("PodCliqueSet", "wl")},
            "spec": {"podSpec": {}, "replicas": replicas, "minAvailable": replicas},
        }));
    }
    world.feeds.pod_gangs.take(Event::Apply(pod_gang("wl-0", "wl-0-a", 2, &json!([]))));
    world
}

fn pod_gang(name: &str, podgroup: &str, min: i32, more_conditions: &Value) -> PodGang {
    let initialized = json!({"type": CONDITION_INITIALIZED, "status": "True", "reason": "R", "message": "",
                             "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let mut conditions = vec![initialized];
    conditions.extend(more_conditions.as_array().into_iter().flatten().cloned());
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "resourceVersion": "9",
                     "labels": {"grove.io/base-podgang": "wl-0"}, "ownerReferences": owned_by("PodCliqueSet", "wl")},
        "spec": {"podgroups": [{"name": podgroup, "minReplicas": min, "podReferences": []}]},
        "status": {"phase": "Pending", "conditions": conditions},
    }))
    .unwrap()
}

/// `state` is `bound`, `ready`, or the message of a waiting pod; `error…` is a scheduler error.
fn pod(world: &mut World, name: &str, state: &str) {
    let (node, condition) = match state {
        "bound" => (Some("n"), json!({"type": "PodScheduled", "status": "True"})),
        "ready" => (Some("n"), json!({"type": "Ready", "status": "True"})),
        message => {
            let reason = if message.starts_with("error") { "SchedulerError" } else { "Unschedulable" };
            let message =
                json!({"type": "PodScheduled", "status": "False", "reason": reason, "message": message});
            (None, message)
        }
    };
    world.feeds.pods.apply(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"),
                     "labels": {"grove.io/podclique": "wl-0-a", "grove.io/podgang": "wl-0"},
                     "ownerReferences": owned_by("PodClique", "wl-0-a")},
        "spec": {"containers": [], "nodeName": node},
        "status": {"phase": "Pending", "conditions": [condition]},
    }));
}

async fn written_status(world: &World, pod_gang: PodGang) -> (Value, BTreeMap<String, [String; 3]>) {
    reconcile(Arc::new(pod_gang), Arc::clone(&world.context)).await.unwrap();
    let written = world.written().pop().map(|(_, body)| body["status"].clone()).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let conditions = written["conditions"].as_array().into_iter().flatten().map(|condition| {
        (text(&condition["type"]), ["status", "reason", "message"].map(|field| text(&condition[field])))
    });
    (written["phase"].clone(), conditions.collect())
}

fn base() -> PodGang {
    pod_gang("wl-0", "wl-0-a", 2, &json!([]))
}

async fn status_with(pods: [&str; 2]) -> (Value, BTreeMap<String, [String; 3]>) {
    let mut world = world();
    for (name, state) in ["p0", "p1"].into_iter().zip(pods) {
        pod(&mut world, name, state);
    }
    written_status(&world, base()).await
}

#[rstest::rstest]
#[case::one_waits(["bound", "no room"], Value::Null, ["False", "False"])]
#[case::bound(["bound", "bound"], json!("Starting"), ["True", "False"])]
#[case::one_ready(["bound", "ready"], json!("Starting"), ["True", "False"])]
#[case::all_ready(["ready", "ready"], json!("Running"), ["True", "True"])]
#[tokio::test]
async fn phase_and_conditions_follow_from_the_pods(
    #[case] pods: [&str; 2],
    #[case] phase: Value,
    #[case] wanted: [&str; 2],
) {
    let (found, conditions) = status_with(pods).await;
    assert_eq!(found, phase, "a patch contains only changes");
    let status = [CONDITION_POD_GANG_SCHEDULED, CONDITION_POD_GANG_READY].map(|type_| &conditions[type_][0]);
    assert_eq!(status, wanted);
    assert_eq!(conditions[CONDITION_POD_GANG_UNHEALTHY][0], "False");
    assert!(!conditions.contains_key(CONDITION_BACKEND_READY), "the gang resources are not synced yet");
}

#[tokio::test]
async fn the_condition_reports_why_a_gang_waits() {
    let mut world = world();
    let scheduled =
        |conditions: &BTreeMap<String, [String; 3]>| conditions[CONDITION_POD_GANG_SCHEDULED].clone();
    let (_, missing) = written_status(&world, base()).await;
    assert_eq!(scheduled(&missing)[1..], ["PodsMissing", "not every pod of wl-0-a exists"]);
    let member = world.context.caches.pod_cliques.get(Some("ns"), "wl-0-a").unwrap();
    world.context.events.warn(&*member, REASON_POD_CREATE_FAILED, "pods are forbidden").await;
    world.written();
    let (_, refused) = written_status(&world, base()).await;
    assert_eq!(
        scheduled(&refused)[1..],
        ["PodCreationFailed", "not every pod of wl-0-a exists: pods are forbidden"]
    );
    world.context.events.reset_warning(&*member, REASON_POD_CREATE_FAILED);
    pod(&mut world, "p0", "0/3 nodes are available");
    pod(&mut world, "p1", "");
    let (_, unschedulable) = written_status(&world, base()).await;
    assert_eq!(scheduled(&unschedulable)[1..], ["Unschedulable", "0/3 nodes are available"]);
    let scaled = pod_gang("wl-0-sg-0", "wl-0-sg-1-b", 0, &json!([]));
    let gang = Gang::of(&world.context, &scaled);
    assert_eq!(gang.unbound_base().as_deref(), Some("wl-0"));
    let warned = base();
    world.context.events.warn(&warned, REASON_SYNC_FAILED, "cannot create PodGroup").await;
    world.written();
    let (_, failed) = written_status(&world, warned).await;
    assert_eq!(scheduled(&failed)[1..], ["GangResourcesMissing", "cannot create PodGroup"]);
    assert_eq!(failed[CONDITION_BACKEND_READY], ["False", REASON_SYNC_FAILED, "cannot create PodGroup"]);
}

#[rstest::rstest]
#[case::all(["error: same priority", "error: same priority"], "SchedulerError")]
#[case::one(["error: no quota", "0/3 nodes are available"], "Unschedulable")]
#[tokio::test]
async fn a_gang_that_the_scheduler_cannot_try_is_a_failure(#[case] pods: [&str; 2], #[case] reason: &str) {
    let (_, conditions) = status_with(pods).await;
    assert_eq!(conditions[CONDITION_POD_GANG_SCHEDULED][1], reason);
}

#[rstest::rstest]
#[case::last(["waiting for minCount pods from a gang to be scheduled", "0/2 nodes: 2 Insufficient nvidia.com/gpu"], 1)]
#[case::first(["0/2 nodes: 2 Insufficient nvidia.com/gpu", "waiting for minCount pods from a gang to be scheduled"], 0)]
#[case::volume(["waiting for minCount pods", "pod has unbound immediate PersistentVolumeClaims"], 1)]
#[case::kai(
    [
        "no nodes with enough resources were found: 6 node(s) had untolerated taint(s).",
        "MaxNodePoolResources: The pod ns/p1 requires GPU: 9. Max GPU resources available in a single node in the default node pool is 8",
    ],
    1
)]
#[case::other_nodes(["0/2 nodes: 2 node(s) had untolerated taint(s)", "0/2 nodes: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)"], 1)]
#[case::device(["0/2 nodes: 2 node(s) had untolerated taint(s)", "0/2 nodes: 2 cannot allocate all claims."], 1)]
#[case::claim_in_use(["waiting for minCount pods", "0/2 nodes: 2 resourceclaim not available on the node."], 1)]
#[case::device_class(["waiting for minCount pods", "request gpu: device class gpu.example.com does not exist"], 1)]
#[case::no_cause(["waiting for minCount pods", "waiting for more"], 0)]
#[tokio::test]
async fn the_most_specific_message_is_reported(#[case] messages: [&str; 2], #[case] wanted: usize) {
    let (_, conditions) = status_with(messages).await;
    assert_eq!(conditions[CONDITION_POD_GANG_SCHEDULED][2], messages[wanted]);
}

fn gated_pod(world: &mut World, name: &str, gate: &str) {
    world.feeds.pods.apply(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"),
                     "labels": {"grove.io/podclique": "wl-0-a", "grove.io/podgang": "wl-0"},
                     "ownerReferences": owned_by("PodClique", "wl-0-a")},
        "spec": {"containers": [], "schedulingGates": [{"name": gate}]},
        "status": {"phase": "Pending"},
    }));
}

#[tokio::test]
async fn foreign_gates_are_the_reported_reason() {
    let mut world = world();
    pod(&mut world, "p0", "waiting for minCount pods");
    gated_pod(&mut world, "p1", "example.com/quota");
    let (_, conditions) = written_status(&world, base()).await;
    let scheduled = &conditions[CONDITION_POD_GANG_SCHEDULED];
    assert_eq!(scheduled[1], "ForeignGate");
    assert!(scheduled[2].ends_with("did not add: example.com/quota (p1)"), "{scheduled:?}");
}

#[rstest::rstest]
#[case::of_a_needed_pod(2, "3 Insufficient cpu", "ForeignGate", &["(p1)"])]
#[case::of_a_surplus_pod(1, "3 Insufficient cpu", "Unschedulable", &["3 Insufficient cpu", "(p1)"])]
#[case::of_a_surplus_pod_without_another_cause(1, "waiting for minCount pods", "ForeignGate", &["(p1)"])]
#[tokio::test]
async fn a_foreign_gate_does_not_hide_what_the_minimum_lacks(
    #[case] min: i32,
    #[case] message: &str,
    #[case] reason: &str,
    #[case] words: &[&str],
) {
    let mut world = world();
    pod(&mut world, "p0", message);
    gated_pod(&mut world, "p1", "example.com/quota");
    let (_, conditions) = written_status(&world, pod_gang("wl-0", "wl-0-a", min, &json!([]))).await;
    let scheduled = &conditions[CONDITION_POD_GANG_SCHEDULED];
    assert_eq!(scheduled[1], reason);
    assert!(words.iter().all(|words| scheduled[2].contains(words)), "{scheduled:?}");
}

fn as_reported(conditions: &BTreeMap<String, [String; 3]>) -> Value {
    let reported = conditions.iter().filter(|(type_, _)| *type_ != CONDITION_INITIALIZED);
    let reported = reported.map(|(type_, [status, reason, message])| {
        json!({"type": type_, "status": status, "reason": reason, "message": message,
               "lastTransitionTime": "2026-01-01T00:00:00Z"})
    });
    reported.collect()
}

#[tokio::test]
async fn a_removed_gate_is_no_longer_reported() {
    let mut world = world();
    gated_pod(&mut world, "p0", "example.com/quota");
    gated_pod(&mut world, "p1", "example.org/review");
    let (_, both) = written_status(&world, base()).await;
    pod(&mut world, "p0", "");
    let updated = pod_gang("wl-0", "wl-0-a", 2, &as_reported(&both));
    let (_, one) = written_status(&world, updated).await;
    let message = &one[CONDITION_POD_GANG_SCHEDULED][2];
    assert!(message.ends_with("did not add: example.org/review (p1)"), "{message}");
}

#[tokio::test]
async fn a_removed_gate_of_a_surplus_pod_is_no_longer_reported() {
    let mut world = world();
    pod(&mut world, "p0", "3 Insufficient cpu");
    gated_pod(&mut world, "p1", "example.com/quota");
    let (_, gated) = written_status(&world, pod_gang("wl-0", "wl-0-a", 1, &json!([]))).await;
    pod(&mut world, "p1", "");
    let (_, removed) = written_status(&world, pod_gang("wl-0", "wl-0-a", 1, &as_reported(&gated))).await;
    assert_eq!(removed[CONDITION_POD_GANG_SCHEDULED][1..], ["Unschedulable", "3 Insufficient cpu"]);
}

#[rstest::rstest]
#[case::volumes("pod has unbound immediate PersistentVolumeClaims", true)]
#[case::something_else("3 Insufficient cpu", false)]
#[tokio::test]
async fn a_message_about_volumes_names_the_claims(#[case] message: &str, #[case] names_claims: bool) {
    let mut world = world();
    pod(&mut world, "p0", "");
    pod(&mut world, "p1", message);
    let pod_gang = base();
    let mut gang = Gang::of(&world.context, &pod_gang);
    gang.unbound_claims.without_node = Some("pod p1 waits for claim data".to_owned());
    let wanted =
        if names_claims { format!("{message}; pod p1 waits for claim data") } else { message.to_owned() };
    assert_eq!(gang.wait_reason(), ("Unschedulable", wanted));
}

#[tokio::test]
async fn the_message_about_an_unchanged_fact_stays_for_a_while() {
    let mut world = world();
    pod(&mut world, "p0", "0/3 nodes are available");
    pod(&mut world, "p1", "0/3 nodes are available");
    let (_, first) = written_status(&world, base()).await;
    let reported = as_reported(&first);
    let updated = || pod_gang("wl-0", "wl-0-a", 2, &reported);
    pod(&mut world, "p0", "0/4 nodes are available");
    let (_, nothing) = written_status(&world, updated()).await;
    assert_eq!(nothing, BTreeMap::new());
    pod(&mut world, "p0", "bound");
    pod(&mut world, "p1", "bound");
    let (_, another) = written_status(&world, updated()).await;
    assert_eq!(another[CONDITION_POD_GANG_SCHEDULED][0], "True", "a new fact is reported at once");
}

#[tokio::test]
async fn an_eviction_is_reported_until_the_gang_is_bound_again() {
    let mut world = world();
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"});
    let evicted = json!({
        "metadata": {"name": "p", "ownerReferences": owned_by("PodClique", "wl-0-a")},
        "status": {"conditions": [condition]},
    });
    world.context.evictions.record(&serde_json::from_value(evicted).unwrap());
    for name in ["p0", "p1"] {
        pod(&mut world, name, "no room");
    }
    let (_, waiting) = written_status(&world, base()).await;
    assert_eq!(waiting[CONDITION_POD_GANG_DISRUPTION_TARGET][..2], ["True", "PreemptionByScheduler"]);
    for name in ["p0", "p1"] {
        pod(&mut world, name, "bound");
    }
    let reported = json!([{"type": "DisruptionTarget", "status": "True", "reason": "R", "message": "",
                           "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let (_, bound) = written_status(&world, pod_gang("wl-0", "wl-0-a", 2, &reported)).await;
    assert_eq!(bound[CONDITION_POD_GANG_DISRUPTION_TARGET][0], "False");
}
