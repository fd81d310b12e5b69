//! Objects that several runs in one cluster share: the topology binding and the canary node. Each run adds an
//! annotation to the object. The last run deletes the object, unless another run has added its annotation.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{ClusterError, deploy};

/// The value of the run label on shared objects.
pub(crate) const SHARED: &str = "shared";
const HOLDER: &str = "holder.conformance.grove.io/";
/// Number of tries. Other clients may hold or release the object, or write its status, at the same time.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Creates a shared object or adds this run's annotation. An object without the run label is left unchanged.
pub async fn hold(client: &Client, object: &Value, run: (&str, &str)) -> Result<(), ClusterError> {
    let (api, kind, name) = deploy::api_of(client, object);
    let failed = |source| ClusterError::api(format!("create {kind} {name}"), source);
    let mut object = object.clone();
    object["metadata"]["labels"][run.0] = SHARED.into();
    object["metadata"]["annotations"][holder(run.1)] = "".into();
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|error| failed(kube::Error::SerdeError(error)))?;
    let mut last = Ok(());
    for _ in 0..TRIES {
        match api.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                last = Err(failed(kube::Error::Api(status)));
            }
            done => return done.map(drop).map_err(failed),
        }
        let existing = match api.get(&name).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => continue,
            found => found.map_err(failed)?,
        };
        if existing.labels().get(run.0).is_none_or(|value| value != SHARED) {
            return Ok(());
        }
        if existing.metadata.deletion_timestamp.is_some() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let held = Patch::Merge(json!({"metadata": {
            "resourceVersion": existing.metadata.resource_version, "annotations": {(holder(run.1)): ""}}}));
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

pub(crate) async fn release(api: &Api<DynamicObject>, name: &str, run: &str) -> Result<(), ClusterError> {
    let failed = |source| ClusterError::api(format!("release {name}"), source);
    let mut last = Ok(());
    for _ in 0..TRIES {
        let existing = match api.get(name).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            found => found.map_err(failed)?,
        };
        let own = holder(run);
        let is_of_another_run = |key: &String| key.starts_with(HOLDER) && *key != own;
        let version = existing.metadata.resource_version.clone();
        let done = if existing.annotations().keys().any(is_of_another_run) {
            let released =
                json!({"metadata": {"resourceVersion": version, "annotations": {(own.clone()): null}}});
            api.patch(name, &PatchParams::default(), &Patch::Merge(released)).await.map(drop)
        } else {
            let seen = Preconditions { uid: existing.uid(), resource_version: version };
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
