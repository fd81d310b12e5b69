//! One watch per kind for the whole cluster, from before the first case, feeding one log per namespace.
//!
//! A watch that ends is resumed where it was. One that cannot be (410 Gone) lists again, and every log gets a gap:
//! what a judge says "never happened" across a gap is not known, and becomes an infrastructure error.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use conformance_history::{
    Change, Entry, Gap, Header, History, KINDS, Kind, Live, Mark, Recorded, What, revision,
};
use futures::TryStreamExt;
use jiff::Timestamp;
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// One namespace's part ("" for objects of the cluster).
#[derive(Debug)]
struct Log {
    entries: Vec<Entry>,
    live: Live,
    /// The latest resourceVersion seen of every object that ever was, by kind and name.
    seen: HashMap<(String, String), u64>,
    length: watch::Sender<usize>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            live: Live::default(),
            seen: HashMap::new(),
            length: watch::Sender::new(0),
        }
    }
}

impl Log {
    fn push(&mut self, what: What) {
        if let What::Object(recorded) = &what {
            self.live.apply(recorded);
            self.seen.insert(identity(&recorded.object), revision(&recorded.object));
        }
        self.entries.push(Entry { at: Timestamp::now(), what });
        self.length.send_replace(self.entries.len());
    }
}

fn identity(object: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&object["kind"]), text(&object["metadata"]["name"]))
}

#[derive(Debug, Default)]
struct Logs {
    by_namespace: HashMap<String, Log>,
}

/// The watches and what they have delivered so far.
pub struct Recorder {
    client: Client,
    kinds: Vec<Kind>,
    logs: Arc<RwLock<Logs>>,
    _tasks: JoinSet<()>,
}

impl Recorder {
    /// Starts watching what every cluster has and what these schedulers bring; returns when every kind that is served
    /// has been listed once.
    ///
    /// # Errors
    /// The kind, by its plural, that could not be listed in `limit`.
    pub async fn start(
        client: Client,
        schedulers: &BTreeSet<Scheduler>,
        limit: Duration,
    ) -> Result<Self, &'static str> {
        let is_here = |kind: &Kind| kind.scheduler.is_none_or(|scheduler| schedulers.contains(&scheduler));
        let api_versions = tokio::time::timeout(limit, api_versions(&client)).await;
        let api_versions = api_versions.map_err(|_| "API groups")?;
        let kinds: Vec<Kind> =
            KINDS.into_iter().filter(is_here).filter_map(|kind| kind.served(&api_versions)).collect();
        let logs = Arc::new(RwLock::new(Logs::default()));
        let mut tasks = JoinSet::new();
        let mut ready = Vec::new();
        for kind in kinds.iter().copied() {
            let (listed, is_listed) = watch::channel(false);
            ready.push((kind, is_listed));
            tasks.spawn(follow(client.clone(), kind, logs.clone(), listed));
        }
        for (kind, mut is_listed) in ready {
            // A kind that is not served says so at once.
            if !matches!(tokio::time::timeout(limit, is_listed.wait_for(|listed| *listed)).await, Ok(Ok(_))) {
                return Err(kind.plural);
            }
        }
        Ok(Self { client, kinds, logs, _tasks: tasks })
    }

    /// The client that watches.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The kind that histories call so, in the version that the cluster serves; `None` if it is not watched.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.iter().find(|kind| kind.name == name).copied()
    }

    /// Adds a mark to a namespace's log.
    pub fn mark(&self, namespace: &str, name: &str, detail: Value) {
        self.write(|logs| {
            let mark = Mark { name: name.into(), detail };
            logs.by_namespace.entry(namespace.into()).or_default().push(What::Mark(mark));
        });
    }

    /// Looks at a namespace's objects ("" for the cluster's) as they are now.
    pub fn look<T>(&self, namespace: &str, at: impl FnOnce(&Live) -> T) -> T {
        let logs = self.logs.read().unwrap_or_else(PoisonError::into_inner);
        match logs.by_namespace.get(namespace) {
            Some(log) => at(&log.live),
            None => at(&Live::default()),
        }
    }

    /// Tells when a namespace's log has grown.
    pub fn follow(&self, namespace: &str) -> watch::Receiver<usize> {
        self.write(|logs| logs.by_namespace.entry(namespace.into()).or_default().length.subscribe())
    }

    /// A namespace's log, with the nodes and topology bindings that `belongs` picks from the cluster's.
    pub fn history(&self, header: Header, belongs: impl Fn(&Value) -> bool) -> History {
        let logs = self.logs.read().unwrap_or_else(PoisonError::into_inner);
        let entries_of =
            |namespace: &str| logs.by_namespace.get(namespace).map_or(&[][..], |log| &log.entries);
        let of_cluster = entries_of("").iter().filter(|entry| match &entry.what {
            What::Object(recorded) => belongs(&recorded.object),
            What::Gap(_) | What::Mark(_) => false,
        });
        let mut entries: Vec<Entry> =
            entries_of(&header.namespace).iter().chain(of_cluster).cloned().collect();
        // Stable: entries of one log keep their order.
        entries.sort_by_key(|entry| entry.at);
        History { header, entries }
    }

    /// Forgets a namespace.
    pub fn forget(&self, namespace: &str) {
        self.write(|logs| logs.by_namespace.remove(namespace));
    }

    /// Waits until everything that is in the namespace now has been recorded: lists each kind and compares.
    /// `false` if that did not happen in time.
    pub async fn settle(&self, namespace: &str, limit: Duration) -> bool {
        let mut length = self.follow(namespace);
        let kinds = self.kinds.iter().filter(|kind| kind.namespaced && kind.name != "Event");
        let listed =
            futures::future::join_all(kinds.map(|kind| list(&self.client, kind, Some(namespace)))).await;
        let mut wanted: BTreeMap<(String, String), u64> = BTreeMap::new();
        for list in listed {
            match list {
                Ok((_, items)) => wanted.extend(items.iter().map(|item| (identity(item), revision(item)))),
                // A kind that is not served has no objects.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(_) => return false,
            }
        }
        let caught_up = async {
            loop {
                let there = {
                    let logs = self.logs.read().unwrap_or_else(PoisonError::into_inner);
                    let log = logs.by_namespace.get(namespace);
                    wanted
                        .iter()
                        .all(|(id, at)| log.and_then(|log| log.seen.get(id)).is_some_and(|seen| seen >= at))
                };
                if there || length.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, caught_up).await.is_ok()
    }

    fn write<T>(&self, change: impl FnOnce(&mut Logs) -> T) -> T {
        change(&mut self.logs.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Every `GROUP/VERSION` that is served, asked for until the API server answers.
async fn api_versions(client: &Client) -> BTreeSet<String> {
    loop {
        match client.list_api_groups().await {
            Ok(groups) => {
                let versions = groups.groups.into_iter().flat_map(|group| group.versions);
                return versions.map(|version| version.group_version).collect();
            }
            Err(error) => {
                tracing::debug!(%error, "cannot list API groups yet");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// Lists a kind: the list's resourceVersion and its items, with their kind filled in.
async fn list(client: &Client, kind: &Kind, namespace: Option<&str>) -> kube::Result<(String, Vec<Value>)> {
    let request =
        http::Request::get(kind.path(namespace)).body(Vec::new()).map_err(kube::Error::HttpError)?;
    let mut list: Value = client.request(request).await?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    let items = match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    Ok((version, items.into_iter().map(|item| named(item, kind)).collect()))
}

/// Items of a list do not carry their kind, and kinds of several groups are told apart by their group.
fn named(mut item: Value, kind: &Kind) -> Value {
    item["kind"] = kind.name.into();
    item["apiVersion"] = kind.api_version.into();
    item
}

/// Lists and watches a kind, without end.
async fn follow(client: Client, kind: Kind, logs: Arc<RwLock<Logs>>, listed: watch::Sender<bool>) {
    let mut from: Option<String> = None;
    let mut lost: Option<String> = None;
    loop {
        let version = match from.take() {
            Some(version) => version,
            None => match list(&client, &kind, None).await {
                Ok((version, items)) => {
                    let mut logs = logs.write().unwrap_or_else(PoisonError::into_inner);
                    if let Some(reason) = lost.take() {
                        for log in logs.by_namespace.values_mut() {
                            log.push(What::Gap(Gap { kind: kind.name.into(), reason: reason.clone() }));
                        }
                    }
                    for item in items {
                        record(&mut logs, Change::Added, item);
                    }
                    listed.send_replace(true);
                    version
                }
                Err(error) => {
                    tracing::debug!(kind = kind.name, %error, "cannot list yet");
                    if matches!(&error, kube::Error::Api(status) if status.code == 404) {
                        listed.send_replace(true);
                    }
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
            },
        };
        match watch_from(&client, &kind, version.clone(), &logs).await {
            Resume::At(version) => from = Some(version),
            Resume::Retry(version) => {
                from = Some(version);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Resume::Relist(reason) => lost = Some(reason),
        }
    }
}

/// How to go on after a watch has ended.
enum Resume {
    /// From here.
    At(String),
    /// From here, but not at once: the API server did not answer.
    Retry(String),
    /// By listing again: what lies between is lost.
    Relist(String),
}

async fn watch_from(client: &Client, kind: &Kind, mut version: String, logs: &RwLock<Logs>) -> Resume {
    let path = format!(
        "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={version}",
        kind.path(None)
    );
    let Ok(request) = http::Request::get(path).body(Vec::new()) else { return Resume::Retry(version) };
    let stream = match client.request_events::<Value>(request).await {
        Ok(stream) => stream,
        Err(kube::Error::Api(status)) if status.code == 410 => return Resume::Relist(status.message.clone()),
        Err(_) => return Resume::Retry(version),
    };
    let mut stream = std::pin::pin!(stream);
    loop {
        let (change, object) = match stream.try_next().await {
            Ok(Some(WatchEvent::Added(object))) => (Change::Added, object),
            Ok(Some(WatchEvent::Modified(object))) => (Change::Modified, object),
            Ok(Some(WatchEvent::Deleted(object))) => (Change::Deleted, object),
            Ok(Some(WatchEvent::Bookmark(bookmark))) => {
                version = bookmark.metadata.resource_version;
                continue;
            }
            Ok(Some(WatchEvent::Error(status))) if status.code == 410 => {
                return Resume::Relist(status.message.clone());
            }
            Ok(Some(WatchEvent::Error(_))) | Err(_) => return Resume::Retry(version),
            Ok(None) => return Resume::At(version),
        };
        if let Some(at) = object["metadata"]["resourceVersion"].as_str() {
            version = at.to_owned();
        }
        record(&mut logs.write().unwrap_or_else(PoisonError::into_inner), change, named(object, kind));
    }
}

fn record(logs: &mut Logs, change: Change, mut object: Value) {
    // Who wrote last is worth keeping, the long list of what is not.
    if let Some(managers) = object["metadata"]["managedFields"].as_array_mut() {
        for manager in managers.iter_mut().filter_map(Value::as_object_mut) {
            manager.remove("fieldsV1");
        }
    }
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let recorded = Recorded { change, object: Arc::new(object) };
    logs.by_namespace.entry(namespace).or_default().push(What::Object(recorded));
}
