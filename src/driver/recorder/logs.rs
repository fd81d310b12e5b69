//! All events of a history are appended to one log under one lock, so their positions are their order. Of
//! cluster-scoped objects of other cases, only the latest version is kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use conformance_history::{Change, Entry, Gap, Live, Mark, Recorded, What, revision};
use jiff::Timestamp;
use parking_lot::{RwLock, RwLockReadGuard};
use serde_json::Value;
use tokio::sync::watch;

pub(super) type Belongs = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// Reduces or skips a version before it is recorded. The arguments are the change, the version, which may be
/// edited, and the previous version. Returns `false` to skip the version.
pub type Keep = fn(Change, &mut Value, Option<&Value>) -> bool;

struct Log {
    guards: usize,
    belongs: Belongs,
    /// `None` records complete versions.
    keep: Option<Keep>,
    entries: Vec<Entry>,
    live: Live,
    /// Latest resourceVersion by kind and name, including deleted objects.
    seen: HashMap<(String, String), u64>,
    length: watch::Sender<usize>,
    /// Number of recorded versions of objects in the namespace.
    versions: watch::Sender<usize>,
}

impl Log {
    fn reduce(&self, kind: &str, change: Change, object: &mut Value) -> bool {
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
    pub kind: &'static str,
    pub version: Option<u64>,
    pub items: BTreeMap<String, u64>,
}

struct Inner {
    by_namespace: HashMap<String, Log>,
    cluster: Live,
    cluster_length: watch::Sender<usize>,
    /// The resourceVersion that each kind's watch has reached, by the kind's name in histories.
    reached: HashMap<&'static str, u64>,
    moved: watch::Sender<u64>,
}

#[derive(Clone)]
pub(super) struct Logs(Arc<RwLock<Inner>>);

/// Follows a namespace. Dropping this value drops the log of the namespace.
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
                    versions: watch::Sender::new(0),
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

    pub(super) fn follow_objects(&self, namespace: &str) -> Option<watch::Receiver<usize>> {
        self.read().by_namespace.get(namespace).map(|log| log.versions.subscribe())
    }

    pub(super) fn since(&self, namespace: &str, index: usize) -> Vec<Entry> {
        let inner = self.read();
        let log = inner.by_namespace.get(namespace);
        log.and_then(|log| log.entries.get(index..)).map(<[Entry]>::to_vec).unwrap_or_default()
    }

    pub(super) fn moved(&self) -> watch::Receiver<u64> {
        self.read().moved.subscribe()
    }

    pub(super) fn lacks(&self, namespace: &str, listed: &Listed) -> Option<String> {
        let inner = self.read();
        let kind = listed.kind;
        // Without new events, only a bookmark advances the watch. An API server sends one bookmark per
        // minute, and none without a watch cache. So compare the items as well.
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
        let mut deleted = log.live.of(kind).filter(|object| {
            !listed.items.contains_key(name(object))
                && listed.version.is_none_or(|version| revision(object) <= version)
        });
        deleted.next().map(|object| format!("the deletion of {kind} {}", name(object)))
    }

    pub(super) fn record(&self, kind: &'static str, change: Change, object: Value) {
        self.write(|inner| inner.record(kind, change, object));
    }

    pub(super) fn reached(&self, kind: &'static str, version: &str) {
        self.write(|inner| inner.reach(kind, version.parse().unwrap_or(0)));
    }

    /// Records the difference between a list and the logs. Objects that are no longer listed are recorded as
    /// deleted. After a lost watch, every log also gets a gap.
    pub(super) fn relist(&self, kind: &'static str, items: Vec<Value>, version: &str, lost: Option<&str>) {
        let key = |object: &Value| (namespace(object).to_owned(), name(object).to_owned());
        self.write(|inner| {
            let listed: HashSet<(String, String)> = items.iter().map(key).collect();
            if let Some(reason) = lost {
                for log in inner.by_namespace.values_mut() {
                    log.push(What::Gap(Gap { kind: kind.into(), reason: reason.into() }));
                }
            }
            let lives = inner.by_namespace.values().map(|log| &log.live).chain([&inner.cluster]);
            let known = lives.flat_map(|live| live.of(kind));
            let deleted: Vec<Value> =
                known.filter(|object| !listed.contains(&key(object))).cloned().collect();
            for object in deleted {
                inner.record(kind, Change::Deleted, object);
            }
            for item in items {
                inner.record(kind, Change::Added, item);
            }
            inner.reach(kind, version.parse().unwrap_or(0));
        });
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read()
    }

    fn write<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.0.write())
    }
}

impl Inner {
    fn record(&mut self, kind: &'static str, change: Change, mut object: Value) {
        // The names of the field managers suffice; their field lists are long.
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
            if log.reduce(kind, change, &mut object) {
                let recorded = Recorded { change, object: object.into() };
                log.live.apply(&recorded);
                log.push(What::Object(recorded));
                log.versions.send_modify(|versions| *versions += 1);
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

/// Whether the new version of a node differs only in a heartbeat of its kubelet.
fn is_heartbeat(before: &Value, after: &Value) -> bool {
    let without_heartbeat = |node: &Value| {
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
    before["kind"] == "Node" && without_heartbeat(before) == without_heartbeat(after)
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
