//! A scope of two pods, for hand-written histories in which it is terminated.

use conformance_contract::names;
use conformance_expect::scopes::{Scope, SetReplica, replicas};
use conformance_history::testing::{Story, object};
use serde_json::{Value, json};

pub fn pair() -> SetReplica {
    let clique = json!({"name": "a", "spec": {"replicas": 2}});
    let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"cliques": [clique]}}});
    replicas(&pcs).remove(0)
}

pub fn scope() -> Scope {
    Scope::Replica { set: "w".into(), index: 0 }
}

pub fn pod(name: &str, node: Option<&str>) -> Value {
    let mut pod = object("Pod", name);
    pod["metadata"]["labels"] = json!({
        names::PART_OF: "w", names::REPLICA_INDEX: "0", names::POD_CLIQUE: "w-0-a",
    });
    pod["spec"]["nodeName"] = json!(node);
    pod
}

pub fn terminating_pod(name: &str) -> Value {
    let mut pod = pod(name, Some("n"));
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod
}

pub fn running() -> Story {
    let created = Story::flat().added(pod("a", None)).added(pod("b", None));
    created.modified(pod("a", Some("n"))).modified(pod("b", Some("n")))
}

pub fn set(replicas: usize) -> Value {
    let mut set = object("PodCliqueSet", "w");
    set["spec"]["replicas"] = json!(replicas);
    set
}

pub fn clique(uid: &str, replicas: usize) -> Value {
    let mut clique = object("PodClique", "w-0-a");
    clique["metadata"]["uid"] = json!(uid);
    clique["spec"]["replicas"] = json!(replicas);
    clique
}

pub fn pods_of(uid: &str, names: &[&str], node: Option<&str>) -> Vec<Value> {
    let owner = json!([{"kind": "PodClique", "name": "w-0-a", "uid": uid, "controller": true}]);
    let owned = |name: &&str| {
        let mut pod = pod(name, node);
        pod["metadata"]["ownerReferences"] = owner.clone();
        pod
    };
    names.iter().map(owned).collect()
}

pub fn deleting(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object
}

/// Returns the ResourceClaim `c`, with a device on this node and reserved for the pods with these uids.
pub fn claim(node: Option<&str>, reserved: &[&str]) -> Value {
    let mut claim = object("ResourceClaim", "c");
    claim["status"]["reservedFor"] = reserved.iter().map(|uid| json!({"uid": uid})).collect();
    if let Some(node) = node {
        claim["status"]["allocation"] = json!({"devices": {"results": [{"pool": node}]}});
    }
    claim
}

pub fn running_clique() -> Story {
    let waiting = Story::flat().added(clique("first", 2)).all_added(pods_of("first", &["a", "b"], None));
    pods_of("first", &["a", "b"], Some("n")).into_iter().fold(waiting, Story::modified)
}

/// The order in which an operator deletes a PodClique and its pods, and creates them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    CliqueFirst,
    /// The new PodClique and its pods exist before the first old pod is deleted.
    CliqueRecreatedFirst,
    PodsFirst,
    /// The old PodClique creates one more pod before it is deleted.
    PodsReplacedFirst,
    Alternating,
}

impl Order {
    pub const ALL: [Self; 5] = [
        Self::CliqueFirst,
        Self::CliqueRecreatedFirst,
        Self::PodsFirst,
        Self::PodsReplacedFirst,
        Self::Alternating,
    ];

    /// Terminates the PodClique `old` with its pods, and creates `new` with exactly these pods.
    #[must_use]
    pub fn terminate(self, story: Story, old: (&str, &[Value]), new: (&str, &[Value])) -> Story {
        let ((old, old_pods), (new, new_pods)) = (old, new);
        let delete =
            |story: Story, pods: &[Value]| pods.iter().cloned().map(deleting).fold(story, Story::modified);
        let delete_clique = |story: Story| story.modified(deleting(clique(old, 2))).deleted(clique(old, 2));
        let create =
            |story: Story| story.added(clique(new, new_pods.len())).all_added(new_pods.iter().cloned());
        match self {
            Self::CliqueFirst => create(delete(delete_clique(story), old_pods)),
            Self::CliqueRecreatedFirst => delete(create(delete_clique(story)), old_pods),
            Self::PodsFirst => create(delete_clique(delete(story, old_pods))),
            Self::PodsReplacedFirst => {
                let mut between = pods_of(old, &[&format!("after-{old}")], None).remove(0);
                between["spec"]["schedulingGates"] = json!([{"name": names::GATE}]);
                let replaced = delete(story, old_pods).added(between.clone());
                create(delete_clique(replaced).deleted(between))
            }
            Self::Alternating => {
                let (first, rest) = old_pods.split_at(1);
                let started = delete(story, first).modified(deleting(clique(old, 2)));
                create(delete(started, rest).deleted(clique(old, 2)))
            }
        }
    }
}
