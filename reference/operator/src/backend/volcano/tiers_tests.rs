use serde_json::json;

use super::*;
use crate::backend::fake_api::FakeApi;

const BINDING: &str = "/apis/grove.io/v1alpha1/clustertopologybindings/t";
const HYPER_NODES: &str = "/apis/topology.volcano.sh/v1alpha1/hypernodes";

fn binding(reference: Option<&str>) -> Value {
    let references = reference.map(|name| json!({"schedulerName": VOLCANO, "topologyReference": name}));
    let levels =
        ["block", "rack"].map(|domain| json!({"domain": domain, "key": format!("example.com/{domain}")}));
    let references: Vec<_> = references.into_iter().collect();
    json!({
        "metadata": {"name": "t", "uid": "t"},
        "spec": {"levels": levels, "schedulerTopologyBindings": references},
    })
}

fn hyper_nodes_of(uid: &str) -> Value {
    let kind = "ClusterTopologyBinding";
    let owner =
        json!({"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": "t", "uid": uid, "controller": true});
    let hyper_node = json!({"metadata": {"name": "h", "ownerReferences": [owner]}, "spec": {"tier": 2}});
    json!({"kind": "HyperNodeList", "apiVersion": "topology.volcano.sh/v1alpha1", "metadata": {}, "items": [hyper_node]})
}

fn pod_gang(keys: [Option<&str>; 2]) -> PodGang {
    let [gang, own] = keys.map(|key| key.map(|key| json!({"packConstraint": {"required": key}})));
    let podgroup = json!({"name": "a", "podReferences": [], "minReplicas": 1, "topologyConstraint": own});
    serde_json::from_value(json!({
        "metadata": {"name": "g", "annotations": {ANNOTATION_TOPOLOGY_NAME: "t"}},
        "spec": {"podgroups": [podgroup], "topologyConstraint": gang},
    }))
    .unwrap()
}

async fn tiers(objects: Vec<(&'static str, Value)>, pod_gang: &PodGang) -> Result<GangTiers, String> {
    let api = FakeApi::with_objects(objects);
    let found = of_gang(&api.client, &GangState::without_pods(pod_gang), &[])
        .await
        .map_err(|error| error.to_string())?;
    assert_eq!(found.1, None);
    Ok(found.0)
}

#[tokio::test]
async fn a_gang_without_constraints_needs_no_objects() {
    assert_eq!(tiers(vec![], &pod_gang([None, None])).await.unwrap(), GangTiers::new());
}

#[tokio::test]
async fn the_narrowest_level_is_tier_1() {
    let objects = vec![(BINDING, binding(None)), (HYPER_NODES, hyper_nodes_of("t"))];
    let found =
        tiers(objects, &pod_gang([Some("example.com/block"), Some("example.com/rack")])).await.unwrap();
    assert_eq!(found, GangTiers::from([("example.com/rack".into(), 1), ("example.com/block".into(), 2)]));
    let levels: ClusterTopologyBinding = serde_json::from_value(binding(None)).unwrap();
    let tiers = Tiers::new(&levels.spec.levels);
    assert_eq!(tiers.level(2).map(|level| level.domain.as_str()), Some("block"));
    assert_eq!((tiers.level(0), tiers.level(3), tiers.tier_of("else")), (None, None, None));
}

#[rstest::rstest]
#[case::as_planned([2, 1], true, false)]
#[case::other_levels([3, 1], true, true)]
#[case::no_binding([2, 1], false, true)]
#[tokio::test]
async fn a_gang_with_a_pod_group_keeps_its_tiers(
    #[case] written: [usize; 2],
    #[case] bound: bool,
    #[case] warned: bool,
) {
    let pod_gang = pod_gang([Some("example.com/block"), Some("example.com/rack")]);
    let [block, rack] = written;
    let tiers = GangTiers::from([("example.com/rack".into(), rack), ("example.com/block".into(), block)]);
    let current = Arc::new(crate::backend::volcano::plan::plan(&pod_gang, &tiers).unwrap());
    let none = (HYPER_NODES, json!({"metadata": {}, "items": []}));
    let api = FakeApi::with_objects(bound.then(|| (BINDING, binding(None))).into_iter().chain([none]));
    let gang = GangState::without_pods(&pod_gang);
    let (found, warning) = of_gang(&api.client, &gang, &[Arc::clone(&current)]).await.unwrap();
    assert_eq!((found, warning.is_some()), (tiers, warned), "{warning:?}");

    let mut edited = DynamicObject::clone(&current);
    edited.data["spec"]["networkTopology"] = Value::Null;
    let lost = of_gang(&api.client, &gang, &[Arc::new(edited)]).await;
    assert!(matches!(lost, Err(BackendError::NotReady { .. })), "{lost:?}");
}

#[rstest::rstest]
#[case::no_binding(vec![], "ClusterTopologyBinding t does not exist")]
#[case::no_level(
    vec![(BINDING, binding(None))],
    "ClusterTopologyBinding t has no level example.com/row"
)]
#[tokio::test]
async fn a_missing_binding_or_level_is_not_ready(
    #[case] objects: Vec<(&'static str, Value)>,
    #[case] reason: &str,
) {
    let error = tiers(objects, &pod_gang([None, Some("example.com/row")])).await.unwrap_err();
    assert_eq!(error, format!("scheduler backend \"volcano\" is not ready: {reason}"));
}

#[rstest::rstest]
#[case::none(json!({"metadata": {}, "items": []}))]
#[case::of_a_predecessor(hyper_nodes_of("before"))]
#[tokio::test]
async fn a_gang_waits_for_hyper_nodes(#[case] hyper_nodes: Value) {
    let objects = vec![(BINDING, binding(None)), (HYPER_NODES, hyper_nodes)];
    let error = tiers(objects, &pod_gang([Some("example.com/block"), None])).await.unwrap_err();
    assert!(error.ends_with("no HyperNode of tier 2 of ClusterTopologyBinding t exists"), "{error}");
}

#[rstest::rstest]
#[case::high_enough(Some(2), true)]
#[case::too_low(Some(1), false)]
#[case::missing(None, false)]
#[tokio::test]
async fn a_referenced_tree_is_checked_by_the_tier_of_its_root(
    #[case] tier: Option<u64>,
    #[case] reached: bool,
) {
    let root = tier.map(|tier| json!({"metadata": {"name": "root"}, "spec": {"tier": tier}}));
    let root = root.map(|root| ("/apis/topology.volcano.sh/v1alpha1/hypernodes/root", root));
    let objects = root.into_iter().chain([(BINDING, binding(Some("root")))]).collect();
    assert_eq!(tiers(objects, &pod_gang([Some("example.com/block"), None])).await.is_ok(), reached);
}

#[tokio::test]
async fn a_constraint_without_a_topology_name_is_refused() {
    let mut pod_gang = pod_gang([Some("example.com/rack"), None]);
    pod_gang.annotations_mut().clear();
    let api = FakeApi::with_objects([]);
    let refused = of_gang(&api.client, &GangState::without_pods(&pod_gang), &[]).await.unwrap_err();
    assert!(matches!(refused, BackendError::Refused(_)), "{refused}");
}
