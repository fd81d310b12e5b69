//! A watch with a cache and listeners. Unlike kube's shared reflector, it reports deletions, for which
//! reconcilers wait (DEL-08). A listener runs in the watch's task and must only enqueue.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, future};
use kube::runtime::reflector::{ObjectRef, Store, store::Writer};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt, watcher as watch_objects};
use kube::{Api, Resource, ResourceExt};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

/// Short, because the pause determines how soon a kind is found that was not served at first (KUBE-06).
struct WatchBackoff;

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(500))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {}
}

pub(crate) struct Change<K> {
    pub old: Option<Arc<K>>,
    pub new: Option<Arc<K>>,
}

impl<K> Change<K> {
    /// The old and the new object, so that a listener also wakes the former owner.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Arc<K>> {
        self.old.iter().chain(&self.new)
    }
}

type Listener<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

type Index<K> = Arc<RwLock<HashMap<String, BTreeMap<String, Arc<K>>>>>;

pub(crate) struct Informer<K: Resource + 'static>
where
    K::DynamicType: Hash + Eq + Clone,
{
    pub store: Store<K>,
    pub dyntype: K::DynamicType,
    index: Index<K>,
    synced: watch::Receiver<bool>,
}

impl<K: Resource + 'static> Clone for Informer<K>
where
    K::DynamicType: Hash + Eq + Clone,
{
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            dyntype: self.dyntype.clone(),
            index: self.index.clone(),
            synced: self.synced.clone(),
        }
    }
}

pub(crate) struct Feed<K: Resource + Clone + 'static>
where
    K::DynamicType: Hash + Eq + Clone,
{
    writer: Writer<K>,
    store: Store<K>,
    dyntype: K::DynamicType,
    keys: fn(&K) -> Vec<String>,
    index: Index<K>,
    synced: watch::Sender<bool>,
    listeners: Vec<Listener<K>>,
}

pub(super) fn informer<K>(dyntype: K::DynamicType, keys: fn(&K) -> Vec<String>) -> (Informer<K>, Feed<K>)
where
    K: Resource + Clone + 'static,
    K::DynamicType: Hash + Eq + Clone,
{
    let writer = Writer::new(dyntype.clone());
    let (store, index, (sender, synced)) = (writer.as_reader(), Index::default(), watch::channel(false));
    let informer =
        Informer { store: store.clone(), dyntype: dyntype.clone(), index: Arc::clone(&index), synced };
    (informer, Feed { writer, store, dyntype, keys, index, synced: sender, listeners: Vec::new() })
}

impl<K: Resource + Clone + 'static> Informer<K>
where
    K::DynamicType: Hash + Eq + Clone,
{
    pub(crate) fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        let mut key = ObjectRef::new_with(name, self.dyntype.clone());
        key.namespace = namespace.map(str::to_owned);
        self.store.get(&key)
    }

    pub(crate) fn indexed(&self, key: &str) -> Vec<Arc<K>> {
        let index = self.index.read();
        index.get(key).map(|found| found.values().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.index.read().contains_key(key)
    }

    /// Waits until the cache is complete, or until the API server reports that it does not serve the kind.
    pub(crate) async fn wait_until_synced(&self) {
        let mut synced = self.synced.clone();
        // An error means that the feed has ended with the program.
        let _ = synced.wait_for(|synced| *synced).await;
    }
}

impl<K> Feed<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Hash + Eq + Clone + Send + Sync,
{
    pub(crate) fn on_change(&mut self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.listeners.push(Box::new(listener));
    }

    /// `keep` drops the fields that no reconciler reads, to save memory.
    pub(crate) async fn run<W>(
        mut self,
        api: Api<W>,
        config: watcher::Config,
        keep: fn(W, &K::DynamicType) -> K,
    ) where
        W: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let dyntype = self.dyntype.clone();
        let events = watch_objects(api, config).backoff(WatchBackoff).map_ok(move |event| {
            map(event, |mut object: W| {
                let metadata = object.meta_mut();
                metadata.managed_fields = None;
                // A deserialized list has a capacity of at least four.
                metadata.owner_references.iter_mut().for_each(Vec::shrink_to_fit);
                keep(object, &dyntype)
            })
        });
        let each = events.for_each(|event| {
            match event {
                Ok(event) => self.take(event),
                Err(error) => self.handle_error(&error),
            }
            future::ready(())
        });
        each.await;
    }

    pub(crate) fn take(&mut self, event: watcher::Event<K>) {
        match &event {
            watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
                let key = ObjectRef::from_obj_with(object, self.dyntype.clone());
                let old = self.store.get(&key);
                self.writer.apply_watcher_event(&event);
                self.index_and_notify(&Change { old, new: self.store.get(&key) });
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => self.writer.apply_watcher_event(&event),
            watcher::Event::InitDone => self.finish_list(&event),
        }
    }

    /// Notifies the listeners of every difference between the old and the new list, including deletions.
    fn finish_list(&mut self, event: &watcher::Event<K>) {
        let key = |object: &Arc<K>| (object.namespace(), object.name_any());
        let mut before: HashMap<_, _> =
            self.store.state().into_iter().map(|object| (key(&object), object)).collect();
        self.writer.apply_watcher_event(event);
        for new in self.store.state() {
            let old = before.remove(&key(&new));
            self.index_and_notify(&Change { old, new: Some(new) });
        }
        for old in before.into_values() {
            self.index_and_notify(&Change { old: Some(old), new: None });
        }
        self.synced.send_replace(true);
    }

    fn index_and_notify(&self, change: &Change<K>) {
        {
            let mut index = self.index.write();
            if let Some(old) = &change.old {
                for key in (self.keys)(old) {
                    if let Some(found) = index.get_mut(&key) {
                        found.remove(&old.name_any());
                        if found.is_empty() {
                            index.remove(&key);
                        }
                    }
                }
            }
            if let Some(new) = &change.new {
                for key in (self.keys)(new) {
                    index.entry(key).or_default().insert(new.name_any(), Arc::clone(new));
                }
            }
        }
        self.listeners.iter().for_each(|listener| listener(change));
    }

    fn handle_error(&self, error: &watcher::Error) {
        let kind = K::kind(&self.dyntype);
        if let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error
            // If the whole API group is missing, the response is no Status and has no reason.
            && status.code == 404
        {
            tracing::debug!(%kind, "the API server does not serve this kind");
            self.synced.send_replace(true);
        } else {
            tracing::warn!(%kind, %error, "the watch failed; retrying");
        }
    }
}

fn map<W, K>(event: watcher::Event<W>, keep: impl FnOnce(W) -> K) -> watcher::Event<K> {
    use watcher::Event;
    match event {
        Event::Apply(object) => Event::Apply(keep(object)),
        Event::Delete(object) => Event::Delete(keep(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(keep(object)),
        Event::InitDone => Event::InitDone,
    }
}

#[cfg(test)]
#[path = "informer_tests.rs"]
mod tests;
