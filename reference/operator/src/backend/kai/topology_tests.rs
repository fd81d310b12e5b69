use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::backend::kai::fake_cluster::cluster;

const PATH: &str = "/apis/kai.scheduler/v1alpha1/topologies";
const DIFFERENT: &str = "KAI Topology levels differ from ClusterTopologyBinding levels";

fn binding() -> ClusterTopologyBinding {
    let levels = json!([{"domain": "zone", "key": "z"}, {"domain": "rack", "key": "r"}]);
    serde_json::from_value(json!({"metadata": {"name": "topo", "uid": "u1"}, "spec": {"levels": levels}}))
        .unwrap()
}

fn topology(keys: &[&str], owner: &str) -> DynamicObject {
    let levels: Vec<_> = keys.iter().map(|key| json!({"nodeLabel": key, "alias": "a"})).collect();
    let owner = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "name": "topo", "uid": owner,
        "controller": true,
    });
    let metadata = json!({"name": "topo", "uid": "t1", "ownerReferences": [owner]});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"levels": levels}})).unwrap()
}

async fn sync(cached: Option<DynamicObject>) -> (Result<TopologyState, BackendError>, Vec<(String, Value)>) {
    let existing: Vec<_> = cached.into_iter().map(Arc::new).collect();
    let api = cluster(&[]);
    let view = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    let state = Kai::new(api.client.clone()).sync_topology(&binding(), &view).await;
    (state, api.written())
}

#[tokio::test]
async fn levels_become_keys_in_order() {
    let (state, written) = sync(None).await;
    assert_eq!(state.unwrap(), TopologyState::InSync);
    let [(request, topology)] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!(request, &format!("POST {PATH}"));
    assert_eq!(topology["metadata"]["name"], "topo");
    assert_eq!(topology["metadata"]["ownerReferences"][0]["uid"], "u1");
    assert_eq!(topology["spec"], json!({"levels": [{"nodeLabel": "z"}, {"nodeLabel": "r"}]}));
}

#[tokio::test]
async fn a_topology_in_sync_is_not_written() {
    let (state, written) = sync(Some(topology(&["z", "r"], "u1"))).await;
    assert_eq!(state.unwrap(), TopologyState::InSync);
    assert_eq!(written, []);
}

#[tokio::test]
async fn changed_levels_need_a_new_topology() {
    let existing = [Arc::new(topology(&["z"], "u1"))];
    let api = cluster(&[(&format!("{PATH}/topo"), serde_json::to_value(&*existing[0]).unwrap())]);
    let view = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    // The fake API server never removes the old Topology, as if a finalizer kept it.
    let state = Kai::new(api.client.clone()).sync_topology(&binding(), &view).await;
    assert!(matches!(state, Err(BackendError::Waiting(_))), "{state:?}");
    let written = api.written();
    let requests: Vec<_> = written.iter().map(|(request, _)| request.as_str()).collect();
    assert_eq!(requests, [format!("DELETE {PATH}/topo"), format!("POST {PATH}")]);
    assert_eq!(written[0].1["preconditions"]["uid"], "t1", "only this object is deleted");
}

#[tokio::test]
async fn a_topology_of_another_owner_is_never_taken_over() {
    let (state, written) = sync(Some(topology(&["z"], "before"))).await;
    assert!(
        matches!(state, Err(BackendError::Waiting(_))),
        "the garbage collector deletes that of a deleted binding: {state:?}"
    );
    assert_eq!(written, []);
    let mut unowned = topology(&["z", "r"], "u1");
    unowned.metadata.owner_references = None;
    let (state, written) = sync(Some(unowned)).await;
    let reason = "KAI Topology topo exists and is not controlled by this ClusterTopologyBinding: delete it, \
                  or rename the binding";
    assert_eq!(state.unwrap(), TopologyState::Refused(reason.to_owned()));
    assert_eq!(written, []);
}

#[rstest::rstest]
#[case("topo", &["z", "r"], TopologyState::InSync)]
#[case("topo", &["r", "z"], TopologyState::Drift(DIFFERENT.into()))]
#[case("gone", &["z", "r"], TopologyState::NotFound("KAI Topology \"gone\" not found".into()))]
#[tokio::test]
async fn a_referenced_topology_is_only_compared(
    #[case] reference: &str,
    #[case] keys: &[&str],
    #[case] expected: TopologyState,
) {
    let existing = [Arc::new(topology(keys, "other"))];
    let api = cluster(&[]);
    let view = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    let state = Kai::new(api.client.clone()).compare_topology(&binding(), reference, &view).await;
    assert_eq!(state.unwrap(), expected);
    assert_eq!(api.written(), []);
}
