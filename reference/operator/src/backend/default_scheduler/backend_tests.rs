use grove_api::names::ANNOTATION_GANG_SCOPE;
use grove_api::{PodGangPackConstraint, PodGangSpec, PodGangTopologyConstraint, PodGroup};
use serde_json::Value;
use tower_test::mock;

use super::*;
use crate::backend::fake_api::FakeApi;

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
async fn in_pod_group_scope_every_pod_joins_its_pod_group() {
    let expected = json!({
        "schedulerName": "default-scheduler", "priorityClassName": "high",
        "schedulingGroup": {"podGroupName": "wl-0-wl-0-a"},
    });
    for index in [0, 2] {
        assert_eq!(prepared(&backend(true), &pod_gang(), index, json!({})), expected);
    }
}

#[rstest::rstest]
#[case("PodGang", "wl-0")]
#[case("Tree", "wl-0-wl-0-a")]
#[tokio::test]
async fn surplus_joins_no_pod_group_in_scopes_with_a_hard_gang(#[case] scope: &str, #[case] name: &str) {
    let mut gang = pod_gang();
    gang.annotations_mut().insert(ANNOTATION_GANG_SCOPE.into(), scope.into());
    let group =
        |index| prepared(&backend(true), &gang, index, json!({}))["schedulingGroup"]["podGroupName"].clone();
    assert_eq!(group(1), name);
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
async fn a_pinned_scope_is_kept_without_a_request() {
    let mut gang = pod_gang();
    gang.annotations_mut().insert(ANNOTATION_PINNED_SCOPE.into(), "PodGang".into());
    backend(true).prepare_pod_gang(&mut gang, &PodCliqueSet::default()).await.unwrap();
    assert_eq!(gang.annotations()[ANNOTATION_PINNED_SCOPE], "PodGang");
}

/// The scope of a PodGang is permanent, so it must not be guessed.
#[tokio::test]
async fn no_scope_is_pinned_if_the_api_server_does_not_answer() {
    let mut gang = pod_gang();
    let pinned = backend(true).prepare_pod_gang(&mut gang, &PodCliqueSet::default()).await;
    assert!(matches!(pinned, Err(BackendError::NotReady { .. })), "{pinned:?}");
    assert!(!gang.annotations().contains_key(ANNOTATION_PINNED_SCOPE));
}

#[tokio::test]
async fn a_replacement_gets_the_domain_of_its_gangs_surplus() {
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
    let api = FakeApi::with_objects([("/api/v1/nodes/n1", node)]);
    let config = DefaultSchedulerConfig { gang_scheduling: true, ..DefaultSchedulerConfig::default() };
    let backend = DefaultScheduler::new(api.client.clone(), config, "grove-system");
    let mut gang = pod_gang();
    let pack = PodGangPackConstraint { required: Some("rack".into()), preferred: None };
    gang.spec.topology_constraint = Some(PodGangTopologyConstraint { pack_constraint: Some(pack) });
    let in_r1 = crate::backend::affinity::in_domain("rack", "r1");
    // In scope `PodGroup`, the PodGroup contains surplus pods too, and the scheduler keeps all in one domain.
    for (scope, requirements) in
        [("PodGroup", vec![]), ("PodGang", vec![in_r1.clone()]), ("Tree", vec![in_r1])]
    {
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

/// The levels are block for the PodGang, rack for a topology group, and host for a podgroup.
#[rstest::rstest]
#[case::own_podgroup("wl-0-a", &["n1"], &[("block", "b1"), ("rack", "r1"), ("host", "n1")])]
#[case::of_the_group("wl-0-b", &["n1"], &[("block", "b1"), ("rack", "r1")])]
#[case::outside_the_group("wl-0-c", &["n1"], &[("block", "b1")])]
#[case::nothing_bound("wl-0-a", &[], &[])]
#[tokio::test]
async fn in_a_tree_a_pod_gets_the_domain_of_each_level(
    #[case] clique: &str,
    #[case] bound: &[&str],
    #[case] wanted: &[(&str, &str)],
) {
    let required = |key: &str| {
        let pack = PodGangPackConstraint { required: Some(key.into()), preferred: None };
        Some(PodGangTopologyConstraint { pack_constraint: Some(pack) })
    };
    let podgroup = |name: &str, topology_constraint| PodGroup {
        name: name.into(),
        min_replicas: 1,
        topology_constraint,
        ..PodGroup::default()
    };
    let config = grove_api::TopologyConstraintGroupConfig {
        name: "g".into(),
        pod_group_names: vec!["wl-0-a".into(), "wl-0-b".into()],
        topology_constraint: required("rack"),
    };
    let spec = PodGangSpec {
        podgroups: vec![
            podgroup("wl-0-a", required("host")),
            podgroup("wl-0-b", None),
            podgroup("wl-0-c", None),
        ],
        topology_constraint: required("block"),
        topology_constraint_group_configs: vec![config],
        ..PodGangSpec::default()
    };
    let mut gang = PodGang::new("wl-0", spec);
    gang.annotations_mut().insert(ANNOTATION_PINNED_SCOPE.into(), "Tree".into());
    let pod = |clique: &str, index: i32, node: Option<&str>, group: Option<&str>| {
        let labels = json!({"grove.io/podclique": clique, "grove.io/podclique-pod-index": index.to_string()});
        let group = group.map(|name| json!({"podGroupName": name}));
        let spec = json!({"containers": [], "nodeName": node, "schedulingGroup": group});
        Arc::new(
            serde_json::from_value::<Pod>(json!({"metadata": {"labels": labels}, "spec": spec})).unwrap(),
        )
    };
    let node = json!({"metadata": {"name": "n1", "labels": {"block": "b1", "rack": "r1", "host": "n1"}}});
    let api = FakeApi::with_objects([("/api/v1/nodes/n1", node)]);
    let config = DefaultSchedulerConfig { gang_scheduling: true, ..DefaultSchedulerConfig::default() };
    let backend = DefaultScheduler::new(api.client.clone(), config, "grove-system");
    let mut pods = vec![pod(clique, 0, None, Some("its"))];
    pods.extend(bound.iter().map(|node| pod("wl-0-a", 1, Some(*node), None)));
    let state = GangState { pods: &pods, ..GangState::without_pods(&gang) };
    let wanted =
        wanted.iter().map(|(key, domain)| crate::backend::affinity::in_domain(key, domain)).collect();
    assert_eq!(backend.release_pod(&pods[0], &state).await.unwrap(), Release::Now(wanted));
    let surplus = pod(clique, 1, None, None);
    let held = backend.release_pod(&surplus, &state).await.unwrap();
    assert!(matches!(held, Release::Hold(_)), "{held:?}");
}

#[rstest::rstest]
#[case::no_domain(
    "0/2 placements are available, first placement status: waiting for minCount pods",
    Some("0/2 placements are available")
)]
#[case::no_level("waiting for minCount pods", None)]
#[tokio::test]
async fn domains_tried_covers_all_domains(#[case] message: &str, #[case] tried: Option<&str>) {
    let condition = json!({"type": "PodGroupInitiallyScheduled", "status": "False", "message": message});
    let podgroup = DynamicObject::new("wl-0", &ApiResource::erase::<Pod>(&()))
        .data(json!({"status": {"conditions": [condition]}}));
    assert_eq!(backend(true).domains_tried(&podgroup).as_deref(), tried);
}
