use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use futures::future::{self, BoxFuture};
use futures::{FutureExt, StreamExt, stream};
use kube::{Resource, ResourceExt};
use serde_json::Value;

use super::Context;
use super::error::ReconcileError;
use super::writes::{self, Writable};
use crate::cache::informer::Informer;
use crate::cache::ownership::{controller, is_controlled_by};
use crate::faults::fault;

const CONCURRENCY: usize = 16;

pub(crate) type Write<'a> = BoxFuture<'a, Result<(), ReconcileError>>;

/// Finishes all writes. The error about a taken name takes precedence, because only a user can resolve it.
pub(crate) async fn all(writes: Vec<Write<'_>>) -> Result<(), ReconcileError> {
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    let mut errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    let is_taken_name = |error: &ReconcileError| matches!(error, ReconcileError::NameTaken(_));
    let reported = errors.iter().position(is_taken_name).unwrap_or(0);
    if errors.is_empty() { Ok(()) } else { Err(errors.swap_remove(reported)) }
}

pub(crate) type Change<K> = fn(&K, &K) -> serde_json::Result<Option<Value>>;

pub(crate) struct Children<'a, O, K>
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
    O: Resource<DynamicType = ()> + Sync,
    K: Writable + Send + Sync + 'static,
    K::DynamicType: Hash + Eq + Clone,
{
    pub(crate) fn new(context: &'a Context, owner: &'a O, cache: &'a Informer<K>, change: Change<K>) -> Self {
        Self { context, owner, cache, change, wanted: HashSet::new(), writes: Vec::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<K>> {
        let found = self.cache.get(self.owner.namespace().as_deref(), name);
        found.filter(|found| self.is_ours(found))
    }

    pub(crate) fn want(&mut self, wanted: K) {
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

    pub(crate) fn keep(&mut self, name: String) {
        self.wanted.insert(name);
    }

    /// Existing children that the owner no longer wants. `key` is the owner's key in the cache index.
    pub(crate) fn excess(&self, key: &str) -> Vec<Arc<K>> {
        let mut found = self.cache.indexed(key);
        found.retain(|found| {
            let is_terminating = found.meta().deletion_timestamp.is_some();
            !is_terminating && self.is_ours(found) && !self.wanted.contains(&found.name_any())
        });
        found
    }

    /// A deletion requires the cached version, because a PodGang with new pods must not be deleted.
    pub(crate) fn finish(mut self, key: &str) -> Vec<Write<'a>> {
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
            return Err(writes::in_the_way(&**found, self.owner));
        }
        let (context, found) = (self.context, Arc::clone(found));
        let patch = (self.change)(&found, wanted)?;
        Ok(patch.map(|patch| async move { writes::patch(context, &*found, &patch).await }.boxed()))
    }

    fn is_ours(&self, found: &K) -> bool {
        let is_faulty = || fault!("no-owner-references") && controller(found).is_none();
        is_controlled_by(found, self.owner) || is_faulty()
    }
}
