//! What the watches delivered: one log per followed namespace, and the current cluster-scoped objects.
//!
//! Everything in a case's history is appended to one log under one lock. The position in the log is the order
//! of events; timestamps are for people. A log includes the cluster-scoped objects that belong to its case.
//! Otherwise only their latest version is kept. Memory therefore depends on the running cases and the
//! cluster's size, not on other activity.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use conformance_history::{Change, Entry, Gap, Live, Mark, Recorded, What, revision};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

/// Decides which cluster-scoped objects belong to a case.
pub(super) type Belongs = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// Reduces a version before it is recorded; the last argument is the version recorded before it. It may
/// remove unused fields, and returns `false` to skip the version.
pub type Keep = fn(Change, &mut Value, Option<&Value>) -> bool;

struct Log {
    guards: usize,
    belongs: Belongs,
    /// `None` records complete versions.
    keep: Option<Keep>,
    entries: Vec<Entry>,
    live: Live,
    /// Latest resourceVersion seen of every object ever, by kind and name.
    seen: HashMap<(String, String), u64>,
    length: watch::Sender<usize>,
}

impl Log {
    /// Removes from a version what is not recorded. Returns `false` if nothing is left, or nothing new.
    fn keeps(&self, kind: &str, change: Change, object: &mut Value) -> bool {
        let Some(keep) = self.keep else { return true };
        let known = self.live.get(kind, name(object));
        let is_new = |object: &mut Value| known.is_none_or(|known| !is_same(known, object));
        keep(change, object, known) && (change != Change::Modified || is_new(object))
    }

    fn push(&mut self, what: What) {
        self.entries.push(Entry { at: Timestamp::now(), what });
        self.length.send_replace(self.entries.len());
    }
}

#[derive(Debug)]
pub(super) struct Listed {
    /// As histories name it.
    pub kind: &'static str,
    pub version: Option<u64>,
    pub items: BTreeMap<String, u64>,
}

struct Inner {
    by_namespace: HashMap<String, Log>,
    /// Cluster-scoped objects.
    cluster: Live,
    cluster_length: watch::Sender<usize>,
    /// The version that the watch of each kind has reached, by its name in histories.
    reached: HashMap<&'static str, u64>,
    moved: watch::Sender<u64>,
}

#[derive(Clone)]
pub(super) struct Logs(Arc<RwLock<Inner>>);

/// A namespace is followed while one of these exists. Then its log is dropped and events are ignored.
pub struct Tracked {
    logs: Logs,
    namespace: String,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.logs.write(|inner| {
            let Some(log) = inner.by_namespace.get_mut(&self.namespace) else { return };
            log.guards -= 1;
            if log.guards == 0 {
                inner.by_namespace.remove(&self.namespace);
            }
        });
    }
}

impl Logs {
    pub(super) fn new() -> Self {
        Self(Arc::new(RwLock::new(Inner {
            by_namespace: HashMap::new(),
            cluster: Live::default(),
            cluster_length: watch::Sender::new(0),
            reached: HashMap::new(),
            moved: watch::Sender::new(0),
        })))
    }

    /// Starts to follow a namespace. Its log starts with the cluster-scoped objects that belong to it.
    pub(super) fn track(&self, namespace: &str, belongs: Belongs, keep: Option<Keep>) -> Tracked {
        self.write(|inner| {
            let cluster = &inner.cluster;
            let log = inner.by_namespace.entry(namespace.into()).or_insert_with(|| {
                let mut log = Log {
                    guards: 0,
                    belongs,
                    keep,
                    entries: Vec::new(),
                    live: Live::default(),
                    seen: HashMap::new(),
                    length: watch::Sender::new(0),
                };
                for object in
                    cluster.all().filter(|object| (log.belongs)(object)).cloned().collect::<Vec<_>>()
                {
                    log.push(What::Object(Recorded { change: Change::Added, object: object.into() }));
                }
                log
            });
            log.guards += 1;
        });
        Tracked { logs: self.clone(), namespace: namespace.into() }
    }

    pub(super) fn mark(&self, namespace: &str, mark: Mark) -> bool {
        self.write(|inner| {
            let log = inner.by_namespace.get_mut(namespace);
            log.map(|log| log.push(What::Mark(mark))).is_some()
        })
    }

    pub(super) fn look<T>(&self, namespace: &str, at: impl FnOnce(&Live) -> T) -> T {
        let inner = self.read();
        match namespace {
            "" => at(&inner.cluster),
            _ => match inner.by_namespace.get(namespace) {
                Some(log) => at(&log.live),
                None => at(&Live::default()),
            },
        }
    }

    pub(super) fn follow(&self, namespace: &str) -> Option<watch::Receiver<usize>> {
        let inner = self.read();
        match namespace {
            "" => Some(inner.cluster_length.subscribe()),
            _ => inner.by_namespace.get(namespace).map(|log| log.length.subscribe()),
        }
    }

    pub(super) fn since(&self, namespace: &str, place: usize) -> Vec<Entry> {
        let inner = self.read();
        let log = inner.by_namespace.get(namespace);
        log.and_then(|log| log.entries.get(place..)).map(<[Entry]>::to_vec).unwrap_or_default()
    }

    pub(super) fn moved(&self) -> watch::Receiver<u64> {
        self.read().moved.subscribe()
    }

    /// The first difference between the list and the log, as text.
    pub(super) fn lacks(&self, namespace: &str, listed: &Listed) -> Option<String> {
        let inner = self.read();
        let kind = listed.kind;
        // Older events can no longer arrive. This alone is not enough: API servers send bookmarks of a silent
        // watch once a minute, and never without a watch cache.
        let reached = inner.reached.get(kind).copied();
        if listed.version.is_some() && reached >= listed.version {
            return None;
        }
        let log = inner.by_namespace.get(namespace)?;
        let missing = listed.items.iter().find(|(name, version)| {
            log.seen.get(&(kind.to_owned(), (*name).clone())).is_none_or(|seen| seen < version)
        });
        if let Some((name, version)) = missing {
            return Some(format!("{kind} {name} at resourceVersion {version}"));
        }
        let mut gone = log.live.of(kind).filter(|object| {
            !listed.items.contains_key(name(object))
                && listed.version.is_none_or(|version| revision(object) <= version)
        });
        gone.next().map(|object| format!("the deletion of {kind} {}", name(object)))
    }

    /// Records a watch event. The object has its kind set.
    pub(super) fn record(&self, kind: &'static str, change: Change, object: Value) {
        self.write(|inner| inner.record(kind, change, object));
    }

    /// Records a bookmark: the watch has reached this version without an event.
    pub(super) fn reached(&self, kind: &'static str, version: &str) {
        self.write(|inner| inner.reach(kind, version.parse().unwrap_or(0)));
    }

    /// Records a list of all objects of a kind, at its version. After a lost watch every log gets a gap,
    /// because versions may be missing. Objects that are no longer listed are recorded as deleted.
    pub(super) fn relist(&self, kind: &'static str, items: Vec<Value>, version: &str, lost: Option<&str>) {
        let place = |object: &Value| (namespace(object).to_owned(), name(object).to_owned());
        self.write(|inner| {
            let here: HashSet<(String, String)> = items.iter().map(place).collect();
            if let Some(reason) = lost {
                for log in inner.by_namespace.values_mut() {
                    log.push(What::Gap(Gap { kind: kind.into(), reason: reason.into() }));
                }
            }
            let lives = inner.by_namespace.values().map(|log| &log.live).chain([&inner.cluster]);
            let known = lives.flat_map(|live| live.of(kind));
            let vanished: Vec<Value> =
                known.filter(|object| !here.contains(&place(object))).cloned().collect();
            for object in vanished {
                inner.record(kind, Change::Deleted, object);
            }
            for item in items {
                inner.record(kind, Change::Added, item);
            }
            inner.reach(kind, version.parse().unwrap_or(0));
        });
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    fn record(&mut self, kind: &'static str, change: Change, mut object: Value) {
        // Keep the names of managers and drop their long field lists.
        if let Some(managers) = object["metadata"]["managedFields"].as_array_mut() {
            for manager in managers.iter_mut().filter_map(Value::as_object_mut) {
                manager.remove("fieldsV1");
            }
        }
        let version = revision(&object);
        let namespace = namespace(&object).to_owned();
        if namespace.is_empty() {
            self.record_of_cluster(kind, Recorded { change, object: object.into() });
        } else if let Some(log) = self.by_namespace.get_mut(&namespace) {
            log.seen.insert((kind.to_owned(), name(&object).to_owned()), version);
            if log.keeps(kind, change, &mut object) {
                let recorded = Recorded { change, object: object.into() };
                log.live.apply(&recorded);
                log.push(What::Object(recorded));
            }
        }
        self.reach(kind, version);
    }

    fn record_of_cluster(&mut self, kind: &str, recorded: Recorded) {
        let known = self.cluster.get(kind, name(&recorded.object));
        if recorded.change == Change::Modified
            && known.is_some_and(|known| is_heartbeat(known, &recorded.object))
        {
            return;
        }
        self.cluster.apply(&recorded);
        for log in self.by_namespace.values_mut().filter(|log| (log.belongs)(&recorded.object)) {
            log.push(What::Object(recorded.clone()));
        }
        self.cluster_length.send_modify(|length| *length += 1);
    }

    fn reach(&mut self, kind: &'static str, version: u64) {
        let reached = self.reached.entry(kind).or_default();
        *reached = version.max(*reached);
        self.moved.send_modify(|moves| *moves += 1);
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn is_same(known: &Value, object: &mut Value) -> bool {
    let version = object["metadata"]["resourceVersion"].take();
    object["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"].clone();
    let is_same = known == object;
    object["metadata"]["resourceVersion"] = version;
    is_same
}

/// Whether a node's new version is only a heartbeat of its kubelet.
fn is_heartbeat(before: &Value, after: &Value) -> bool {
    let said = |node: &Value| {
        let mut node = node.clone();
        if let Some(metadata) = node["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
        }
        let conditions = node["status"]["conditions"].as_array_mut();
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            condition.remove("lastHeartbeatTime");
        }
        node
    };
    before["kind"] == "Node" && said(before) == said(after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, namespace: &str, name: &str, version: u64) -> Value {
        json!({"kind": kind, "metadata": {"namespace": namespace, "name": name, "resourceVersion": version.to_string()}})
    }

    fn node(name: &str, version: u64, beat: u64, ready: &str) -> Value {
        json!({"kind": "Node",
            "metadata": {"name": name, "resourceVersion": version.to_string(), "labels": {"pool": "ns"}},
            "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": beat}]}})
    }

    fn of_pool(object: &Value) -> bool {
        object["metadata"]["labels"]["pool"] == "ns"
    }

    fn told(logs: &Logs, namespace: &str) -> Vec<String> {
        let line = |entry: Entry| match entry.what {
            What::Object(Recorded { change, object }) => {
                format!("{change:?} {} {}", object["kind"].as_str().unwrap(), name(&object))
            }
            What::Mark(mark) => format!("mark {}", mark.name),
            What::Gap(gap) => format!("gap {}", gap.kind),
        };
        logs.since(namespace, 0).into_iter().map(line).collect()
    }

    fn memory(logs: &Logs) -> usize {
        logs.read().by_namespace.values().map(|log| log.entries.len() + log.seen.len()).sum()
    }

    #[test]
    fn of_a_part_only_what_is_new_in_it_is_recorded() {
        fn named(_: Change, object: &mut Value, _: Option<&Value>) -> bool {
            if let Some(fields) = object.as_object_mut() {
                fields.remove("status");
            }
            object["kind"] != "Event"
        }
        let logs = Logs::new();
        let _tracked = logs.track("ns", Box::new(of_pool), Some(named));
        let mut pod = object("Pod", "ns", "a", 1);
        logs.record("Pod", Change::Added, pod.clone());
        pod["status"] = json!({"phase": "Running"});
        pod["metadata"]["resourceVersion"] = json!("2");
        logs.record("Pod", Change::Modified, pod.clone());
        logs.record("Event", Change::Added, object("Event", "ns", "e", 3));
        pod["metadata"]["resourceVersion"] = json!("4");
        pod["spec"] = json!({"nodeName": "n"});
        logs.record("Pod", Change::Modified, pod.clone());
        logs.record("Pod", Change::Deleted, pod);
        assert_eq!(told(&logs, "ns"), ["Added Pod a", "Modified Pod a", "Deleted Pod a"]);
        assert_eq!(logs.read().reached.get("Event"), Some(&3), "what is not recorded was seen");
    }

    #[test]
    fn what_happens_elsewhere_costs_nothing() {
        let logs = Logs::new();
        let tracked = logs.track("ns", Box::new(of_pool), None);
        for version in 0..10_000 {
            logs.record("Pod", Change::Modified, object("Pod", "of-others", "p", version));
            logs.record(
                "Event",
                Change::Added,
                object("Event", "of-others", &format!("e{version}"), version),
            );
            logs.record("Node", Change::Modified, node("mine", version, version, "True"));
            let mut other =
                node("of-others", version, version, if version % 2 == 0 { "True" } else { "False" });
            other["metadata"]["labels"] = json!({});
            logs.record("Node", Change::Modified, other);
        }
        assert_eq!(memory(&logs), 1, "a node of the case's own, whose kubelet said nothing new");
        assert_eq!(logs.look("", |live| live.all().count()), 2);
        logs.record("Pod", Change::Added, object("Pod", "ns", "p", 10_001));
        drop(tracked);
        assert_eq!(memory(&logs), 0);
        logs.record("Pod", Change::Deleted, object("Pod", "ns", "p", 10_002));
        assert!(!logs.mark("ns", Mark { name: "late".into(), detail: Value::Null }));
        assert_eq!((memory(&logs), logs.read().by_namespace.len()), (0, 0), "late events bring nothing back");
    }

    #[test]
    fn the_order_is_that_of_arrival() {
        let logs = Logs::new();
        let _tracked = logs.track("ns", Box::new(of_pool), None);
        logs.record("Pod", Change::Added, object("Pod", "ns", "p", 5));
        logs.record("Node", Change::Added, node("n", 4, 0, "True"));
        logs.mark("ns", Mark { name: "m".into(), detail: Value::Null });
        logs.record("Node", Change::Modified, node("n", 6, 1, "False"));
        let all = ["Added Pod p", "Added Node n", "mark m", "Modified Node n"];
        assert_eq!(told(&logs, "ns"), all);
        assert_eq!(logs.since("ns", 3).len(), 1);
        assert_eq!(logs.since("ns", 9), []);
    }

    #[test]
    fn a_log_begins_with_what_belongs_to_it_already() {
        let logs = Logs::new();
        logs.record("Node", Change::Added, node("n", 4, 0, "True"));
        logs.record("ClusterTopologyBinding", Change::Added, object("ClusterTopologyBinding", "", "t", 5));
        let first = logs.track("ns", Box::new(of_pool), None);
        let second = logs.track("ns", Box::new(of_pool), None);
        assert_eq!(told(&logs, "ns"), ["Added Node n"]);
        drop(first);
        assert_eq!(told(&logs, "ns"), ["Added Node n"], "somebody still follows it");
        drop(second);
        assert!(told(&logs, "ns").is_empty());
    }

    #[test]
    fn what_a_later_list_does_not_show_is_gone() {
        let logs = Logs::new();
        let _tracked = logs.track("ns", Box::new(of_pool), None);
        for name in ["stays", "goes"] {
            logs.record("Pod", Change::Added, object("Pod", "ns", name, 5));
        }
        logs.record("Service", Change::Added, object("Service", "ns", "s", 5));
        logs.record("Node", Change::Added, node("n", 6, 0, "True"));
        logs.relist("Pod", vec![object("Pod", "ns", "stays", 5)], "9", Some("it was away"));
        logs.relist("Node", Vec::new(), "9", Some("it was away"));
        let after = ["gap Pod", "Deleted Pod goes", "Added Pod stays", "gap Node", "Deleted Node n"]
            .map(str::to_owned);
        assert_eq!(told(&logs, "ns")[4..], after);
        let left =
            logs.look("ns", |live| live.all().map(|object| name(object).to_owned()).collect::<Vec<_>>());
        assert_eq!(left, ["stays", "s"]);
        assert_eq!(logs.look("", |live| live.all().count()), 0);
    }

    #[rstest::rstest]
    #[case::all_seen(&[("a", 3)], 9, None)]
    #[case::an_older_one(&[("a", 4)], 9, Some("Pod a at resourceVersion 4"))]
    #[case::never_seen(&[("a", 3), ("b", 2)], 9, Some("Pod b at resourceVersion 2"))]
    #[case::gone(&[], 9, Some("the deletion of Pod a"))]
    #[case::made_since(&[], 2, None)]
    #[case::the_watch_is_further(&[("b", 2)], 3, None)]
    fn what_is_listed_and_not_recorded_yet(
        #[case] items: &[(&str, u64)],
        #[case] version: u64,
        #[case] lacks: Option<&str>,
    ) {
        let logs = Logs::new();
        let _tracked = logs.track("ns", Box::new(of_pool), None);
        logs.record("Pod", Change::Added, object("Pod", "ns", "a", 3));
        let items = items.iter().map(|(name, version)| ((*name).to_owned(), *version)).collect();
        let listed = Listed { kind: "Pod", version: Some(version), items };
        assert_eq!(logs.lacks("ns", &listed).as_deref(), lacks);
        logs.reached("Pod", &version.to_string());
        assert_eq!(logs.lacks("ns", &listed), None, "the watch has come so far");
    }
}
