use grove_api::{ClusterTopologyBinding, PodGangSpec};
use serde_json::{Value, json};

use super::*;
use crate::backend::fake_api::FakeApi;
use crate::backend::kai::fake_cluster::{self, cluster};
use crate::cache::observed_pod::Pod;

const POD_GROUPS: &str = "/apis/scheduling.run.ai/v2alpha2/namespaces/ns/podgroups";
const BINDINGS: &str = "/apis/grove.io/v1alpha1/clustertopologybindings";

fn pod_gang() -> PodGang {
    serde_json::from_value(json!({
        "metadata": {"name": "wl-0", "namespace": "ns", "uid": "u1", "labels": {"kai.scheduler/queue": "q"}},
        "spec": {"podgroups": [{"name": "wl-0-a", "podReferences": [], "minReplicas": 2}]},
    }))
    .unwrap()
}

fn packed() -> PodGang {
    let mut pod_gang = pod_gang();
    let constraint = json!({"packConstraint": {"required": "rack"}});
    pod_gang.spec.topology_constraint = serde_json::from_value(constraint).unwrap();
    pod_gang.annotations_mut().insert(ANNOTATION_TOPOLOGY_NAME.into(), "topo".into());
    pod_gang
}

async fn sync(api: &FakeApi, pod_gang: &PodGang) -> Result<Synced, BackendError> {
    Kai::new(api.client.clone()).sync_pod_gang(&GangState::without_pods(pod_gang), &[]).await
}

#[tokio::test]
async fn a_pod_group_is_created() {
    let api = cluster(&[]);
    sync(&api, &pod_gang()).await.unwrap();
    let written = api.written();
    let [(request, pod_group)] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!(request, &format!("POST {POD_GROUPS}"));
    assert_eq!(pod_group["apiVersion"], "scheduling.run.ai/v2alpha2");
    assert_eq!(pod_group["kind"], "PodGroup");
    assert_eq!(pod_group["spec"]["minMember"], 2);
}

#[tokio::test]
async fn an_uncached_pod_group_keeps_the_queue_that_kai_set() {
    let first = cluster(&[]);
    sync(&first, &pod_gang()).await.unwrap();
    let (_, mut pod_group) = first.written().remove(0);
    pod_group["spec"]["queue"] = json!("moved");
    pod_group["spec"]["markUnschedulable"] = json!(false);
    let path = format!("{POD_GROUPS}/wl-0");
    let api = cluster(&[(&path, pod_group)]);
    sync(&api, &pod_gang()).await.unwrap();
    let written = api.written();
    assert!(written.iter().all(|(request, _)| !request.starts_with("PATCH")), "{written:?}");
}

#[rstest::rstest]
#[case::named_like_the_binding(json!([]), "topo")]
#[case::referenced(json!([{"schedulerName": "kai-scheduler", "topologyReference": "site"}]), "site")]
#[case::for_another_scheduler(json!([{"schedulerName": "volcano", "topologyReference": "site"}]), "topo")]
#[tokio::test]
async fn a_constraint_uses_the_referenced_topology(#[case] references: Value, #[case] expected: &str) {
    let binding = json!({
        "metadata": {"name": "topo"},
        "spec": {"levels": [{"domain": "rack", "key": "rack"}], "schedulerTopologyBindings": references},
    });
    let path = format!("{BINDINGS}/topo");
    let api = cluster(&[(&path, binding)]);
    sync(&api, &packed()).await.unwrap();
    let (_, pod_group) = api.written().remove(0);
    let constraint = json!({"topology": expected, "requiredTopologyLevel": "rack"});
    assert_eq!(pod_group["spec"]["topologyConstraint"], constraint);
}

#[tokio::test]
async fn a_cached_binding_is_not_requested() {
    let references = json!([{"schedulerName": "kai-scheduler", "topologyReference": "site"}]);
    let binding: ClusterTopologyBinding = serde_json::from_value(json!({
        "metadata": {"name": "topo"},
        "spec": {"levels": [{"domain": "rack", "key": "rack"}], "schedulerTopologyBindings": references},
    }))
    .unwrap();
    let api = cluster(&[]);
    let pod_gang = packed();
    let gang = GangState { topology: Some(&binding), ..GangState::without_pods(&pod_gang) };
    Kai::new(api.client.clone()).sync_pod_gang(&gang, &[]).await.unwrap();
    assert_eq!(api.written()[0].1["spec"]["topologyConstraint"]["topology"], "site");
}

#[tokio::test]
async fn a_constraint_without_a_topology_is_refused() {
    let api = cluster(&[]);
    let mut pod_gang = packed();
    pod_gang.annotations_mut().clear();
    assert!(matches!(sync(&api, &pod_gang).await, Err(BackendError::Refused(_))));
    assert_eq!(api.written(), []);
    pod_gang.annotations_mut().insert(ANNOTATION_TOPOLOGY.into(), "own".into());
    sync(&api, &pod_gang).await.unwrap();
    assert_eq!(api.written()[0].1["spec"]["topologyConstraint"]["topology"], "own");
}

#[tokio::test]
async fn nothing_is_written_to_an_older_kai() {
    let mut crds = fake_cluster::crds();
    let pod_groups = crds.iter_mut().find(|(path, _)| path.contains("podgroups")).unwrap();
    let fields =
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/subGroups/items/properties";
    pod_groups.1.pointer_mut(fields).unwrap().as_object_mut().unwrap().remove("minSubGroup").unwrap();
    let api = FakeApi::with_objects(crds.iter().map(|(path, crd)| (path.as_str(), crd.clone())));
    let error = sync(&api, &pod_gang()).await.unwrap_err().to_string();
    insta::assert_snapshot!(error, @r#"scheduler backend "kai-scheduler" is not ready: CRD podgroups.scheduling.run.ai has no spec.subGroups[].minSubGroup: KAI 0.15 or newer is needed"#);
    assert_eq!(api.written(), []);
}

#[tokio::test]
async fn a_pod_joins_by_annotation_and_label() {
    let backend = Kai::new(cluster(&[]).client);
    let mut pod = DynamicObject::new("p", &ApiResource::erase::<Pod>(&())).data(json!({"spec": {}}));
    let member = Membership { pod_gang: &pod_gang(), pod_clique: "wl-0-a", pod_index: 0 };
    backend.prepare_pod(&mut pod, &member).unwrap();
    let expected = json!({
        "name": "p",
        "annotations": {"kai.scheduler/skip-podgrouper": "true", "pod-group-name": "wl-0"},
        "labels": {"kai.scheduler/subgroup-name": "wl-0-a"},
    });
    assert_eq!(serde_json::to_value(&pod.metadata).unwrap(), expected);
    assert_eq!(pod.data, json!({"spec": {"schedulerName": "kai-scheduler"}}));
}

#[rstest::rstest]
#[case::of_the_pod_clique_set(json!({"labels": {"kai.scheduler/queue": "q"}}), json!({}), None)]
#[case::of_a_clique(json!({}), json!({"kai.scheduler/queue": "q"}), Some("q"))]
#[tokio::test]
async fn a_pod_gang_is_skipped_by_the_podgrouper_and_has_a_queue(
    #[case] metadata: Value,
    #[case] clique_labels: Value,
    #[case] copied_queue: Option<&str>,
) {
    let clique = json!({"name": "a", "labels": clique_labels, "spec": {"replicas": 1, "podSpec": {}}});
    let spec = json!({"replicas": 1, "template": {"cliques": [clique]}});
    let pcs: PodCliqueSet = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    let mut pod_gang = PodGang::new("wl-0", PodGangSpec::default());
    pod_gang.metadata.labels = pcs.metadata.labels.clone();
    Kai::new(cluster(&[]).client).prepare_pod_gang(&mut pod_gang, &pcs).await.unwrap();
    assert_eq!(pod_gang.annotations()[ANNOTATION_SKIP_PODGROUPER], "true");
    assert_eq!(pod_gang.annotations().get(KEY_QUEUE).map(String::as_str), copied_queue);
    assert_eq!(queue::of_gang(&pod_gang), Some("q"));
}
