//! Hand-written histories for the tests of checks. Every entry gets the next resourceVersion. An object
//! without a uid gets one that is derived from its kind and name.

#![allow(missing_docs, reason = "a function without a comment is named after what it records or creates")]

use std::collections::BTreeMap;

use conformance_contract::names;
use conformance_contract::target::Target;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::log::{API_VERSION, Change, Entry, Gap, Header, History, Mark, Recorded, What};
use super::mark::MarkName;

/// A history under construction.
#[derive(Debug, Clone)]
pub struct Story {
    history: History,
    now: Timestamp,
}

impl Story {
    pub fn on(target: Target) -> Self {
        let header = Header {
            api_version: API_VERSION.into(),
            kind: "History".into(),
            case: "test/story".into(),
            target,
            namespace: "ns".into(),
            submitted: BTreeMap::new(),
            slowness: None,
            cycle_millis: None,
        };
        Self { history: History { header, entries: Vec::new() }, now: Timestamp::UNIX_EPOCH }
    }

    /// Starts a history on kube-scheduler with PodGroup scope.
    pub fn flat() -> Self {
        Self::on(Target::KUBE_POD_GROUP)
    }

    /// Starts a history on kube-scheduler with PodGang scope.
    pub fn whole() -> Self {
        Self::on(Target::KUBE_POD_GANG)
    }

    pub fn submitted(mut self, pcs: Value) -> Self {
        let name = pcs["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.history.header.submitted.insert(name, pcs);
        self
    }

    pub fn later(mut self, seconds: i64) -> Self {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    pub fn added(self, object: Value) -> Self {
        self.record(Change::Added, object)
    }

    pub fn all_added(self, objects: impl IntoIterator<Item = Value>) -> Self {
        objects.into_iter().fold(self, Self::added)
    }

    pub fn modified(self, object: Value) -> Self {
        self.record(Change::Modified, object)
    }

    pub fn deleted(self, object: Value) -> Self {
        self.record(Change::Deleted, object)
    }

    /// Records `pods` pods of a PodCliqueSet of [`one_clique`], and then that `bound` of them are bound.
    pub fn workers(self, set: &str, pods: usize, bound: usize) -> Self {
        let waiting = (0..pods).fold(self, |story, index| story.added(worker(set, index, None)));
        (0..bound).fold(waiting, |story, index| story.modified(worker(set, index, Some("n"))))
    }

    pub fn mark(self, name: impl Into<MarkName>, detail: Value) -> Self {
        self.entry(What::Mark(Mark { name: name.into().as_str().into(), detail }))
    }

    pub fn gap(self, kind: &str) -> Self {
        self.entry(What::Gap(Gap { kind: kind.into(), reason: "it listed again".into() }))
    }

    pub fn end(self) -> History {
        self.history
    }

    fn record(self, change: Change, mut object: Value) -> Self {
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] =
                json!(uid(object["kind"].as_str().unwrap_or_default(), &object["metadata"]["name"]));
        }
        object["metadata"]["resourceVersion"] = (self.history.entries.len() + 1).to_string().into();
        self.entry(What::Object(Recorded { change, object: object.into() }))
    }

    fn entry(mut self, what: What) -> Self {
        self.history.entries.push(Entry { at: self.now, what });
        self
    }
}

fn uid(kind: &str, name: &Value) -> String {
    format!("uid-of-{kind}-{}", name.as_str().unwrap_or_default())
}

/// Adds a controlling owner reference to an object.
pub fn owned(mut object: Value, kind: &str, name: &str) -> Value {
    object["metadata"]["ownerReferences"] =
        json!([{"kind": kind, "name": name, "uid": uid(kind, &json!(name)), "controller": true}]);
    object
}

/// Returns a PodCliqueSet with one clique, `worker`, of this many pods.
pub fn one_clique(name: &str, pods: usize) -> Value {
    let clique = json!({"name": "worker", "spec": {"replicas": pods, "podSpec": {}}});
    json!({
        "kind": "PodCliqueSet",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "template": {"cliques": [clique]}},
    })
}

/// Returns the PodGang of a PodCliqueSet of [`one_clique`].
pub fn one_clique_gang(set: &str, pods: usize) -> Value {
    let podgroup = json!({"name": format!("{set}-0-worker"), "minReplicas": pods});
    json!({"kind": "PodGang", "metadata": {"name": format!("{set}-0")}, "spec": {"podgroups": [podgroup]}})
}

/// Returns a pod of [`one_clique`], bound if `node` is given.
pub fn worker(set: &str, index: usize, node: Option<&str>) -> Value {
    let labels = json!({
        names::PART_OF: set,
        names::POD_GANG: format!("{set}-0"),
        names::POD_CLIQUE: format!("{set}-0-worker"),
        names::POD_INDEX: index.to_string(),
    });
    json!({
        "kind": "Pod",
        "metadata": {"name": format!("{set}-0-worker-{index}"), "labels": labels},
        "spec": {"nodeName": node},
    })
}

pub fn gated(mut pod: Value) -> Value {
    pod["spec"]["schedulingGates"] = json!([{"name": names::GATE}]);
    pod
}

pub fn canary(name: &str, node: Option<&str>) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"name": name, "labels": {names::CANARY: "true"}},
        "spec": {"nodeName": node},
    })
}

/// Returns a running pod of a PodClique. The id of its only container is `c-<name>`.
pub fn running(name: &str, gang: &str, clique: &str, node: &str) -> Value {
    let labels = json!({names::POD_GANG: gang, names::POD_CLIQUE: clique, names::POD_INDEX: "0"});
    json!({
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": node, "schedulingGroup": {"podGroupName": clique}, "containers": [{"name": "worker"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "worker", "containerID": format!("c-{name}"), "restartCount": 0,
                "state": {"running": {}}}],
        },
    })
}

pub fn node(name: &str, gpus: u32) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": {names::GPU: gpus.to_string()},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

pub fn object(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "metadata": {"name": name}})
}
