//! Writes to the API server, each with a name for what it does.

use std::fmt::Debug;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::ReconcileError;
use super::ownership::is_controlled_by;

/// Kinds that this controller writes.
pub(super) trait Writable:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl<K> Writable for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

/// The API of the object's namespace.
pub(super) fn api<K: Writable>(client: &Client, object: &impl ResourceExt) -> Api<K> {
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}

fn failed<K: Resource<DynamicType = ()>>(verb: &str, object: &K, source: kube::Error) -> ReconcileError {
    let name = match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    };
    ReconcileError::Api { action: format!("{verb} {} {name}", K::kind(&())), source }
}

/// Creates `object`, which `owner` controls. One that is there already and has the same owner is as good: the
/// cache was behind.
///
/// # Errors
/// [`ReconcileError::Waiting`] if one of the same name has another owner, most likely a deleted predecessor
/// (DEL-08).
pub(super) async fn create<K: Writable>(
    client: &Client,
    object: &K,
    owner: &impl ResourceExt,
) -> Result<(), ReconcileError> {
    let api = api::<K>(client, object);
    match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found =
                api.get_opt(&object.name_any()).await.map_err(|error| failed("get", object, error))?;
            if found.is_some_and(|found| is_controlled_by(&found, owner)) {
                return Ok(());
            }
            let (kind, name) = (K::kind(&()), object.name_any());
            Err(ReconcileError::Waiting(format!("{kind} {name} of another owner is in the way")))
        }
        Err(error) => Err(failed("create", object, error)),
    }
}

/// Sends a JSON merge patch.
pub(super) async fn patch<K: Writable>(
    client: &Client,
    object: &K,
    patch: &Value,
) -> Result<K, ReconcileError> {
    let api = api::<K>(client, object);
    let patched = api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.map_err(|error| failed("patch", object, error))
}

/// Sends a JSON merge patch to the status.
pub(super) async fn patch_status<K: Writable>(
    client: &Client,
    object: &K,
    patch: &Value,
) -> Result<(), ReconcileError> {
    patch_status_in(api::<K>(client, object), object, patch).await
}

/// As [`patch_status`], of a status that was computed from this version of the object, and for no other: what a patch leaves
/// out because a stale cache has it already may have been written otherwise meanwhile. A conflict is tried again.
pub(super) async fn patch_status_of_version<K: Writable>(
    client: &Client,
    object: &K,
    status: &Value,
) -> Result<(), ReconcileError> {
    let mut patch = json!({ "status": status });
    if let Some(version) = object.resource_version() {
        patch["metadata"]["resourceVersion"] = version.into();
    }
    patch_status(client, object, &patch).await
}

/// As [`patch_status`], of an object without a namespace.
pub(super) async fn patch_cluster_status<K>(
    client: &Client,
    object: &K,
    patch: &Value,
) -> Result<(), ReconcileError>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
{
    patch_status_in(Api::all(client.clone()), object, patch).await
}

async fn patch_status_in<K>(api: Api<K>, object: &K, patch: &Value) -> Result<(), ReconcileError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    match api.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(failed("patch status of", object, error)),
    }
}

/// Deletes this very object, not a successor of the same name. One that is gone is as good.
pub(super) async fn delete<K: Writable>(client: &Client, object: &K) -> Result<(), ReconcileError> {
    match delete_if(client, object, None).await {
        Err(ReconcileError::Api { source: kube::Error::Api(status), .. }) if status.is_conflict() => Ok(()),
        result => result,
    }
}

/// As [`delete`], if nothing about it has changed since. A conflict is tried again.
pub(super) async fn delete_unchanged<K: Writable>(client: &Client, object: &K) -> Result<(), ReconcileError> {
    delete_if(client, object, object.resource_version()).await
}

async fn delete_if<K: Writable>(
    client: &Client,
    object: &K,
    resource_version: Option<String>,
) -> Result<(), ReconcileError> {
    let preconditions = Preconditions { uid: object.uid(), resource_version };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
    match api::<K>(client, object).delete(&object.name_any(), &params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(failed("delete", object, error)),
    }
}
