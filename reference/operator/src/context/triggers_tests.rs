use futures::FutureExt;
use futures::StreamExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::backend::TopologyState;
use crate::backend::fake_backend::FakeBackend;
use crate::cache::observed_pod::Pod;
use crate::context::queues::Inbox;
use crate::context::test_api::World;

fn world() -> World {
    let mut world = World::new();
    connect(&mut world.feeds, &world.context);
    let clique = |name: &str, gang: &str, base: Option<&str>| {
        json!({
            "metadata": {"name": name, "namespace": "ns",
                         "labels": {"grove.io/podgang": gang, "grove.io/base-podgang": base.unwrap_or("none")}},
            "spec": {"podSpec": {}, "replicas": 1},
        })
    };
    for clique in
        [clique("a", "wl-0", None), clique("b", "wl-0", None), clique("s", "wl-0-sg-0", Some("wl-0"))]
    {
        world.feeds.pod_cliques.apply(clique);
    }
    drain(&mut world.inboxes.pod_cliques);
    drain(&mut world.inboxes.pod_gangs);
    world
}

fn drain<K: Resource<DynamicType = ()>>(inbox: &mut Inbox<K>) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(Some(woken)) = inbox.next().now_or_never() {
        names.push(woken.name);
    }
    names.sort();
    names.dedup();
    names
}

fn pod(node: Option<&str>, phase: &str, generation: i64) -> Pod {
    let pod: Value = json!({
        "metadata": {"name": "p", "namespace": "ns", "generation": generation,
                     "labels": {"grove.io/podclique": "a", "grove.io/podgang": "wl-0"}},
        "spec": {"containers": [], "nodeName": node},
        "status": {"phase": phase},
    });
    serde_json::from_value(pod).unwrap()
}

#[tokio::test]
async fn a_pod_wakes_only_the_reconcilers_that_it_concerns() {
    let mut world = world();
    let mut woken = |event: Event<Pod>| {
        world.feeds.pods.take(event);
        (drain(&mut world.inboxes.pod_cliques), drain(&mut world.inboxes.pod_gangs))
    };
    let none: Vec<String> = Vec::new();
    let own = vec!["a".to_owned()];
    let waiting = vec!["a".to_owned(), "b".to_owned(), "s".to_owned()];
    let gang = vec!["wl-0".to_owned()];
    assert_eq!(woken(Event::Apply(pod(None, "Pending", 1))), (own.clone(), gang.clone()), "new");
    assert_eq!(woken(Event::Apply(pod(None, "Pending", 2))), (own, none.clone()), "ungated");
    assert_eq!(woken(Event::Apply(pod(Some("n"), "Pending", 2))), (waiting.clone(), none.clone()), "bound");
    assert_eq!(woken(Event::Apply(pod(Some("n"), "Running", 2))), (none.clone(), none), "status only");
    assert_eq!(woken(Event::Apply(pod(Some("n"), "Failed", 2))), (waiting, gang), "lost");
}

#[tokio::test]
async fn a_repeated_scheduler_message_wakes_no_status() {
    let mut world = world();
    drain(&mut world.inboxes.pod_clique_status);
    drain(&mut world.inboxes.pod_gang_status);
    let pod_with_message = |message: Option<(&str, &str)>, phase: &str| {
        let mut pod = pod(None, phase, 1);
        let conditions = message.map(|(reason, message)| {
            json!([{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}])
        });
        let conditions = serde_json::from_value(conditions.unwrap_or_else(|| json!([]))).unwrap();
        pod.status.get_or_insert_default().conditions = conditions;
        pod
    };
    let mut woken = |message, phase, node: Option<&str>| {
        let mut pod = pod_with_message(message, phase);
        pod.spec.get_or_insert_default().node_name = node.map(str::to_owned);
        world.feeds.pods.take(Event::Apply(pod));
        let found = (drain(&mut world.inboxes.pod_clique_status), drain(&mut world.inboxes.pod_gang_status));
        (found.0.len(), found.1.len())
    };
    assert_eq!(woken(None, "Pending", None), (1, 1), "new");
    assert_eq!(woken(Some(("Unschedulable", "0/3 nodes")), "Pending", None), (1, 1), "first message");
    assert_eq!(woken(Some(("Unschedulable", "0/4 nodes")), "Pending", None), (0, 0), "another message");
    // Volcano alternates between these reasons, session by session.
    assert_eq!(woken(Some(("Schedulable", "0/4 nodes")), "Pending", None), (0, 0), "another reason");
    assert_eq!(
        woken(Some(("Schedulable", "0/5 nodes")), "Running", None),
        (1, 1),
        "the phase has changed too"
    );
    assert_eq!(woken(None, "Running", None), (1, 1), "no message any more");
    assert_eq!(woken(None, "Running", Some("n")), (1, 2), "bound; a scaled PodGang waits for it");
}

#[tokio::test]
async fn a_gang_resource_wakes_its_pod_gang_also_on_deletion() {
    let mut world = world();
    let object: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "wl-0", "namespace": "ns",
        "ownerReferences": [{"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang", "name": "wl-0", "uid": "u"}]}}))
    .unwrap();
    let feed = &mut world.feeds.gang_resources[0].1;
    feed.take(Event::Apply(object.clone()));
    assert_eq!(drain(&mut world.inboxes.pod_gangs), ["wl-0"]);
    feed.take(Event::Delete(object));
    assert_eq!(drain(&mut world.inboxes.pod_gangs), ["wl-0"]);
}

/// The PodClique may be the last object that a scale-in deletes.
#[tokio::test]
async fn the_deletion_of_a_grouped_pod_clique_wakes_the_status_of_its_pod_clique_set() {
    let mut world = world();
    let labels = json!({"app.kubernetes.io/part-of": "wl", "grove.io/podcliquescalinggroup": "wl-0-sg"});
    let member = json!({
        "metadata": {"name": "wl-0-sg-0-m", "namespace": "ns", "uid": "m", "labels": labels},
        "spec": {"podSpec": {}, "replicas": 1},
    });
    let member: PodClique = serde_json::from_value(member).unwrap();
    world.feeds.pod_cliques.take(Event::Apply(member.clone()));
    drain(&mut world.inboxes.pod_clique_set_status);
    world.feeds.pod_cliques.take(Event::Delete(member));
    assert_eq!(drain(&mut world.inboxes.pod_clique_set_status), ["wl"]);
}

#[tokio::test]
async fn a_failure_that_a_pod_gang_reports_wakes_the_status_of_its_pod_clique_set() {
    let mut world = world();
    let mut woken = |reason: &str| {
        let condition = json!({"type": "Scheduled", "status": "False", "reason": reason, "message": "m",
                               "lastTransitionTime": "2026-01-01T00:00:00Z"});
        world.feeds.pod_gangs.apply(json!({
            "metadata": {"name": "wl-0", "namespace": "ns", "uid": "g", "generation": 1,
                         "labels": {"app.kubernetes.io/part-of": "wl"}},
            "spec": {"podgroups": []}, "status": {"phase": "Pending", "conditions": [condition]},
        }));
        drain(&mut world.inboxes.pod_clique_set_status).len()
    };
    assert_eq!(woken("PodsMissing"), 1, "new");
    assert_eq!(woken("Unschedulable"), 0, "the scheduler decides");
    assert_eq!(woken("PodCreationFailed"), 1);
    assert_eq!(woken("PodCreationFailed"), 0, "no change");
    assert_eq!(woken("Unschedulable"), 1, "over");
}

#[tokio::test]
async fn node_labels_wake_bindings_and_heartbeats_do_not() {
    let topology = Some(TopologyState::InSync);
    let mut world = World::with_backend(|_| Arc::new(FakeBackend { topology, ..FakeBackend::ready("fake") }));
    connect(&mut world.feeds, &world.context);
    for name in ["a", "b"] {
        world.feeds.topologies.apply(json!({"metadata": {"name": name}, "spec": {"levels": []}}));
    }
    drain(&mut world.inboxes.topologies);
    let node = |rack: &str, version: &str| {
        let metadata = json!({"name": "n", "labels": {"rack": rack}, "resourceVersion": version});
        json!({ "metadata": metadata })
    };
    let nodes = world.feeds.nodes.as_mut().unwrap();
    for (case, node, woken) in [
        ("new", node("r0", "1"), vec!["a", "b"]),
        ("heartbeat", node("r0", "2"), vec![]),
        ("moved", node("r1", "3"), vec!["a", "b"]),
    ] {
        nodes.apply(node);
        assert_eq!(drain(&mut world.inboxes.topologies), woken, "{case}");
    }
    let resource: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "t"}})).unwrap();
    let feed = &mut world.feeds.topology_resources[0].1;
    feed.take(Event::Apply(resource.clone()));
    drain(&mut world.inboxes.topologies);
    feed.take(Event::Delete(resource));
    assert_eq!(drain(&mut world.inboxes.topologies), ["a", "b"]);
}

#[tokio::test]
async fn nodes_are_watched_only_for_topology_backends() {
    assert!(world().feeds.nodes.is_none());
}

#[tokio::test]
async fn an_eviction_is_remembered_after_the_pod_is_deleted() {
    let mut world = world();
    let mut evicted = pod(Some("n"), "Running", 1);
    let owner = json!([{
        "apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "a", "uid": "u", "controller": true,
    }]);
    evicted.metadata.owner_references = serde_json::from_value(owner).unwrap();
    world.feeds.pods.take(Event::Apply(evicted.clone()));
    assert!(!world.context.evictions.has("u"), "the pod runs");
    let condition =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]);
    evicted.status.get_or_insert_default().conditions = serde_json::from_value(condition).unwrap();
    world.feeds.pods.take(Event::Apply(evicted.clone()));
    world.feeds.pods.take(Event::Delete(evicted));
    assert!(world.context.evictions.has("u"));
}
