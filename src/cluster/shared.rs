//! Objects that the runs in one cluster share. The topology binding and the canary node have fixed names,
//! because cases refer to them. Each run holds them with an annotation that has its id. The last run to
//! release them deletes them.
//!
//! All operations are atomic: an object is deleted only in a version that no other run held.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{ClusterError, deploy};

/// The value of the run label on shared objects.
pub(crate) const SHARED: &str = "shared";
/// Prefix of the annotations that hold an object.
const HOLDER: &str = "holder.conformance.grove.io/";
/// Attempts, because others may hold or release the object, or write its status, at the same time.
const TRIES: u32 = 20;
/// Pause while the old object is being deleted.
const PAUSE: Duration = Duration::from_millis(100);

/// Creates a shared object, or holds the existing one. An object without the label belongs to someone else
/// and stays unchanged.
pub async fn hold(client: &Client, object: &Value, run: (&str, &str)) -> Result<(), ClusterError> {
    let (api, kind, name) = deploy::api_of(client, object);
    let failed = |source| ClusterError::api(format!("create {kind} {name}"), source);
    let mut made = object.clone();
    made["metadata"]["labels"][run.0] = SHARED.into();
    made["metadata"]["annotations"][holder(run.1)] = "".into();
    let made: DynamicObject =
        serde_json::from_value(made).map_err(|error| failed(kube::Error::SerdeError(error)))?;
    let mut last = Ok(());
    for _ in 0..TRIES {
        match api.create(&PostParams::default(), &made).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                last = Err(failed(kube::Error::Api(status)));
            }
            done => return done.map(drop).map_err(failed),
        }
        let there = match api.get(&name).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => continue,
            there => there.map_err(failed)?,
        };
        if there.labels().get(run.0).is_none_or(|value| value != SHARED) {
            return Ok(());
        }
        if there.metadata.deletion_timestamp.is_some() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let held = Patch::Merge(json!({"metadata": {
            "resourceVersion": there.metadata.resource_version, "annotations": {(holder(run.1)): ""}}}));
        match api.patch(&name, &PatchParams::default(), &held).await {
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            done => return done.map(drop).map_err(failed),
        }
    }
    last
}

pub(crate) fn is_held_by(object: &DynamicObject, run: &str) -> bool {
    object.annotations().contains_key(&holder(run))
}

/// Releases an object for a run. The last run deletes it.
pub(crate) async fn let_go(api: &Api<DynamicObject>, name: &str, run: &str) -> Result<(), ClusterError> {
    let failed = |source| ClusterError::api(format!("release {name}"), source);
    let mut last = Ok(());
    for _ in 0..TRIES {
        let there = match api.get(name).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            there => there.map_err(failed)?,
        };
        let mine = holder(run);
        let is_others = |key: &String| key.starts_with(HOLDER) && *key != mine;
        let version = there.metadata.resource_version.clone();
        let done = if there.annotations().keys().any(is_others) {
            let gone =
                json!({"metadata": {"resourceVersion": version, "annotations": {(mine.clone()): null}}});
            api.patch(name, &PatchParams::default(), &Patch::Merge(gone)).await.map(drop)
        } else {
            let seen = Preconditions { uid: there.uid(), resource_version: version };
            api.delete(name, &DeleteParams::background().preconditions(seen)).await.map(drop)
        };
        match done {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_conflict() => {
                last = Err(failed(kube::Error::Api(status)));
            }
            done => return done.map_err(failed),
        }
    }
    last
}

fn holder(run: &str) -> String {
    format!("{HOLDER}{run}")
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
