use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::*;
use crate::backend::fake_api::FakeApi;

const HYPER_NODES: &str = "/apis/topology.volcano.sh/v1alpha1/hypernodes";

fn binding(name: &str, created: &str) -> Arc<ClusterTopologyBinding> {
    let level = |domain: &str| json!({"domain": domain, "key": format!("example.com/{domain}")});
    let levels = ["block", "rack"].map(level);
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": created},
            "spec": {"levels": levels},
        }))
        .unwrap(),
    )
}

fn mine() -> Arc<ClusterTopologyBinding> {
    binding("t", "2026-01-01T00:00:00Z")
}

fn node(name: &str, block: &str, rack: &str) -> Arc<Node> {
    let labels = json!({"example.com/block": block, "example.com/rack": rack});
    Arc::new(serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap())
}

fn current_tree(nodes: &[Arc<Node>]) -> Vec<Arc<DynamicObject>> {
    owned_by("t", nodes)
}

fn hyper_node(name: &str, tier: u64, domain: &str, member: &str) -> Arc<DynamicObject> {
    let named = |name: &str| json!({"type": "HyperNode", "selector": {"exactMatch": {"name": name}}});
    let members: Vec<_> = Some(member).filter(|name| !name.is_empty()).map(named).into_iter().collect();
    let spec = json!({"tier": tier, "tierName": domain, "members": members});
    Arc::new(DynamicObject::new(name, &hyper_nodes()).data(json!({ "spec": spec })))
}

/// The result for `mine`, and the requests as `VERB name-without-hash`.
async fn synced(
    bindings: &[Arc<ClusterTopologyBinding>],
    nodes: &[Arc<Node>],
    existing: &[Arc<DynamicObject>],
) -> (Result<TopologyState, BackendError>, Vec<String>) {
    let paths: Vec<_> = existing.iter().map(|found| format!("{HYPER_NODES}/{}", found.name_any())).collect();
    let held = paths.iter().zip(existing).map(|(path, found)| (path.as_str(), json!(**found)));
    let api = FakeApi::with_objects(held);
    let cluster = TopologyView { bindings, nodes, existing };
    let outcome = HyperNodes::new(api.client.clone()).sync_topology(&mine(), &cluster).await;
    let request = |(request, body): (String, Value)| {
        let (verb, path) = request.split_once(' ').unwrap();
        let name = body["metadata"]["name"].as_str().unwrap_or_else(|| path.rsplit('/').next().unwrap());
        format!("{verb} {}", name.rsplit_once('-').map_or(name, |(plain, _)| plain))
    };
    (outcome, api.written().into_iter().map(request).collect())
}

#[tokio::test]
async fn members_are_created_before_their_parents() {
    let nodes = [node("n0", "b0", "r0"), node("n1", "b1", "r0")];
    let (outcome, mut requests) = synced(&[mine()], &nodes, &[]).await;
    assert_eq!(outcome.unwrap(), TopologyState::InSync);
    requests[..2].sort();
    requests[2..].sort();
    assert_eq!(requests, ["POST t-b0-r0", "POST t-b1-r0", "POST t-b0", "POST t-b1"]);
}

#[tokio::test]
async fn an_existing_tree_is_not_written_again() {
    let nodes = [node("n0", "b0", "r0"), node("n1", "b1", "r0")];
    let (outcome, requests) = synced(&[mine()], &nodes, &current_tree(&nodes)).await;
    assert_eq!((outcome.unwrap(), requests), (TopologyState::InSync, vec![]));
}

#[tokio::test]
async fn a_removed_domain_leaves_its_parent_before_it_is_deleted() {
    let before = [node("n0", "b0", "r0"), node("n1", "b0", "r1"), node("n2", "b1", "r0")];
    let (outcome, requests) = synced(&[mine()], &before[..1], &current_tree(&before)).await;
    assert_eq!(outcome.unwrap(), TopologyState::InSync);
    assert_eq!(requests[..2], ["PATCH t-b0", "DELETE t-b1"]);
    assert_eq!(BTreeSet::from_iter(&requests[2..]).len(), 2);
    assert!(requests[2..].iter().all(|request| request.starts_with("DELETE t-b")), "{requests:?}");
}

#[tokio::test]
async fn an_edited_hyper_node_is_restored() {
    let nodes = [node("n0", "b0", "r0")];
    let mut existing = current_tree(&nodes);
    Arc::make_mut(&mut existing[0]).data["spec"]["tier"] = json!(7);
    let (_, requests) = synced(&[mine()], &nodes, &existing).await;
    assert_eq!(requests, ["PATCH t-b0-r0"]);
}

#[tokio::test]
async fn the_oldest_binding_is_applied() {
    let nodes = [node("n0", "b0", "r0")];
    let earlier = binding("other", "2025-01-01T00:00:00Z");
    let (outcome, requests) = synced(&[mine(), Arc::clone(&earlier)], &nodes, &[]).await;
    let refusal =
        "Volcano supports one topology per cluster, and ClusterTopologyBinding other uses it: delete one of \
         the two bindings"
            .to_owned();
    assert_eq!((outcome.unwrap(), requests), (TopologyState::Refused(refusal), vec![]));

    let (_, requests) = synced(&[mine(), Arc::clone(&earlier)], &nodes, &current_tree(&nodes)).await;
    assert_eq!(requests, ["DELETE t-b0", "DELETE t-b0-r0"], "its former tree is deleted");

    let later = binding("other", "2026-06-01T00:00:00Z");
    let mut referring = ClusterTopologyBinding::clone(&earlier);
    referring.spec.scheduler_topology_bindings = serde_json::from_value(json!([
        {"schedulerName": VOLCANO, "topologyReference": "root"}
    ]))
    .unwrap();
    for other in [later, Arc::new(referring)] {
        let (outcome, requests) = synced(&[mine(), other], &nodes, &[]).await;
        assert_eq!((outcome.unwrap(), requests.len()), (TopologyState::InSync, 2));
    }
}

fn owned_by(name: &str, nodes: &[Arc<Node>]) -> Vec<Arc<DynamicObject>> {
    let binding = binding(name, "2026-01-01T00:00:00Z");
    let tree = tree(name, &binding.spec.levels, nodes.iter().map(|node| &**node));
    tree.iter().map(|hyper_node| Arc::new(hyper_node.object(&binding))).collect()
}

#[tokio::test]
async fn among_equally_old_bindings_the_one_with_a_tree_is_applied() {
    let nodes = [node("n0", "b0", "r0")];
    let bindings = [mine(), binding("a", "2026-01-01T00:00:00Z")];
    let (outcome, _) = synced(&bindings, &nodes, &[]).await;
    assert!(matches!(outcome, Ok(TopologyState::Refused(_))), "{outcome:?}");
    let (outcome, requests) = synced(&bindings, &nodes, &current_tree(&nodes)).await;
    assert_eq!((outcome.unwrap(), requests), (TopologyState::InSync, vec![]));
}

#[tokio::test]
async fn no_tree_is_written_while_the_tree_of_another_binding_exists() {
    let nodes = [node("n0", "b0", "r0")];
    let later = binding("other", "2026-06-01T00:00:00Z");
    let (outcome, requests) = synced(&[mine(), later], &nodes, &owned_by("other", &nodes)).await;
    assert!(matches!(outcome, Err(BackendError::Waiting(_))), "{outcome:?}");
    assert!(requests.is_empty(), "{requests:?}");
}

#[tokio::test]
async fn a_binding_that_references_another_tree_deletes_its_own() {
    let mut existing = current_tree(&[node("n0", "b0", "r0")]);
    existing.extend([hyper_node("root", 2, "block", "r"), hyper_node("r", 1, "rack", "")]);
    let paths: Vec<_> = existing.iter().map(|found| format!("{HYPER_NODES}/{}", found.name_any())).collect();
    let api = FakeApi::with_objects(
        paths.iter().zip(&existing).map(|(path, found)| (path.as_str(), json!(**found))),
    );
    let cluster = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    let compared = HyperNodes::new(api.client.clone()).compare_topology(&mine(), "root", &cluster).await;
    assert_eq!(compared.unwrap(), TopologyState::InSync);
    let requests: Vec<_> = api.written().into_iter().map(|(request, _)| request).collect();
    assert_eq!(requests, [format!("DELETE {}", paths[1]), format!("DELETE {}", paths[0])]);
}

#[tokio::test]
async fn a_foreign_hyper_node_keeps_its_name() {
    let nodes = [node("n0", "b0", "r0"), node("n1", "b0", "r1")];
    let mut taken = current_tree(&nodes).remove(0);
    Arc::make_mut(&mut taken).metadata.owner_references = None;
    let name = taken.name_any();
    let (outcome, requests) = synced(&[mine()], &nodes, &[taken]).await;
    let refusal = format!(
        "HyperNode {name} exists and is not controlled by this ClusterTopologyBinding: \
         delete it, or rename the binding"
    );
    assert_eq!(outcome.unwrap(), TopologyState::Refused(refusal));
    assert_eq!(requests, ["POST t-b0-r1", "POST t-b0"]);
}

#[tokio::test]
async fn a_foreign_hyper_node_in_the_tree_is_reported() {
    let nodes = [node("n0", "b0", "r0")];
    let mut existing = current_tree(&nodes);
    existing.push(hyper_node("spine", 1, "", ""));
    let (outcome, requests) = synced(&[mine()], &nodes, &existing).await;
    let drift =
        "HyperNode spine has another owner, but Volcano treats it as a domain of this ClusterTopologyBinding";
    assert_eq!((outcome.unwrap(), requests), (TopologyState::Drift(drift.to_owned()), vec![]));
}

#[tokio::test]
async fn hyper_nodes_that_are_being_deleted_block_the_sync() {
    let nodes = [node("n0", "b0", "r0")];
    let mut of_a_predecessor = current_tree(&nodes);
    for found in &mut of_a_predecessor {
        Arc::make_mut(found).metadata.owner_references.as_mut().unwrap()[0].uid = "before".to_owned();
    }
    let mut deleting = current_tree(&nodes);
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let deleted: DynamicObject = serde_json::from_value(deleted).unwrap();
    Arc::make_mut(&mut deleting[0]).metadata.deletion_timestamp = deleted.metadata.deletion_timestamp;
    for existing in [of_a_predecessor, deleting] {
        let (outcome, requests) = synced(&[mine()], &nodes, &existing).await;
        assert!(matches!(outcome, Err(BackendError::Waiting(_))), "{outcome:?}");
        assert!(requests.is_empty(), "{requests:?}");
    }
}

#[rstest::rstest]
#[case::same(&[("root", 2, "block", "r"), ("r", 1, "rack", "")], TopologyState::InSync)]
#[case::root_above_the_levels(
    &[("root", 3, "", "b"), ("b", 2, "", "r"), ("r", 1, "", "")],
    TopologyState::InSync
)]
#[case::missing(&[("else", 2, "block", "")], TopologyState::NotFound(r#"HyperNode "root" not found"#.to_owned()))]
#[case::no_rack(
    &[("root", 2, "block", ""), ("r", 1, "rack", "")],
    TopologyState::Drift(r#"no HyperNode of tier 1 (rack) is under HyperNode "root""#.to_owned())
)]
#[case::other_levels(
    &[("root", 2, "block", "r"), ("r", 1, "row", "")],
    TopologyState::Drift("HyperNode r has tierName row, but its tier is the one of domain rack".to_owned())
)]
#[case::cycle(
    &[("root", 2, "block", "r"), ("r", 1, "rack", "root")],
    TopologyState::InSync
)]
#[tokio::test]
async fn a_referenced_tree_is_compared(
    #[case] tree: &[(&str, u64, &str, &str)],
    #[case] state: TopologyState,
) {
    let existing: Vec<_> =
        tree.iter().map(|(name, tier, domain, member)| hyper_node(name, *tier, domain, member)).collect();
    let cluster = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    let api = FakeApi::with_objects([]);
    let compared = HyperNodes::new(api.client.clone()).compare_topology(&mine(), "root", &cluster).await;
    assert_eq!(compared.unwrap(), state);
    assert!(api.written().is_empty());
}
