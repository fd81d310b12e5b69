use serde_json::json;

use super::*;
use crate::backend::fake_api::FakeApi;
use crate::backend::volcano::api::ANNOTATION_QUEUE;

const POD_GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups";
const QUEUE: &str = "/apis/scheduling.volcano.sh/v1beta1/queues/default";
const HYPER_NODES: &str = "/apis/topology.volcano.sh/v1alpha1/hypernodes";
const BINDINGS: &str = "/apis/grove.io/v1alpha1/clustertopologybindings";

fn crd(name: &str, version: &str, field: &str) -> (String, Value) {
    let spec = json!({"type": "object", "properties": {field: {"type": "array"}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let version = json!({"name": version, "served": true, "storage": true, "schema": schema});
    let crd = json!({
        "metadata": {"name": name},
        "spec": {"group": "", "scope": "", "names": {"kind": "", "plural": ""}, "versions": [version]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    (format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), crd)
}

fn cluster(field: &str, objects: &[(&str, Value)]) -> FakeApi {
    let crds = CRDS.iter().map(|wanted| crd(wanted.name, wanted.version, field)).collect::<Vec<_>>();
    let crds = crds.iter().map(|(path, crd)| (path.as_str(), crd.clone()));
    FakeApi::with_objects(crds.chain(objects.iter().cloned()))
}

fn with_volcano(objects: &[(&str, Value)]) -> (Volcano, FakeApi) {
    let api = cluster("subGroupPolicy", objects);
    (Volcano::new(api.client.clone()), api)
}

fn open_queue() -> (&'static str, Value) {
    (QUEUE, json!({"metadata": {"name": "default"}, "status": {"state": "Open"}}))
}

fn pcs(edit: impl FnOnce(&mut Value)) -> PodCliqueSet {
    let containers = json!([{"name": "c", "resources": {"requests": {"cpu": 1}}}]);
    let clique = json!({"name": "a", "spec": {"podSpec": {"containers": containers}, "replicas": 2}});
    let mut pcs = json!({
        "metadata": {"name": "wl", "namespace": "team"},
        "spec": {"replicas": 1, "template": {"cliques": [clique]}},
    });
    edit(&mut pcs);
    serde_json::from_value(pcs).unwrap()
}

fn pod_gang(keys: [Option<&str>; 2]) -> PodGang {
    let [gang, own] = keys.map(|key| key.map(|key| json!({"packConstraint": {"required": key}})));
    let podgroup = |name: &str, own| json!({"name": name, "podReferences": [], "minReplicas": 2, "topologyConstraint": own});
    serde_json::from_value(json!({
        "metadata": {"name": "wl-0", "namespace": "team", "uid": "gang", "annotations": {"grove.io/topology-name": "t"}},
        "spec": {"podgroups": [podgroup("wl-0-a", own), podgroup("wl-0-b", None)], "topologyConstraint": gang},
    }))
    .unwrap()
}

#[tokio::test]
async fn an_old_volcano_release_is_not_ready() {
    let api = cluster("minTaskMember", &[]);
    let volcano = Volcano::new(api.client.clone());
    let reason =
        "CRD podgroups.scheduling.volcano.sh has no spec.subGroupPolicy: Volcano 1.14 or newer is needed";
    assert_eq!(volcano.readiness().await, Err(reason.to_owned()));
    let synced = volcano.sync_pod_gang(&GangState::without_pods(&pod_gang([None, None])), &[]).await;
    assert!(matches!(synced, Err(BackendError::NotReady { .. })), "{synced:?}");
    assert!(api.written().is_empty());
}

#[tokio::test]
async fn a_pod_gang_gets_its_pod_group_once() {
    let (volcano, api) = with_volcano(&[]);
    let pod_gang = pod_gang([None, None]);
    volcano.sync_pod_gang(&GangState::without_pods(&pod_gang), &[]).await.unwrap();
    let (request, pod_group) = api.written().remove(0);
    assert_eq!(request, format!("POST {POD_GROUPS}"));
    assert_eq!(pod_group["spec"]["minMember"], 4);
    assert_eq!(pod_group["spec"].get("networkTopology"), None);

    // Volcano adds these fields.
    let mut stored = pod_group;
    stored["spec"]["minResources"] = json!({"cpu": "4"});
    stored["status"] = json!({"phase": "Running"});
    let existing = [Arc::new(serde_json::from_value(stored).unwrap())];
    volcano.sync_pod_gang(&GangState::without_pods(&pod_gang), &existing).await.unwrap();
    assert_eq!(api.written(), []);
}

#[tokio::test]
async fn a_constrained_gang_has_no_pod_group_before_its_hyper_nodes() {
    let levels = [json!({"domain": "rack", "key": "example.com/rack"})];
    let binding = json!({"metadata": {"name": "t", "uid": "t"}, "spec": {"levels": levels}});
    let path = format!("{BINDINGS}/t");
    let none = json!({"metadata": {}, "items": []});
    let (volcano, api) = with_volcano(&[(&path, binding), (HYPER_NODES, none)]);
    let synced = volcano
        .sync_pod_gang(&GangState::without_pods(&pod_gang([Some("example.com/rack"), None])), &[])
        .await;
    assert!(matches!(synced, Err(BackendError::NotReady { .. })), "{synced:?}");
    assert!(api.written().is_empty());
}

#[tokio::test]
async fn a_queue_of_cliques_is_pinned_when_the_pod_gang_is_created() {
    let (volcano, _) = with_volcano(&[]);
    let queued = |queue: &str| {
        pcs(|pcs| pcs["spec"]["template"]["cliques"][0]["annotations"] = json!({ANNOTATION_QUEUE: queue}))
    };
    let mut pod_gang = pod_gang([None, None]);
    for queue in ["q", "later"] {
        volcano.prepare_pod_gang(&mut pod_gang, &queued(queue)).await.unwrap();
        assert_eq!(pod_gang.annotations()[ANNOTATION_PINNED_QUEUE], "q");
    }
}

#[tokio::test]
async fn a_pod_joins_by_both_annotations() {
    let (volcano, _) = with_volcano(&[]);
    let mut pod =
        DynamicObject::new("p", &ApiResource::erase::<Pod>(&())).data(json!({"spec": {"containers": []}}));
    let pod_gang = pod_gang([Some("example.com/block"), Some("example.com/rack")]);
    let member = Membership { pod_gang: &pod_gang, pod_clique: "wl-0-a", pod_index: 0 };
    volcano.prepare_pod(&mut pod, &member).unwrap();
    let terms = json!([{"matchExpressions": [
        {"key": "example.com/block", "operator": "Exists"},
        {"key": "example.com/rack", "operator": "Exists"},
    ]}]);
    let affinity = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
    let annotations =
        json!({"scheduling.k8s.io/group-name": "wl-0", "scheduling.volcano.sh/group-name": "wl-0"});
    let wanted = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations},
        "spec": {"containers": [], "schedulerName": "volcano", "affinity": {"nodeAffinity": affinity}},
    });
    assert_eq!(json!(pod), wanted);
}

fn pod(clique: &str, node: Option<&str>) -> Arc<Pod> {
    let pod = json!({"metadata": {"labels": {LABEL_POD_CLIQUE: clique}}, "spec": {"containers": [], "nodeName": node}});
    Arc::new(serde_json::from_value(pod).unwrap())
}

#[rstest::rstest]
#[case::first(&[("wl-0-a", None), ("wl-0-b", None)], &[])]
#[case::same_clique_bound(&[("wl-0-b", Some("other")), ("wl-0-a", Some("n0"))], &["example.com/block", "example.com/rack"])]
#[case::other_clique_bound(&[("wl-0-a", None), ("wl-0-b", Some("n0"))], &["example.com/block"])]
#[tokio::test]
async fn a_late_pod_gets_the_domain_of_its_gang(
    #[case] pods: &[(&str, Option<&str>)],
    #[case] keys: &[&str],
) {
    let labels = json!({"example.com/block": "b0", "example.com/rack": "r0"});
    let node = json!({"metadata": {"name": "n0", "labels": labels}});
    let (volcano, _) = with_volcano(&[("/api/v1/nodes/n0", node)]);
    let pod_gang = pod_gang([Some("example.com/block"), Some("example.com/rack")]);
    let pods: Vec<_> = pods.iter().map(|(clique, node)| pod(clique, *node)).collect();
    let state = GangState { pods: &pods, ..GangState::without_pods(&pod_gang) };
    let release = volcano.release_pod(&pod("wl-0-a", None), &state).await.unwrap();
    let Release::Now(requirements) = release else { panic!("{release:?}") };
    assert_eq!(requirements.iter().map(|required| required.key.as_str()).collect::<Vec<_>>(), keys);
}

#[tokio::test]
async fn a_closed_queue_blocks_new_gangs_but_no_update() {
    let closed = json!({"metadata": {"name": "default"}, "status": {"state": "Closed"}});
    let (volcano, _) = with_volcano(&[(QUEUE, closed)]);
    let new = pcs(|_| {});
    let found = volcano.validate_pod_clique_set(&new, None).await;
    assert_eq!(
        found.errors[0].message,
        r#"Volcano queue "default" is not Open (its state is Closed): open it, or name another queue"#
    );
    assert!(volcano.validate_pod_clique_set(&new, Some(&new)).await.admits());
    let (volcano, _) = with_volcano(&[open_queue()]);
    assert!(volcano.validate_pod_clique_set(&new, None).await.admits());
}

#[tokio::test]
async fn a_topology_that_is_not_applied_is_refused() {
    let binding = |name: &str, created: &str, references: Value| {
        json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": created},
            "spec": {"levels": [{"domain": "rack", "key": "rack"}], "schedulerTopologyBindings": references},
        })
    };
    let reference = json!([{"schedulerName": VOLCANO, "topologyReference": "root"}]);
    let list = json!({"metadata": {}, "items": [
        binding("second", "2026-02-01T00:00:00Z", json!([])),
        binding("first", "2026-01-01T00:00:00Z", json!([])),
        binding("referring", "2025-01-01T00:00:00Z", reference),
    ]});
    let (volcano, _) =
        with_volcano(&[open_queue(), (BINDINGS, list), (HYPER_NODES, json!({"metadata": {}, "items": []}))]);
    for (name, refused) in [("first", false), ("second", true), ("referring", false)] {
        let constraint = json!({"topologyName": name, "pack": {"required": "rack"}});
        let pcs = pcs(|pcs| pcs["spec"]["template"]["topologyConstraint"] = constraint);
        let found = volcano.validate_pod_clique_set(&pcs, None).await;
        let messages: Vec<_> = found.errors.iter().map(|error| error.message.as_str()).collect();
        let reason = "scheduler backend volcano cannot honour this constraint: Volcano supports one \
                      topology per cluster, and ClusterTopologyBinding first uses it: delete one of the two \
                      bindings";
        assert_eq!(messages, if refused { vec![reason] } else { vec![] }, "{name}");
    }
}

#[rstest::rstest]
#[case::refused(json!([["Unschedulable", 3]]), true)]
#[case::refused_after_it_was_bound(json!([["Unschedulable", 3], ["Scheduled", 2]]), true)]
#[case::bound_since(json!([["Unschedulable", 2], ["Scheduled", 3]]), false)]
#[case::in_one_second(json!([["Unschedulable", 3], ["Scheduled", 3]]), false)]
#[tokio::test]
async fn the_later_of_two_true_conditions_applies(#[case] conditions: Value, #[case] is_refused: bool) {
    let conditions = conditions.as_array().unwrap().iter().map(|condition| {
        json!({"type": condition[0], "status": "True", "message": "no room",
               "lastTransitionTime": format!("2026-01-01T00:00:0{}Z", condition[1])})
    });
    let conditions: Vec<_> = conditions.collect();
    let mut group = DynamicObject::new("wl-0", &pod_groups());
    group.data = json!({"status": {"conditions": conditions}});
    assert_eq!(with_volcano(&[]).0.refusal(&group).is_some(), is_refused);
}
