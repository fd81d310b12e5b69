//! Bringing the objects under an owner to what they should be: create, patch the difference, delete the rest.

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::ReconcileError;
use super::json_diff::merge_patch;
use super::ownership::is_controlled_by;
use super::writes::{self, Writable};
use crate::api::PodClique;

/// Requests in flight at a time for one owner.
const CONCURRENCY: usize = 16;

/// A write to be made.
pub type Write<'a> = BoxFuture<'a, Result<(), ReconcileError>>;

/// Makes all writes, a few at a time, and gives the first error when all are made.
pub async fn all(writes: Vec<Write<'_>>) -> Result<(), ReconcileError> {
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

/// What brings one object to what it should be, if anything. `change` gives the patch from what is there.
///
/// # Errors
/// [`ReconcileError::Waiting`] if an object of another owner has the name.
pub fn ensure<'a, K, O>(
    context: &'a Context,
    owner: &'a O,
    existing: Option<Arc<K>>,
    wanted: K,
    change: impl FnOnce(&K, &K) -> serde_json::Result<Option<Value>>,
    is_ours: impl FnOnce(&K) -> bool,
) -> Result<Option<Write<'a>>, ReconcileError>
where
    K: Writable + Send + Sync + 'a,
    O: ResourceExt + Sync,
{
    let Some(existing) = existing else {
        return Ok(Some(async move { writes::create(&context.client, &wanted, owner).await }.boxed()));
    };
    if !is_ours(&existing) || existing.meta().deletion_timestamp.is_some() {
        let (kind, name) = (K::kind(&()), wanted.name_any());
        return Err(ReconcileError::Waiting(format!("{kind} {name} of a predecessor has to go first")));
    }
    let patch = change(&existing, &wanted)?;
    Ok(patch.map(|patch| {
        async move { writes::patch(&context.client, &*existing, &patch).await.map(drop) }.boxed()
    }))
}

/// The deletion of every object of `found` that `owner` controls and nobody wants any more.
pub fn prune<'a, K, O>(
    context: &'a Context,
    owner: &O,
    found: Vec<Arc<K>>,
    wanted: &HashSet<String>,
) -> Vec<Write<'a>>
where
    K: Writable + Send + Sync + 'a,
    O: ResourceExt,
{
    let excess = found.into_iter().filter(|object| {
        let going = object.meta().deletion_timestamp.is_some();
        !going && is_controlled_by(&**object, owner) && !wanted.contains(&object.name_any())
    });
    excess.map(|object| async move { writes::delete(&context.client, &*object).await }.boxed()).collect()
}

/// The patch that gives `existing` the wanted labels, annotations and spec. Other labels and annotations
/// stay.
pub fn change<K: ResourceExt>(existing: &K, wanted: &K, specs: [Value; 2]) -> Option<Value> {
    let [existing_spec, wanted_spec] = specs;
    let missing = |existing: &std::collections::BTreeMap<String, String>,
                   wanted: &std::collections::BTreeMap<String, String>| {
        let missing = wanted.iter().filter(|(key, value)| existing.get(*key) != Some(value));
        missing.map(|(key, value)| (key.clone(), json!(value))).collect::<Map<_, _>>()
    };
    let mut metadata = Map::new();
    for (field, missing) in [
        ("labels", missing(existing.labels(), wanted.labels())),
        ("annotations", missing(existing.annotations(), wanted.annotations())),
    ] {
        if !missing.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(missing));
        }
    }
    let mut patch = Map::new();
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if let Some(spec) = merge_patch(&existing_spec, &wanted_spec) {
        patch.insert("spec".to_owned(), spec);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// The patch from one PodClique to another; `replicas` belong to whoever scales the object.
pub fn pod_clique_change(existing: &PodClique, wanted: &PodClique) -> serde_json::Result<Option<Value>> {
    let mut spec = serde_json::to_value(&wanted.spec)?;
    spec["replicas"] = json!(existing.spec.replicas);
    Ok(change(existing, wanted, [serde_json::to_value(&existing.spec)?, spec]))
}
