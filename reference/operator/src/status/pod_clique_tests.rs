use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::cache::observed_pod::PodCondition;
use crate::context::test_api::{World, owned_by, set_without_cliques};

fn pod(name: &str, gated: bool, conditions: &[&str], container: Value) -> Arc<Pod> {
    let conditions: Vec<_> =
        conditions.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
    let containers: Vec<_> = Some(container).into_iter().filter(|container| !container.is_null()).collect();
    let gates = if gated { json!([{"name": "g"}]) } else { json!([]) };
    let node = conditions.iter().any(|condition| condition["type"] == "PodScheduled").then_some("n");
    let pod = json!({
        "metadata": {"name": name, "labels": {LABEL_POD_TEMPLATE_HASH: "h"}},
        "spec": {"containers": [], "schedulingGates": gates, "nodeName": node},
        "status": {"conditions": conditions, "containerStatuses": containers},
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn pclq(observed: Option<i64>) -> PodClique {
    serde_json::from_value(json!({
        "metadata": {"name": "wl-0-a", "generation": 1, "labels": {LABEL_POD_TEMPLATE_HASH: "h"}},
        "spec": {"podSpec": {}, "replicas": 3, "minAvailable": 2},
        "status": {"observedGeneration": observed},
    }))
    .unwrap()
}

/// Returns a world with the PodCliqueSet of this PodClique.
fn world_of(pclq: &mut PodClique) -> World {
    let mut world = World::new();
    world.feeds.pod_clique_sets.apply(set_without_cliques());
    pclq.metadata.namespace = Some("ns".to_owned());
    pclq.metadata.uid = Some("uid-of-wl-0-a".to_owned());
    pclq.metadata.resource_version = Some("7".to_owned());
    pclq.metadata.owner_references = serde_json::from_value(owned_by("PodCliqueSet", "wl")).unwrap();
    world
}

#[test]
fn pods_are_counted_by_state() {
    let pods = [
        pod("a", true, &[], json!(null)),
        pod("b", false, &["PodScheduled"], json!(null)),
        pod("c", false, &["PodScheduled", "Ready"], json!(null)),
    ];
    let status = status(&pclq(Some(1)), "wl", &pods, 0);
    let counts =
        (status.replicas, status.ready_replicas, status.schedule_gated_replicas, status.scheduled_replicas);
    assert_eq!(counts, (3, 1, 1, 2));
    assert_eq!(status.updated_replicas, 3);
    assert!(conditions::is_true(&status.conditions, CONDITION_POD_CLIQUE_SCHEDULED));
    assert!(!conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED));
}

#[tokio::test]
async fn a_scheduled_pod_is_not_counted_as_ready() {
    let mut pclq = pclq(Some(1));
    let mut world = world_of(&mut pclq);
    let mut pod = (*pod("a", false, &["PodScheduled"], json!(null))).clone();
    pod.metadata.namespace = Some("ns".to_owned());
    pod.metadata.owner_references = serde_json::from_value(owned_by("PodClique", "wl-0-a")).unwrap();
    pod.labels_mut().insert(LABEL_POD_CLIQUE.to_owned(), "wl-0-a".to_owned());
    world.feeds.pods.take(Event::Apply(pod));
    reconcile(Arc::new(pclq), Arc::clone(&world.context)).await.unwrap();
    let written = world.written();
    assert_eq!(written[0].1["metadata"]["resourceVersion"], "7", "only for the version that was read");
    assert_eq!(written[0].1["status"]["scheduledReplicas"], 1);
    assert_eq!(written[0].1["status"]["readyReplicas"], Value::Null);
}

#[rstest::rstest]
#[case::pods_missing(1, 2, false, Some(2))]
#[case::all_pods_exist(1, 3, false, None)]
#[case::old(3, 0, false, None)]
#[case::has_a_status(1, 2, true, None)]
fn the_first_status_waits_while_pods_are_created(
    #[case] age: i64,
    #[case] pods: usize,
    #[case] has_status: bool,
    #[case] seconds: Option<u64>,
) {
    let mut pclq = pclq(None);
    pclq.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    if has_status {
        pclq.status = Some(status(&pclq, "wl", &[], 0));
    }
    let now = Timestamp::from_second(age).unwrap();
    assert_eq!(first_status_delay(&pclq, pods, now), seconds.map(Duration::from_secs));
}

#[test]
fn a_generation_is_observed_once_all_pods_exist() {
    let pods = ["a", "b", "c"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
    assert_eq!(status(&pclq(None), "wl", &pods[..2], 0).observed_generation, None);
    assert_eq!(status(&pclq(None), "wl", &pods, 0).observed_generation, Some(1));
}

#[test]
fn the_minimum_is_held_only_in_the_generation_in_which_it_was_bound() {
    let bound = ["a", "b"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
    let held_generations = |pclq: &PodClique, pods: &[Arc<Pod>], generation| {
        let conditions = status(pclq, "wl", pods, generation).conditions;
        (0..3).filter(|generation| held_since(&conditions, *generation).is_some()).collect::<Vec<_>>()
    };
    let mut pclq = pclq(Some(1));
    assert_eq!(held_generations(&pclq, &bound[..1], 0), [] as [u64; 0], "one of two is bound");
    pclq.status = Some(status(&pclq, "wl", &bound, 0));
    assert_eq!(held_generations(&pclq, &[], 0), [0], "it was bound before");
    assert_eq!(held_generations(&pclq, &bound, 1), [] as [u64; 0], "the pods are of generation 0");
    let mut recreated = bound.map(|pod| (*pod).clone());
    for pod in &mut recreated {
        pod.labels_mut().insert(names::LABEL_GENERATION.to_owned(), "1".to_owned());
    }
    assert_eq!(held_generations(&pclq, &recreated.map(Arc::new), 1), [1]);
}

#[test]
fn a_clique_scaled_from_zero_is_not_held_before_it_is_bound_again() {
    let bound = ["a", "b"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
    let mut pclq = pclq(Some(1));
    let mut breached_and_held = |replicas: i32, pods: &[Arc<Pod>]| {
        pclq.spec.replicas = replicas;
        pclq.status = Some(status(&pclq, "wl", pods, 0));
        let conditions = &pclq.status.as_ref().unwrap().conditions;
        let is_true = |type_| conditions::is_true(conditions, type_);
        (is_true(CONDITION_MIN_AVAILABLE_BREACHED), held_since(conditions, 0).is_some())
    };
    assert_eq!(breached_and_held(2, &bound), (false, true));
    assert_eq!(breached_and_held(0, &bound), (false, false));
    assert_eq!(breached_and_held(0, &[]), (false, false));
    assert_eq!(breached_and_held(2, &[]), (true, false), "the new pods wait");
    assert_eq!(breached_and_held(2, &bound), (false, true));
}

fn preempted(pod: &Arc<Pod>) -> Arc<Pod> {
    let mut pod = (**pod).clone();
    let condition = PodCondition {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
        reason: Some("PreemptionByScheduler".to_owned()),
        ..PodCondition::default()
    };
    pod.status.get_or_insert_default().conditions.get_or_insert_default().push(condition);
    Arc::new(pod)
}

#[test]
fn a_clique_that_the_scheduler_evicts_is_not_held_before_it_is_bound_again() {
    let bound = ["a", "b"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
    let evicted = [preempted(&bound[0]), preempted(&bound[1])];
    let mut pclq = pclq(Some(1));
    pclq.status = Some(status(&pclq, "wl", &bound, 0));
    let is_held = |pods: &[Arc<Pod>], is_remembered: bool| {
        let mut seen = pclq.clone();
        if is_evicted(pods, is_remembered) {
            seen = without_minimum(seen);
        }
        held_since(&status(&seen, "wl", pods, 0).conditions, 0).is_some()
    };
    assert!(is_held(&bound, false));
    assert!(is_held(&[], false), "the pods were lost");
    assert!(is_held(&[Arc::clone(&bound[0]), Arc::clone(&evicted[1])], false), "one pod keeps its node");
    assert!(!is_held(&evicted, false), "both are evicted");
    assert!(!is_held(&[], true), "both have been evicted");
    assert!(is_held(&bound, true), "both are bound again");
}

#[tokio::test]
async fn an_eviction_is_remembered_for_the_status() {
    let bound = ["a", "b"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
    let mut pclq = pclq(Some(1));
    pclq.status = Some(status(&pclq, "wl", &bound, 0));
    let world = world_of(&mut pclq);
    let mut last = (*preempted(&bound[1])).clone();
    last.metadata.owner_references = serde_json::from_value(owned_by("PodClique", "wl-0-a")).unwrap();
    world.context.evictions.record(&last);
    reconcile(Arc::new(pclq), Arc::clone(&world.context)).await.unwrap();
    let written = world.written();
    let conditions = written[0].1["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|condition| condition["type"] == CONDITION_MIN_AVAILABLE_BREACHED));
    assert!(conditions.iter().all(|condition| condition["type"] != names::CONDITION_MIN_AVAILABLE_HELD));
}

#[rstest::rstest]
#[case::starting(json!(null), false)]
#[case::crashed(
    json!({"name": "m", "ready": false, "restartCount": 1, "image": "", "imageID": "",
           "lastState": {"terminated": {"exitCode": 1}}}),
    true
)]
#[case::started_but_unready(
    json!({"name": "m", "ready": false, "started": true, "restartCount": 0, "image": "", "imageID": ""}),
    true
)]
fn failed_and_unready_containers_breach_the_minimum(#[case] container: Value, #[case] breached: bool) {
    let pods = [
        pod("a", false, &["PodScheduled"], container),
        pod("b", false, &["PodScheduled", "Ready"], json!(null)),
    ];
    let status = status(&pclq(Some(1)), "wl", &pods, 0);
    assert_eq!(conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED), breached);
}

/// An init container that waits for other cliques is started and not ready while it waits.
#[test]
fn a_pod_with_a_running_init_container_is_not_unhealthy() {
    let mut waiting = (*pod("a", false, &["PodScheduled"], json!(null))).clone();
    let init =
        json!({"name": "i", "ready": false, "started": true, "restartCount": 0, "image": "", "imageID": ""});
    waiting.status.get_or_insert_default().init_container_statuses =
        Some(vec![serde_json::from_value(init).unwrap()]);
    assert!(!is_unhealthy(&waiting));
}
