//! What kube-scheduler's pods look like.

use std::sync::Arc;

use grove_api::names::ANNOTATION_GANG_SCOPE;
use grove_api::{PodGangPackConstraint, PodGangSpec, PodGangTopologyConstraint, PodGroup};
use serde_json::Value;
use tower_test::mock;

use super::*;
use crate::backend::made_up_api::MadeUpApi;

fn backend(gang_scheduling: bool) -> DefaultScheduler {
    let (service, _handle) =
        mock::pair::<http::Request<kube::client::Body>, http::Response<kube::client::Body>>();
    let config = DefaultSchedulerConfig { gang_scheduling, ..DefaultSchedulerConfig::default() };
    DefaultScheduler::new(Client::new(service, "default"), config, "grove-system")
}

fn pod_gang() -> PodGang {
    let podgroups = vec![PodGroup { name: "wl-0-a".into(), min_replicas: 2, ..PodGroup::default() }];
    let priority_class_name = Some("high".to_owned());
    PodGang::new("wl-0", PodGangSpec { podgroups, priority_class_name, ..PodGangSpec::default() })
}

fn prepared(backend: &DefaultScheduler, pod_gang: &PodGang, pod_index: i32, spec: Value) -> Value {
    let mut pod =
        DynamicObject::new("wl-0-a-xxxxx", &ApiResource::erase::<Pod>(&())).data(json!({ "spec": spec }));
    backend.prepare_pod(&mut pod, &Membership { pod_gang, pod_clique: "wl-0-a", pod_index }).unwrap();
    pod.data["spec"].clone()
}

#[tokio::test]
async fn flat_every_pod_joins_its_podgroup() {
    let expected = json!({
        "schedulerName": "default-scheduler", "priorityClassName": "high",
        "schedulingGroup": {"podGroupName": "wl-0-wl-0-a"},
    });
    for index in [0, 2] {
        assert_eq!(prepared(&backend(true), &pod_gang(), index, json!({})), expected);
    }
}

#[tokio::test]
async fn in_pod_gang_scope_surplus_joins_nothing() {
    let mut gang = pod_gang();
    gang.annotations_mut().insert(ANNOTATION_GANG_SCOPE.into(), "PodGang".into());
    let group =
        |index| prepared(&backend(true), &gang, index, json!({}))["schedulingGroup"]["podGroupName"].clone();
    assert_eq!(group(1), "wl-0");
    assert_eq!(group(2), Value::Null);
}

#[tokio::test]
async fn pass_through_sets_the_scheduler_name_only() {
    let spec = prepared(&backend(false), &pod_gang(), 0, json!({}));
    assert_eq!(spec, json!({"schedulerName": "default-scheduler"}));
    assert!(backend(false).gang_resources().is_empty());
}

#[tokio::test]
async fn a_pod_of_an_external_workload_keeps_its_group() {
    let mut gang = pod_gang();
    gang.labels_mut().insert(LABEL_EXTERNAL_WORKLOAD.into(), "true".into());
    let own = json!({"schedulingGroup": {"podGroupName": "mine"}});
    assert_eq!(prepared(&backend(true), &gang, 0, own)["schedulingGroup"]["podGroupName"], "mine");
    assert_eq!(
        backend(true).sync_pod_gang(&GangState::without_pods(&gang), &[]).await.unwrap(),
        Synced::default()
    );
}

#[tokio::test]
async fn a_constrained_pod_needs_nodes_with_the_label() {
    let mut gang = pod_gang();
    let pack = PodGangPackConstraint { required: Some("rack".into()), preferred: None };
    gang.spec.topology_constraint = Some(PodGangTopologyConstraint { pack_constraint: Some(pack) });
    let spec = prepared(&backend(true), &gang, 0, json!({"priorityClassName": "own"}));
    assert_eq!(spec["priorityClassName"], "own");
    let terms = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    assert_eq!(
        spec.pointer(terms),
        Some(&json!([{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]))
    );
}

#[tokio::test]
async fn a_pinned_scope_stays_and_nobody_is_asked() {
    let mut gang = pod_gang();
    gang.annotations_mut().insert(ANNOTATION_PINNED_SCOPE.into(), "PodGang".into());
    backend(true).prepare_pod_gang(&mut gang, &PodCliqueSet::default()).await.unwrap();
    assert_eq!(gang.annotations()[ANNOTATION_PINNED_SCOPE], "PodGang");
}

/// A mapping is for ever, so it is not guessed.
#[tokio::test]
async fn where_the_api_server_does_not_answer_nothing_is_pinned() {
    let mut gang = pod_gang();
    let pinned = backend(true).prepare_pod_gang(&mut gang, &PodCliqueSet::default()).await;
    assert!(matches!(pinned, Err(BackendError::NotReady { .. })), "{pinned:?}");
    assert!(!gang.annotations().contains_key(ANNOTATION_PINNED_SCOPE));
}

#[tokio::test]
async fn a_replacement_goes_where_surplus_of_its_gang_is() {
    let pod = |index: i32, node: Option<&str>, group: Option<&str>| {
        let labels =
            json!({"grove.io/podclique": "wl-0-a", "grove.io/podclique-pod-index": index.to_string()});
        let group = group.map(|name| json!({"podGroupName": name}));
        let spec = json!({"containers": [], "nodeName": node, "schedulingGroup": group});
        Arc::new(
            serde_json::from_value::<Pod>(json!({"metadata": {"labels": labels}, "spec": spec})).unwrap(),
        )
    };
    let node = json!({"metadata": {"name": "n1", "labels": {"rack": "r1"}}});
    let api = MadeUpApi::holding([("/api/v1/nodes/n1", node)]);
    let config = DefaultSchedulerConfig { gang_scheduling: true, ..DefaultSchedulerConfig::default() };
    let backend = DefaultScheduler::new(api.client.clone(), config, "grove-system");
    let mut gang = pod_gang();
    let pack = PodGangPackConstraint { required: Some("rack".into()), preferred: None };
    gang.spec.topology_constraint = Some(PodGangTopologyConstraint { pack_constraint: Some(pack) });
    let in_r1 = crate::backend::affinity::in_domain("rack", "r1");
    // The PodGroup of a podgroup has surplus too: there the scheduler keeps them together.
    for (scope, requirements) in [("PodGroup", vec![]), ("PodGang", vec![in_r1])] {
        gang.annotations_mut().insert(ANNOTATION_GANG_SCOPE.into(), scope.into());
        let pods = [pod(0, None, Some("wl-0")), pod(2, Some("n1"), None)];
        let state = GangState { pods: &pods, ..GangState::without_pods(&gang) };
        assert_eq!(
            backend.release_pod(&pods[0], &state).await.unwrap(),
            Release::Now(requirements),
            "{scope}"
        );
    }
}
