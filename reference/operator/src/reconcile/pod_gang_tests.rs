use futures::StreamExt;
use kube::runtime::watcher::Event;
use serde_json::Value;

use super::*;
use crate::context::test_api::World;
use crate::context::triggers;

const OWNER: &str = "uid-of-wl";

fn world() -> World {
    let mut world = World::new();
    let template =
        json!({"cliques": [{"name": "a", "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 2}}]});
    world.feeds.pod_clique_sets.apply(json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": OWNER}, "spec": {"replicas": 1, "template": template},
    }));
    world.feeds.pod_cliques.apply(json!({
        "metadata": {"name": "wl-0-a", "namespace": "ns", "uid": "uid-of-a", "labels": {"grove.io/podgang": "wl-0"},
                     "ownerReferences": [owner("PodCliqueSet", "wl", OWNER)]},
        "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 2},
    }));
    world
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": true})
}

fn pod_gang(generation: i64, initialized: Option<bool>, references: &[&str]) -> PodGang {
    let references: Vec<_> = references.iter().map(|name| json!({"namespace": "ns", "name": name})).collect();
    let condition = |initialized: bool| {
        json!({"type": CONDITION_INITIALIZED, "status": if initialized { "True" } else { "False" }, "reason": "R",
               "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let foreign = json!({"type": "Theirs", "status": "True", "reason": "R", "message": "",
                         "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let conditions = initialized.map(|initialized| json!([foreign, condition(initialized)]));
    serde_json::from_value(json!({
        "metadata": {"name": "wl-0", "namespace": "ns", "uid": "uid-of-gang", "generation": generation,
                     "resourceVersion": "9", "ownerReferences": [owner("PodCliqueSet", "wl", OWNER)]},
        "spec": {"podgroups": [{"name": "wl-0-a", "minReplicas": 2, "podReferences": references}]},
        "status": {"phase": "Pending", "conditions": conditions.unwrap_or_else(|| json!([]))},
    }))
    .unwrap()
}

fn add_pod(world: &mut World, name: &str, pclq_uid: &str) {
    world.feeds.pods.apply(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"),
                     "labels": {"grove.io/podclique": "wl-0-a", "grove.io/podgang": "wl-0"},
                     "ownerReferences": [owner("PodClique", "wl-0-a", pclq_uid)]},
        "spec": {"containers": []},
    }));
}

async fn step(world: &mut World, pod_gang: &PodGang) -> Vec<(String, Value)> {
    world.feeds.pod_gangs.take(Event::Apply(pod_gang.clone()));
    reconcile(Arc::new(pod_gang.clone()), Arc::clone(&world.context)).await.unwrap();
    let written = world.written();
    world.deliver(&written);
    written
}

fn requests(written: &[(String, Value)]) -> Vec<&str> {
    written.iter().map(|(request, _)| request.rsplit_once("/namespaces/ns/").unwrap().1).collect()
}

#[tokio::test]
async fn gang_resources_come_before_initialized() {
    let mut world = world();
    let written = step(&mut world, &pod_gang(1, None, &[])).await;
    let mut first = requests(&written);
    first.sort_unstable();
    assert_eq!(first, ["podgangs/wl-0/status", "podgroups", "workloads"]);
    let order = requests(&written);
    let place = |what| order.iter().position(|request| *request == what);
    assert!(place("workloads") < place("podgroups"), "parents first: {order:?}");
    assert!(world.context.synced.is_current(&pod_gang(1, None, &[])));
    assert!(!world.context.synced.is_current(&pod_gang(2, None, &[])), "a new generation is synced again");

    assert_eq!(step(&mut world, &pod_gang(1, Some(false), &[])).await, [], "no pods, no references");
    add_pod(&mut world, "p1", "uid-of-a");
    assert_eq!(step(&mut world, &pod_gang(1, Some(false), &[])).await, [], "one of two");
    add_pod(&mut world, "p0", "uid-of-a");
    let written = step(&mut world, &pod_gang(1, Some(false), &[])).await;
    let references = written[0].1.pointer("/spec/podgroups/0/podReferences").unwrap();
    assert_eq!(references, &json!([{"namespace": "ns", "name": "p0"}, {"namespace": "ns", "name": "p1"}]));
    assert_eq!(written.len(), 1, "Initialized waits for the new generation to be synced");

    let written = step(&mut world, &pod_gang(2, Some(false), &["p0", "p1"])).await;
    assert_eq!(requests(&written), ["podgangs/wl-0/status"]);
    let conditions = written[0].1.pointer("/status/conditions").and_then(Value::as_array).unwrap();
    let found: Vec<_> = conditions
        .iter()
        .map(|condition| (condition["type"].as_str().unwrap(), condition["status"] == "True"))
        .collect();
    let rest =
        [("Scheduled", false), ("Ready", false), ("Unhealthy", false), ("SchedulingBackendReady", true)];
    assert_eq!(found[0].0, "Theirs", "conditions of others are kept");
    assert_eq!((found[1], &found[2..]), (("Initialized", true), &rest[..]), "all in one write");
    assert_eq!(
        step(&mut world, &pod_gang(2, Some(true), &["p0", "p1"])).await,
        [],
        "nothing is left to write"
    );
}

#[tokio::test]
async fn initialized_is_never_reset() {
    let mut world = world();
    add_pod(&mut world, "p0", "uid-of-a");
    step(&mut world, &pod_gang(3, Some(true), &["p0", "p1"])).await;
    let written = step(&mut world, &pod_gang(3, Some(true), &["p0", "p1"])).await;
    assert_eq!(requests(&written), ["podgangs/wl-0"], "the lost pod is no longer referenced; status stays");
}

#[tokio::test]
async fn pods_of_a_predecessor_do_not_count() {
    let mut world = world();
    add_pod(&mut world, "old-0", "uid-of-a-predecessor");
    add_pod(&mut world, "old-1", "uid-of-a-predecessor");
    step(&mut world, &pod_gang(1, Some(false), &[])).await;
    assert_eq!(step(&mut world, &pod_gang(1, Some(false), &[])).await, []);
}

#[tokio::test]
async fn a_new_sync_wakes_the_pod_cliques() {
    let mut world = world();
    step(&mut world, &pod_gang(1, Some(true), &[])).await;
    let woken = world.inboxes.pod_cliques.next().await.unwrap();
    assert_eq!(woken.name, "wl-0-a");
}

#[tokio::test]
async fn a_deleted_gang_resource_is_created_again() {
    let mut world = world();
    step(&mut world, &pod_gang(1, Some(true), &[])).await;
    let (resource, feed) = &mut world.feeds.gang_resources[0];
    assert_eq!(resource.kind, "Workload");
    let workload = world.context.caches.gang_resources[0].get(Some("ns"), "wl-0").unwrap();
    feed.take(Event::Delete((*workload).clone()));
    assert_eq!(requests(&step(&mut world, &pod_gang(1, Some(true), &[])).await), ["workloads"]);
}

#[tokio::test]
async fn a_gang_resource_deleted_with_its_pod_gang_is_not_created_again() {
    let mut world = world();
    triggers::connect(&mut world.feeds, &world.context);
    step(&mut world, &pod_gang(1, Some(true), &[])).await;
    let workload = world.context.caches.gang_resources[0].get(Some("ns"), "wl-0").unwrap();
    world.feeds.gang_resources[0].1.take(Event::Delete((*workload).clone()));
    world.delete_without_event("wl-0");
    assert_eq!(requests(&step(&mut world, &pod_gang(1, Some(true), &[])).await), [""; 0]);
}
