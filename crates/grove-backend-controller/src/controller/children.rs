//! Brings the objects of one kind under an owner to their desired state: creates, patches and deletes them.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use futures::future::{self, BoxFuture};
use futures::{FutureExt, StreamExt, stream};
use grove_api::PodClique;
use grove_api::names::{GROVE_PREFIX, LABEL_POD_TEMPLATE_HASH};
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::ReconcileError;
use super::informer::Informer;
use super::json_diff::merge_patch;
use super::ownership::{controller, is_controlled_by};
use super::writes::{self, Writable};
use crate::faults::fault;

const CONCURRENCY: usize = 16;

pub(super) type Write<'a> = BoxFuture<'a, Result<(), ReconcileError>>;

/// Runs all writes, a few at a time, and returns the first error after all have finished.
pub(super) async fn all(writes: Vec<Write<'_>>) -> Result<(), ReconcileError> {
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

/// The patch from the first object to the second; `None` if they are equal.
pub(super) type Change<K> = fn(&K, &K) -> serde_json::Result<Option<Value>>;

pub(super) struct Children<'a, O, K>
where
    K: Resource<DynamicType = ()> + 'static,
{
    context: &'a Context,
    owner: &'a O,
    cache: &'a Informer<K>,
    change: Change<K>,
    wanted: HashSet<String>,
    writes: Vec<Write<'a>>,
}

impl<'a, O, K> Children<'a, O, K>
where
    O: ResourceExt + Sync,
    K: Writable + Send + Sync + 'static,
    K::DynamicType: Hash + Eq + Clone,
{
    pub(super) fn new(context: &'a Context, owner: &'a O, cache: &'a Informer<K>, change: Change<K>) -> Self {
        Self { context, owner, cache, change, wanted: HashSet::new(), writes: Vec::new() }
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<K>> {
        let found = self.cache.get(self.owner.namespace().as_deref(), name);
        found.filter(|found| self.is_ours(found))
    }

    pub(super) fn want(&mut self, wanted: K) {
        let name = wanted.name_any();
        let existing = self.cache.get(self.owner.namespace().as_deref(), &name);
        self.wanted.insert(name);
        let write = match existing {
            None => Ok(Some(self.create(wanted))),
            Some(found) => self.adjust(&found, &wanted),
        };
        match write {
            Ok(write) => self.writes.extend(write),
            // Fails together with the other writes, so that one conflicting object does not delay the rest.
            Err(error) => self.writes.push(future::ready(Err(error)).boxed()),
        }
    }

    pub(super) fn keep(&mut self, name: String) {
        self.wanted.insert(name);
    }

    /// Objects under the owner that are not wanted; `key` is the owner's key in the cache index.
    pub(super) fn excess(&self, key: &str) -> Vec<Arc<K>> {
        let mut found = self.cache.indexed(key);
        found.retain(|found| {
            let going = found.meta().deletion_timestamp.is_some();
            !going && self.is_ours(found) && !self.wanted.contains(&found.name_any())
        });
        found
    }

    /// Returns all pending writes, including the deletion of [`Children::excess`]. A deletion requires the
    /// cached version, because a PodGang that got new pods meanwhile is wanted again.
    pub(super) fn finish(mut self, key: &str) -> Vec<Write<'a>> {
        let (context, mut writes) = (self.context, std::mem::take(&mut self.writes));
        let excess = self.excess(key).into_iter();
        writes
            .extend(excess.map(|found| {
                async move { writes::delete_unchanged(&context.client, &*found).await }.boxed()
            }));
        writes
    }

    fn create(&self, wanted: K) -> Write<'a> {
        let (context, owner) = (self.context, self.owner);
        async move { writes::create(&context.client, &wanted, owner).await }.boxed()
    }

    fn adjust(&self, found: &Arc<K>, wanted: &K) -> Result<Option<Write<'a>>, ReconcileError> {
        if !self.is_ours(found) || found.meta().deletion_timestamp.is_some() {
            let what = format!("{} {} of a predecessor has to go first", K::kind(&()), wanted.name_any());
            return Err(ReconcileError::Waiting(what));
        }
        let (context, found) = (self.context, Arc::clone(found));
        let patch = (self.change)(&found, wanted)?;
        Ok(patch.map(|patch| async move { writes::patch(context, &*found, &patch).await }.boxed()))
    }

    fn is_ours(&self, found: &K) -> bool {
        let disowned = || fault!("no-owner-references") && controller(found).is_none();
        is_controlled_by(found, self.owner) || disowned()
    }
}

/// Patches labels, annotations and spec of `existing`. Other labels and annotations stay.
pub(super) fn change<K: ResourceExt>(existing: &K, wanted: &K, [from, to]: [Value; 2]) -> Option<Value> {
    let mut patch = Map::new();
    let labels = missing(existing.labels(), wanted.labels());
    let annotations = missing(existing.annotations(), wanted.annotations());
    let metadata = [("labels", labels), ("annotations", annotations)];
    let metadata: Map<_, _> =
        metadata.into_iter().filter_map(|(key, map)| Some((key.to_owned(), map?))).collect();
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if let Some(spec) = merge_patch(&from, &to) {
        patch.insert("spec".to_owned(), spec);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn missing(existing: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> Option<Value> {
    let missing = wanted.iter().filter(|(key, value)| existing.get(*key) != Some(value));
    let missing: Map<_, _> = missing.map(|(key, value)| (key.clone(), json!(value))).collect();
    (!missing.is_empty()).then_some(Value::Object(missing))
}

/// Patches a PodClique but keeps `replicas`, which belong to whoever scales it. A new template removes the
/// labels and annotations that it no longer has, because pods inherit them from the PodClique.
pub(super) fn pod_clique_change(
    existing: &PodClique,
    wanted: &PodClique,
) -> serde_json::Result<Option<Value>> {
    let mut spec = serde_json::to_value(&wanted.spec)?;
    spec["replicas"] = json!(existing.spec.replicas);
    let mut patch = change(existing, wanted, [serde_json::to_value(&existing.spec)?, spec]);
    let hash = |pclq: &PodClique| pclq.labels().get(LABEL_POD_TEMPLATE_HASH).cloned();
    if let Some(patch) = patch.as_mut().filter(|_| hash(existing) != hash(wanted)) {
        let pairs = [
            ("labels", existing.labels(), wanted.labels()),
            ("annotations", existing.annotations(), wanted.annotations()),
        ];
        for (field, before, after) in pairs {
            let gone =
                before.keys().filter(|key| !after.contains_key(*key) && !key.starts_with(GROVE_PREFIX));
            gone.for_each(|key| patch["metadata"][field][key] = Value::Null);
        }
    }
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pclq(hash: &str, labels: Value) -> PodClique {
        let mut pclq = json!({"metadata": {"labels": labels}, "spec": {"podSpec": {}, "replicas": 1}});
        pclq["metadata"]["labels"][LABEL_POD_TEMPLATE_HASH] = json!(hash);
        serde_json::from_value(pclq).unwrap()
    }

    #[test]
    fn a_new_template_takes_its_predecessors_labels_away() {
        let existing = pclq("1", json!({"team": "a", "grove.io/kept": "1", "tier": "x"}));
        let patch = pod_clique_change(&existing, &pclq("2", json!({"tier": "y"}))).unwrap().unwrap();
        let labels = json!({"team": null, "tier": "y", LABEL_POD_TEMPLATE_HASH: "2"});
        assert_eq!(patch, json!({"metadata": {"labels": labels}}));
        assert_eq!(
            pod_clique_change(&existing, &pclq("1", json!({"tier": "x"}))).unwrap(),
            None,
            "somebody else's"
        );
    }
}
