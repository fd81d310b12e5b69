use grove_api::{
    NamespacedName, PodGangPackConstraint, PodGangSpec, PodGangTopologyConstraint, PodGroup,
    TopologyConstraintGroupConfig,
};
use serde_json::{Value, json};

use super::*;
use crate::backend::fake_api::FakeApi;
use crate::backend::koordinator::layers::Layer;

const POD_GROUPS: &str = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/team/podgroups";
const TOPOLOGY: &str = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies/default";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.sigs.k8s.io";
const RACK: &str = "topology.kubernetes.io/rack";

fn pod_gang(podgroups: &[&str]) -> PodGang {
    let podgroup = |name: &&str| PodGroup {
        name: (*name).to_owned(),
        min_replicas: 1,
        pod_references: vec![NamespacedName { namespace: "team".into(), name: format!("{name}-0") }],
        topology_constraint: None,
    };
    let podgroups = podgroups.iter().map(podgroup).collect();
    let mut pod_gang = PodGang::new("wl-0", PodGangSpec { podgroups, ..PodGangSpec::default() });
    pod_gang.metadata.namespace = Some("team".into());
    pod_gang.metadata.uid = Some("uid-of-wl-0".into());
    pod_gang
}

fn required(mut pod_gang: PodGang, key: &str) -> PodGang {
    let pack = PodGangPackConstraint { required: Some(key.to_owned()), preferred: None };
    pod_gang.spec.topology_constraint = Some(PodGangTopologyConstraint { pack_constraint: Some(pack) });
    pod_gang
}

fn network_topology(layer: &str) -> Value {
    json!({
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": [{"topologyLayer": layer, "labelKey": [RACK]}]},
    })
}

fn crd() -> Value {
    let version = json!({"name": "v1alpha1", "served": true, "storage": true});
    json!({
        "metadata": {"name": "podgroups.scheduling.sigs.k8s.io"},
        "spec": {
            "group": "scheduling.sigs.k8s.io", "scope": "Namespaced", "versions": [version],
            "names": {"kind": "PodGroup", "plural": "podgroups"},
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    })
}

fn backend(api: &FakeApi, config: Value) -> Koordinator {
    Koordinator::new(api.client.clone(), serde_json::from_value(config).unwrap())
}

async fn sync_error(api: &FakeApi, pod_gang: &PodGang) -> BackendError {
    backend(api, json!({})).sync_pod_gang(&GangState::without_pods(pod_gang), &[]).await.unwrap_err()
}

fn existing_pod_groups(pod_gang: &PodGang) -> Vec<Arc<DynamicObject>> {
    let pods = excess_pods::released_pods(pod_gang);
    let state = GangState { pods: &pods, ..GangState::without_pods(pod_gang) };
    let mut plan = plan::plan(&KoordinatorConfig::default(), &state, &Gather::default(), &[]).unwrap();
    for object in &mut plan {
        object.annotations_mut().retain(|_, value| value != gang_objects::ABSENT);
    }
    plan.into_iter().map(Arc::new).collect()
}

fn requests(api: &FakeApi) -> Vec<String> {
    api.written().into_iter().map(|(request, _)| request).collect()
}

fn prepared(config: Value, pod_gang: &PodGang, pod: Value) -> Value {
    let mut pod: DynamicObject = serde_json::from_value(pod).unwrap();
    let api = FakeApi::with_objects([]);
    let member = Membership { pod_gang, pod_clique: "wl-0-a", pod_index: 0 };
    backend(&api, config).prepare_pod(&mut pod, &member).unwrap();
    serde_json::to_value(pod).unwrap()
}

#[tokio::test]
async fn a_member_joins_at_once_and_surplus_when_it_is_released() {
    let mut pod_gang = required(pod_gang(&["wl-0-a"]), RACK);
    pod_gang.spec.priority_class_name = Some("high".into());
    let pod = prepared(json!({}), &pod_gang, json!({"metadata": {"labels": {"team": "x"}}, "spec": {}}));
    let has_rack = json!({"matchExpressions": [{"key": RACK, "operator": "Exists"}]});
    let affinity = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [has_rack]},
    }});
    assert_eq!(
        pod,
        json!({
            "metadata": {"labels": {"team": "x", "pod-group.scheduling.sigs.k8s.io": "wl-0-wl-0-a"}},
            "spec": {"schedulerName": "koord-scheduler", "priorityClassName": "high", "affinity": affinity},
        })
    );
    let mut surplus: DynamicObject = serde_json::from_value(json!({"spec": {}})).unwrap();
    let member = Membership { pod_gang: &pod_gang, pod_clique: "wl-0-a", pod_index: 1 };
    backend(&FakeApi::with_objects([]), json!({})).prepare_pod(&mut surplus, &member).unwrap();
    assert_eq!(surplus.metadata.labels, None);
    let created: Pod =
        serde_json::from_value(json!({"metadata": {"labels": {"grove.io/podclique": "wl-0-a"}}})).unwrap();
    let labels = backend(&FakeApi::with_objects([]), json!({})).release_labels(&pod_gang, &created);
    assert_eq!(json!(labels), json!({"pod-group.scheduling.sigs.k8s.io": "wl-0-wl-0-a"}));
}

#[tokio::test]
async fn the_default_qos_class_applies_to_pods_without_one() {
    let class = |labels: Value| {
        let pod = json!({"metadata": {"labels": labels}, "spec": {}});
        let pod = prepared(json!({"defaultQoSClass": "LSR"}), &pod_gang(&["wl-0-a"]), pod);
        pod["metadata"]["labels"]["koordinator.sh/qosClass"].clone()
    };
    assert_eq!(class(json!({})), "LSR");
    assert_eq!(class(json!({"koordinator.sh/qosClass": "BE"})), "BE");
}

#[tokio::test]
async fn existing_pod_groups_are_not_written_again() {
    let api = FakeApi::with_objects([]);
    let pod_gang = pod_gang(&["wl-0-a", "wl-0-b"]);
    let synced = backend(&api, json!({}))
        .sync_pod_gang(&GangState::without_pods(&pod_gang), &existing_pod_groups(&pod_gang))
        .await
        .unwrap();
    assert_eq!((synced, requests(&api)), (Synced::default(), Vec::<String>::new()));
}

#[tokio::test]
async fn members_are_created_and_updated_before_one_is_pruned() {
    let api = FakeApi::with_objects([
        (format!("{POD_GROUPS}/wl-0-wl-0-a").as_str(), json!({"metadata": {"name": "wl-0-wl-0-a"}})),
        (format!("{POD_GROUPS}/wl-0-wl-0-b").as_str(), json!({"metadata": {"name": "wl-0-wl-0-b"}})),
    ]);
    let existing = existing_pod_groups(&pod_gang(&["wl-0-a", "wl-0-b"]));
    backend(&api, json!({}))
        .sync_pod_gang(&GangState::without_pods(&pod_gang(&["wl-0-a", "wl-0-c"])), &existing)
        .await
        .unwrap();
    let written = api.written();
    let groups = r#"["team/wl-0-wl-0-a","team/wl-0-wl-0-c"]"#;
    let (first, last) = written.split_at(2);
    for (request, body) in first {
        assert!([format!("PATCH {POD_GROUPS}/wl-0-wl-0-a"), format!("POST {POD_GROUPS}")].contains(request));
        assert_eq!(
            body["metadata"]["annotations"]["gang.scheduling.koordinator.sh/groups"], groups,
            "{request}"
        );
    }
    assert_ne!(first[0].0, first[1].0);
    let last: Vec<_> = last.iter().map(|(request, _)| request.as_str()).collect();
    assert_eq!(last, [format!("DELETE {POD_GROUPS}/wl-0-wl-0-b")]);
}

#[tokio::test]
async fn a_pod_group_of_another_controller_is_left_alone() {
    let owner = json!([{"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u", "controller": true}]);
    let taken = json!({"metadata": {"name": "wl-0-wl-0-a", "namespace": "team", "ownerReferences": owner}});
    let api = FakeApi::with_objects([(format!("{POD_GROUPS}/wl-0-wl-0-a").as_str(), taken)]);
    let error = sync_error(&api, &pod_gang(&["wl-0-a"])).await;
    assert!(matches!(error, BackendError::NameTaken(_)), "{error:?}");
    assert_eq!(requests(&api), Vec::<String>::new());
}

#[rstest::rstest]
#[case::late_cache(false)]
#[case::owner_reference_lost(true)]
#[tokio::test]
async fn a_started_gang_that_the_cache_lacks_is_not_held_again(#[case] orphaned: bool) {
    let pod_gang = pod_gang(&["wl-0-a"]);
    let mut found = DynamicObject::clone(&existing_pod_groups(&pod_gang)[0]);
    found.metadata.owner_references.take_if(|_| orphaned);
    let api = FakeApi::with_objects([(format!("{POD_GROUPS}/wl-0-wl-0-a").as_str(), json!(found))]);
    backend(&api, json!({})).sync_pod_gang(&GangState::without_pods(&pod_gang), &[]).await.unwrap();
    match (orphaned, api.written().as_slice()) {
        (false, []) => {}
        (true, [(request, patch)]) => {
            assert_eq!(request, &format!("PATCH {POD_GROUPS}/wl-0-wl-0-a"));
            assert_eq!(patch["metadata"]["ownerReferences"][0]["uid"], "uid-of-wl-0");
            assert_eq!(patch.get("spec"), None);
        }
        (_, written) => panic!("{written:?}"),
    }
}

#[rstest::rstest]
#[case::as_planned(true, 0, &[])]
#[case::annotation_lost(false, 1, &["ClusterNetworkTopology default declares no layer rackLayer"])]
#[tokio::test]
async fn a_gang_with_pod_groups_needs_no_declared_layer(
    #[case] as_planned: bool,
    #[case] patches: usize,
    #[case] reasons: &[&str],
) {
    let pod_gang = required(pod_gang(&["wl-0-a"]), RACK);
    let mut existing = existing_pod_groups(&pod_gang);
    if as_planned {
        let layer = Gather { required: Some(Layer::Rack), ..Gather::default() };
        let annotations = Arc::make_mut(&mut existing[0]).annotations_mut();
        annotations.insert(ANNOTATION_NETWORK_TOPOLOGY.to_owned(), layer.network_topology_spec().unwrap());
    }
    let path = format!("{POD_GROUPS}/wl-0-wl-0-a");
    let api = FakeApi::with_objects([(path.as_str(), json!(*existing[0]))]);
    let state = GangState::without_pods(&pod_gang);
    let synced = backend(&api, json!({})).sync_pod_gang(&state, &existing).await.unwrap();
    assert_eq!(requests(&api), vec![format!("PATCH {path}"); patches]);
    assert_eq!(synced.warnings.len(), reasons.len());
    assert!(
        synced.warnings.iter().zip(reasons).all(|(warning, reason)| warning.ends_with(reason)),
        "{synced:?}"
    );
}

#[tokio::test]
async fn a_required_layer_must_be_declared() {
    let pod_gang = required(pod_gang(&["wl-0-a"]), RACK);
    let declared = FakeApi::with_objects([(TOPOLOGY, network_topology("rackLayer"))]);
    backend(&declared, json!({})).sync_pod_gang(&GangState::without_pods(&pod_gang), &[]).await.unwrap();
    let (request, body) = declared.written().remove(0);
    assert_eq!(request, format!("POST {POD_GROUPS}"));
    assert_eq!(
        body["metadata"]["annotations"]["gang.scheduling.koordinator.sh/network-topology-spec"],
        r#"{"gatherStrategy":[{"layer":"rackLayer","strategy":"MustGather"}]}"#
    );

    let others =
        [FakeApi::with_objects([(TOPOLOGY, network_topology("blockLayer"))]), FakeApi::with_objects([])];
    for api in others {
        let error = sync_error(&api, &pod_gang).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r#"scheduler backend "koord-scheduler" is not ready: ClusterNetworkTopology default declares no layer rackLayer"#);
        }
        assert_eq!(requests(&api), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_gang_that_cannot_be_expressed_gets_no_pod_groups() {
    let api = FakeApi::with_objects([(TOPOLOGY, network_topology("rackLayer"))]);
    let mut grouped = pod_gang(&["wl-0-a", "wl-0-b"]);
    grouped.spec.topology_constraint_group_configs = vec![TopologyConstraintGroupConfig::default()];
    for pod_gang in [grouped, required(pod_gang(&["wl-0-a"]), "example.com/rack")] {
        let error = sync_error(&api, &pod_gang).await;
        assert!(matches!(error, BackendError::Refused(_)), "{error:?}");
    }
    assert_eq!(requests(&api), Vec::<String>::new());
}

#[tokio::test]
async fn readiness_requires_the_pod_group_crd() {
    let ready = backend(&FakeApi::with_objects([(CRD, crd())]), json!({})).readiness().await;
    assert_eq!(ready, Ok(()));
    let missing = backend(&FakeApi::with_objects([]), json!({})).readiness().await.unwrap_err();
    insta::assert_snapshot!(missing, @"CRD podgroups.scheduling.sigs.k8s.io is not installed: Koordinator 1.8 or newer is needed");
}

fn pod(node: Option<&str>) -> Arc<Pod> {
    let pod = json!({
        "metadata": {"labels": {"grove.io/podclique": "wl-0-a", "grove.io/podclique-pod-index": "0"}},
        "spec": {"containers": [], "nodeName": node},
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

#[tokio::test]
async fn a_later_pod_gets_the_domain_of_its_gang() {
    let node = json!({"metadata": {"name": "n1", "labels": {RACK: "r1"}}});
    let api = FakeApi::with_objects([("/api/v1/nodes/n1", node)]);
    let backend = backend(&api, json!({}));
    let in_r1 = crate::backend::affinity::in_domain(RACK, "r1");
    let constrained = required(pod_gang(&["wl-0-a"]), RACK);
    let first = [pod(None), pod(None)];
    let later = [pod(None), pod(Some("n1"))];
    for (pod_gang, pods, requirements) in [
        (&constrained, &first, vec![]),
        (&constrained, &later, vec![in_r1]),
        (&pod_gang(&["wl-0-a"]), &later, vec![]),
    ] {
        let state = GangState { pods, ..GangState::without_pods(pod_gang) };
        let released = backend.release_pod(&pods[0], &state).await.unwrap();
        assert_eq!(released, Release::Now(requirements));
    }
}
