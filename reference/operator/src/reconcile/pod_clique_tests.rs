use grove_api::names::{CONDITION_INITIALIZED, POD_GANG_GATE};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::context::test_api::{World, owned_by};
use crate::plan::pod_clique_object::{generation_hash, template_hash};

fn pod_clique(replicas: i32) -> PodClique {
    serde_json::from_value(json!({
        "metadata": {"name": "wl-0-a", "namespace": "ns", "uid": "uid-of-wl-0-a",
                     "labels": {"grove.io/podgang": "wl-0", "grove.io/podcliqueset-replica-index": "0"},
                     "ownerReferences": owned_by("PodCliqueSet", "wl")},
        "spec": {"podSpec": {"containers": []}, "replicas": replicas, "minAvailable": 1},
    }))
    .unwrap()
}

fn pod_gang(initialized: bool, references: &[String]) -> PodGang {
    let references: Vec<_> = references.iter().map(|name| json!({"namespace": "ns", "name": name})).collect();
    let condition = json!({"type": CONDITION_INITIALIZED, "status": if initialized { "True" } else { "False" },
                           "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    serde_json::from_value(json!({
        "metadata": {"name": "wl-0", "namespace": "ns", "uid": "uid-of-gang", "generation": 1,
                     "ownerReferences": owned_by("PodCliqueSet", "wl")},
        "spec": {"podgroups": [{"name": "wl-0-a", "minReplicas": 1, "podReferences": references}]},
        "status": {"phase": "Pending", "conditions": [condition]},
    }))
    .unwrap()
}

fn world() -> World {
    let mut world = World::new();
    let template = json!({"cliques": [{"name": "a", "spec": {"podSpec": {}, "replicas": 2}}]});
    world.feeds.pod_clique_sets.apply(json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"},
        "spec": {"replicas": 1, "template": template},
    }));
    world.feeds.pod_gangs.take(Event::Apply(pod_gang(false, &[])));
    world.context.synced.record(&pod_gang(false, &[]));
    world
}

async fn step(world: &mut World, pclq: &PodClique) -> Vec<(String, Value)> {
    world.feeds.pod_cliques.take(Event::Apply(pclq.clone()));
    reconcile(Arc::new(pclq.clone()), Arc::clone(&world.context)).await.unwrap();
    world.written()
}

async fn world_with_pods(pclq: &PodClique) -> (World, Vec<(String, Value)>) {
    let mut world = world();
    let pods = step(&mut world, pclq).await;
    world.deliver(&pods);
    (world, pods)
}

fn names(written: &[(String, Value)]) -> Vec<String> {
    let mut names: Vec<_> =
        written.iter().filter_map(|(_, pod)| pod["metadata"]["name"].as_str().map(str::to_owned)).collect();
    names.sort();
    names
}

#[tokio::test]
async fn pods_are_created_gated_and_only_once() {
    let mut world = world();
    let written = step(&mut world, &pod_clique(2)).await;
    assert_eq!(written.len(), 2);
    for (request, pod) in &written {
        assert_eq!(request, "POST /api/v1/namespaces/ns/pods");
        assert_eq!(pod["spec"]["schedulingGates"], json!([{"name": POD_GANG_GATE}]));
        assert_eq!(pod["spec"]["schedulerName"], "default-scheduler");
        assert_eq!(pod["spec"]["schedulingGroup"]["podGroupName"], "wl-0-wl-0-a");
    }
    assert_eq!(step(&mut world, &pod_clique(2)).await, [], "the cache does not contain them yet");
    world.deliver(&written);
    assert_eq!(step(&mut world, &pod_clique(2)).await, [], "the cache contains them");
}

#[tokio::test]
async fn a_gate_is_removed_only_from_a_referenced_pod_of_an_initialized_gang() {
    let pclq = pod_clique(2);
    let (mut world, pods) = world_with_pods(&pclq).await;
    let all = names(&pods);
    let with = |world: &mut World, gang: PodGang| world.feeds.pod_gangs.take(Event::Apply(gang));

    world.context.synced.forget("uid-of-gang");
    with(&mut world, pod_gang(true, &all));
    assert_eq!(step(&mut world, &pclq).await, [], "the backend has not synced");
    world.context.synced.record(&pod_gang(true, &all));
    with(&mut world, pod_gang(false, &all));
    assert_eq!(step(&mut world, &pclq).await, [], "not initialized");
    with(&mut world, pod_gang(true, &all[..1]));
    let written = step(&mut world, &pclq).await;
    assert_eq!(written.len(), 1, "only the referenced pod: {written:?}");
    assert_eq!(written[0].0, format!("PATCH /api/v1/namespaces/ns/pods/{}", all[0]));
    assert_eq!(written[0].1["spec"]["schedulingGates"][0]["$patch"], "delete");
}

#[tokio::test]
async fn a_scaled_gang_waits_for_its_base() {
    let mut pclq = pod_clique(1);
    pclq.labels_mut().insert(LABEL_BASE_POD_GANG.to_owned(), "wl-base".to_owned());
    let (mut world, pods) = world_with_pods(&pclq).await;
    let gang = pod_gang(true, &names(&pods));
    world.context.synced.record(&gang);
    world.feeds.pod_gangs.take(Event::Apply(gang));
    assert_eq!(step(&mut world, &pclq).await, [], "the base does not even exist");
    let mut base = pod_gang(true, &[]);
    base.metadata.name = Some("wl-base".to_owned());
    base.spec.podgroups.clear();
    world.feeds.pod_gangs.take(Event::Apply(base));
    assert_eq!(step(&mut world, &pclq).await.len(), 1, "every minimum of the base is bound");
}

#[tokio::test]
async fn a_failed_pod_is_replaced_at_its_index() {
    let (mut world, pods) = world_with_pods(&pod_clique(2)).await;
    let lost = pods.iter().find(|(_, pod)| pod["metadata"]["labels"][LABEL_POD_INDEX] == "0").unwrap();
    let mut pod = lost.1.clone();
    pod["metadata"]["uid"] = json!("uid-of-lost");
    pod["status"] = json!({"phase": "Failed"});
    world.feeds.pods.apply(pod);
    let mut written = step(&mut world, &pod_clique(2)).await;
    written.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert_eq!(written.len(), 2, "{written:?}");
    assert!(written[0].0.starts_with("DELETE"), "{written:?}");
    assert_eq!(written[1].1["metadata"]["labels"][LABEL_POD_INDEX], "0");
    assert_eq!(step(&mut world, &pod_clique(2)).await, [], "deleted and created once");
}

/// KLT-05: a pod on a lost node keeps terminating, so its replacement must not wait for its deletion.
#[tokio::test]
async fn a_pod_that_is_being_deleted_is_replaced() {
    let (mut world, pods) = world_with_pods(&pod_clique(2)).await;
    let mut pod = pods[0].1.clone();
    pod["metadata"]["uid"] = json!(format!("uid-of-{}", pod["metadata"]["name"].as_str().unwrap()));
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    world.feeds.pods.apply(pod);
    let written = step(&mut world, &pod_clique(2)).await;
    assert_eq!(written.len(), 1, "{written:?}");
    assert!(written[0].0.starts_with("POST"), "{written:?}");
}

#[tokio::test]
async fn no_pod_is_created_for_a_deleted_pod_clique_set() {
    let mut world = world();
    let pcs = world.context.caches.pod_clique_sets.get(Some("ns"), "wl").unwrap();
    world.feeds.pod_clique_sets.take(Event::Delete((*pcs).clone()));
    assert_eq!(step(&mut world, &pod_clique(2)).await, []);
}

#[tokio::test]
async fn no_pod_is_created_for_a_deleted_pod_clique() {
    let mut world = world();
    let pclq = pod_clique(2);
    assert_eq!(step(&mut world, &pclq).await.len(), 2);
    world.feeds.pod_cliques.take(Event::Delete(pclq.clone()));
    world.context.expectations.forget("uid-of-wl-0-a");
    reconcile(Arc::new(pclq), Arc::clone(&world.context)).await.unwrap();
    assert_eq!(world.written(), [], "the PodClique was deleted");
}

/// The watch of pods may report the deleted pods before the watch of PodCliques reports the cause.
#[tokio::test]
async fn no_pod_is_recreated_for_a_deleted_pod_clique_that_is_still_cached() {
    let (mut world, pods) = world_with_pods(&pod_clique(2)).await;
    let lost = world.context.caches.pods.get(Some("ns"), &names(&pods)[0]).unwrap();
    world.feeds.pods.take(Event::Delete((*lost).clone()));
    world.delete_without_event("wl-0-a");
    assert_eq!(step(&mut world, &pod_clique(2)).await, []);
}

/// DEL-08: new pods would keep a deleted PodGroup of the same name.
#[tokio::test]
async fn no_pod_is_created_before_the_gang_resources_exist() {
    let mut world = world();
    world.context.synced.forget("uid-of-gang");
    assert_eq!(step(&mut world, &pod_clique(2)).await, []);
    world.context.synced.record(&pod_gang(false, &[]));
    assert_eq!(step(&mut world, &pod_clique(2)).await.len(), 2);
}

#[tokio::test]
async fn gated_pods_that_keep_a_deleted_gangs_resources_alive_are_deleted() {
    let (mut world, mut pods) = world_with_pods(&pod_clique(2)).await;
    let (_, mut bound) = pods.pop().unwrap();
    bound["metadata"]["uid"] = json!(format!("uid-of-{}", bound["metadata"]["name"].as_str().unwrap()));
    bound["spec"]["nodeName"] = json!("n");
    bound["spec"]["schedulingGates"] = json!([]);
    world.feeds.pods.apply(bound);
    world.context.synced.record_held(&pod_gang(false, &[]));
    let written = step(&mut world, &pod_clique(2)).await;
    let gated = names(&pods).remove(0);
    assert_eq!(written.len(), 1, "the bound pod is kept, and no pod is created yet: {written:?}");
    assert_eq!(written[0].0, format!("DELETE /api/v1/namespaces/ns/pods/{gated}"));
}

/// Two pods of an old template; the first is in the current update step.
#[rstest::rstest]
#[case::current_update_step(0, "RollingRecreate", true, &[0])]
#[case::only_the_pod_that_is_not_ready(0, "RollingRecreate", false, &[1])]
#[case::update_step_of_another_replica(1, "RollingRecreate", false, &[])]
#[case::on_delete(0, "OnDelete", false, &[])]
#[tokio::test]
async fn an_update_deletes_only_pods_that_are_due(
    #[case] updating_replica: i32,
    #[case] strategy: &str,
    #[case] second_is_ready: bool,
    #[case] expected: &[usize],
) {
    let mut world = world();
    let mut pcs = (*world.context.caches.pod_clique_sets.get(Some("ns"), "wl").unwrap()).clone();
    let template = template_hash(&pcs, &pcs.spec.template.cliques[0]);
    let generation = generation_hash(&pcs);
    pcs.spec.update_strategy = serde_json::from_value(json!({"type": strategy})).unwrap();
    let updating = json!([{"replicaIndex": updating_replica}]);
    let progress = json!({"updateStartedAt": "2026-01-01T00:00:00Z", "currentlyUpdating": updating});
    let status = json!({"currentGenerationHash": generation, "updateProgress": progress});
    pcs.status = serde_json::from_value(status).unwrap();
    world.feeds.pod_clique_sets.take(Event::Apply(pcs));

    let mut pclq = pod_clique(2);
    pclq.labels_mut().insert(LABEL_POD_TEMPLATE_HASH.to_owned(), template.clone());
    let pods = step(&mut world, &pclq).await;
    let names: Vec<_> =
        pods.iter().map(|(_, pod)| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    for (place, (_, pod)) in pods.iter().enumerate() {
        let mut pod = pod.clone();
        pod["metadata"]["uid"] = json!(format!("uid-of-{}", names[place]));
        pod["metadata"]["labels"][LABEL_POD_TEMPLATE_HASH] = json!("of old");
        pod["spec"]["nodeName"] = json!("n");
        pod["spec"]["schedulingGates"] = json!([]);
        let ready = if place == 0 || second_is_ready { "True" } else { "False" };
        pod["status"] = json!({"conditions": [{"type": "Ready", "status": ready}]});
        world.feeds.pods.apply(pod);
    }
    let progress = json!({"podCliqueSetGenerationHash": generation, "podTemplateHash": template,
                          "readyPodsSelectedToUpdate": {"current": names[0]}});
    pclq.status = serde_json::from_value(json!({"updateProgress": progress})).unwrap();
    let mut deleted: Vec<_> = step(&mut world, &pclq).await.into_iter().map(|(request, _)| request).collect();
    deleted.sort();
    let mut wanted: Vec<_> =
        expected.iter().map(|place| format!("DELETE /api/v1/namespaces/ns/pods/{}", names[*place])).collect();
    wanted.sort();
    assert_eq!(deleted, wanted);
}
