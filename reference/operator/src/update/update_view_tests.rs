use serde_json::{Value, json};

use super::*;
use crate::context::test_api::{World, owned_by};

#[rstest::rstest]
#[case::gone(None, true)]
#[case::on_its_node(Some(json!({"nodeName": "n"})), false)]
#[case::never_bound(Some(json!({})), true)]
#[tokio::test]
async fn an_update_awaits_the_replacement_of_a_pod_that_has_its_node(
    #[case] replaced: Option<Value>,
    #[case] is_settled: bool,
) {
    let spec = json!({"podSpec": {}, "replicas": 2, "minAvailable": 1});
    let pcs = json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": "a", "spec": spec}]}},
    });
    let pcs: PodCliqueSet = serde_json::from_value(pcs).unwrap();
    let pclq = json!({
        "metadata": {
            "name": "wl-0-a", "namespace": "ns", "uid": "uid-of-wl-0-a",
            "labels": {LABEL_PCS_REPLICA_INDEX: "0"}, "ownerReferences": owned_by("PodCliqueSet", "wl"),
        },
        "spec": spec,
    });
    let pclq: PodClique = serde_json::from_value(pclq).unwrap();
    let hash = template_hash(&pcs, &pcs.spec.template.cliques[0]);
    let pod = |name: &str, spec: Value| {
        json!({
            "metadata": {
                "name": name, "namespace": "ns", "creationTimestamp": "2020-01-01T00:00:00Z",
                "labels": {names::LABEL_POD_CLIQUE: "wl-0-a", LABEL_POD_TEMPLATE_HASH: hash},
                "ownerReferences": owned_by("PodClique", "wl-0-a"),
            },
            "spec": spec,
        })
    };
    let mut ready = pod("ready", json!({"nodeName": "n"}));
    ready["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let mut world = World::new();
    world.feeds.pods.apply(ready);
    world.feeds.pods.apply(pod("replacement", json!({})));
    if let Some(spec) = replaced {
        let mut replaced = pod("replaced", spec);
        replaced["metadata"]["deletionTimestamp"] = json!(Timestamp::now().to_string());
        world.feeds.pods.apply(replaced);
    }
    let view = CliqueView::of(&world.context.caches, &pcs, Arc::new(pclq)).unwrap();
    assert_eq!(view.is_settled(&pcs), is_settled);
}
