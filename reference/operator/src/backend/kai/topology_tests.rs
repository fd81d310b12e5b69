//! Topologies against a fake API server.

use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::backend::kai::made_up::cluster;

const PATH: &str = "/apis/kai.scheduler/v1alpha1/topologies";
const DIFFERENT: &str = "KAI Topology levels differ from ClusterTopologyBinding levels";

fn binding() -> ClusterTopologyBinding {
    let levels = json!([{"domain": "zone", "key": "z"}, {"domain": "rack", "key": "r"}]);
    serde_json::from_value(json!({"metadata": {"name": "topo", "uid": "u1"}, "spec": {"levels": levels}}))
        .unwrap()
}

/// The Topology `topo` with these levels, controlled by a ClusterTopologyBinding with the UID `owner`.
fn topology(keys: &[&str], owner: &str) -> DynamicObject {
    let levels: Vec<_> = keys.iter().map(|key| json!({"nodeLabel": key, "alias": "a"})).collect();
    let owner = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "name": "topo", "uid": owner,
        "controller": true,
    });
    let metadata = json!({"name": "topo", "uid": "t1", "ownerReferences": [owner]});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"levels": levels}})).unwrap()
}

/// Syncs the binding with this Topology in the cache, and returns the result and the writes.
async fn sync(cached: Option<DynamicObject>) -> (Result<TopologyState, BackendError>, Vec<(String, Value)>) {
    let existing: Vec<_> = cached.into_iter().map(Arc::new).collect();
    let api = cluster(&[]);
    let view = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    let state = Kai::new(api.client.clone()).sync_topology(&binding(), &view).await;
    (state, api.written())
}

#[tokio::test]
async fn levels_become_keys_in_their_order() {
    let (state, written) = sync(None).await;
    assert_eq!(state.unwrap(), TopologyState::InSync);
    let [(request, topology)] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!(request, &format!("POST {PATH}"));
    assert_eq!(topology["metadata"]["name"], "topo");
    assert_eq!(topology["metadata"]["ownerReferences"][0]["uid"], "u1");
    assert_eq!(topology["spec"], json!({"levels": [{"nodeLabel": "z"}, {"nodeLabel": "r"}]}));
}

#[tokio::test]
async fn one_that_says_the_same_is_left_alone() {
    let (state, written) = sync(Some(topology(&["z", "r"], "u1"))).await;
    assert_eq!(state.unwrap(), TopologyState::InSync);
    assert_eq!(written, []);
}

#[tokio::test]
async fn other_levels_need_another_object() {
    let existing = [Arc::new(topology(&["z"], "u1"))];
    let api = cluster(&[(&format!("{PATH}/topo"), serde_json::to_value(&*existing[0]).unwrap())]);
    let view = TopologyView { bindings: &[], nodes: &[], existing: &existing };
    // The fake API server never removes the old object, as if it had a finalizer.
    let state = Kai::new(api.client.clone()).sync_topology(&binding(), &view).await;
    assert!(matches!(state, Err(BackendError::Waiting(_))), "{state:?}");
    let written = api.written();
    let requests: Vec<_> = written.iter().map(|(request, _)| request.as_str()).collect();
    assert_eq!(requests, [format!("DELETE {PATH}/topo"), format!("POST {PATH}")]);
    assert_eq!(written[0].1["preconditions"]["uid"], "t1", "this one and no other");
}

#[tokio::test]
async fn another_owners_is_never_taken_over() {
    let (state, written) = sync(Some(topology(&["z"], "before"))).await;
    assert!(matches!(state, Err(BackendError::Waiting(_))), "that of a deleted binding goes: {state:?}");
    assert_eq!(written, []);
    let mut of_nobody = topology(&["z", "r"], "u1");
    of_nobody.metadata.owner_references = None;
    let (state, written) = sync(Some(of_nobody)).await;
    let reason = "KAI Topology topo exists and is not controlled by this ClusterTopologyBinding";
    assert_eq!(state.unwrap(), TopologyState::Refused(reason.to_owned()));
    assert_eq!(written, []);
}

#[rstest::rstest]
#[case("topo", &["z", "r"], TopologyState::InSync)]
#[case("topo", &["r", "z"], TopologyState::Drift(DIFFERENT.into()))]
#[case("gone", &["z", "r"], TopologyState::NotFound("KAI Topology \"gone\" not found".into()))]
#[tokio::test]
async fn comparing_with_somebody_elses(
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
