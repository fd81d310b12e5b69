//! A scope of two pods, for hand-written histories of its terminations.

use conformance_contract::names;
use conformance_expect::scopes::{Scope, SetReplica, replicas};
use conformance_history::testing::{Story, object};
use serde_json::{Value, json};

/// One clique of two pods, both needed.
pub fn pair() -> SetReplica {
    let clique = json!({"name": "a", "spec": {"replicas": 2}});
    let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"cliques": [clique]}}});
    replicas(&pcs).remove(0)
}

/// The scope of [`pair`].
pub fn scope() -> Scope {
    Scope::Replica { set: "w".into(), index: 0 }
}

/// A pod of clique `w-0-a`; bound if it has a node.
pub fn pod(name: &str, node: Option<&str>) -> Value {
    let mut pod = object("Pod", name);
    pod["metadata"]["labels"] = json!({
        names::PART_OF: "w", names::REPLICA_INDEX: "0", names::POD_CLIQUE: "w-0-a",
    });
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// A bound pod of clique `w-0-a` that is terminating.
pub fn terminating_pod(name: &str) -> Value {
    let mut pod = pod(name, Some("n"));
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod
}

/// Pods `a` and `b`, created and then bound.
pub fn running() -> Story {
    let created = Story::flat().added(pod("a", None)).added(pod("b", None));
    created.modified(pod("a", Some("n"))).modified(pod("b", Some("n")))
}
