//! A response contains only metadata. The whole object, which a watch delivers, would double the cost.

use std::fmt::Debug;

use http::HeaderValue;
use http::header::ACCEPT;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::request::Error as BuildError;
use kube::core::{ClusterResourceScope, NamespaceResourceScope, Request};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Context;
use super::error::ReconcileError;
use crate::cache::ownership::{controller, is_controlled_by, is_of_namesake, kept_by};

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

pub(crate) trait Writable:
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

pub(crate) fn api<K: Writable>(client: &Client, object: &impl ResourceExt) -> Api<K> {
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}

pub(crate) async fn still_exists<K: Writable>(client: &Client, object: &K) -> Result<bool, ReconcileError> {
    let found = api::<K>(client, object).get_metadata_opt(&object.name_any()).await;
    let found = found.map_err(|error| failed("get", object, error))?;
    Ok(found.is_some_and(|found| found.uid() == object.uid() && found.metadata.deletion_timestamp.is_none()))
}

pub(crate) fn requests<K: Resource<DynamicType = ()>>(object: &impl ResourceExt) -> Request {
    Request::new(K::url_path(&(), object.namespace().as_deref()))
}

pub(crate) async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, BuildError>,
) -> Result<Option<String>, kube::Error> {
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(METADATA));
    let response = client.request_text(request).await?;
    let response: Option<WriteResponse> = serde_json::from_str(&response).ok();
    Ok(response.and_then(|response| response.metadata.resource_version))
}

#[derive(Deserialize)]
struct WriteResponse {
    metadata: ResponseMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseMetadata {
    resource_version: Option<String>,
}

fn failed<K: Resource<DynamicType = ()>>(verb: &str, object: &K, source: kube::Error) -> ReconcileError {
    let name = match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    };
    ReconcileError::Api { action: format!("{verb} {} {name}", K::kind(&())), source }
}

/// If the object already exists with the same owner, the cache was stale and the call succeeds.
pub(crate) async fn create<K: Writable>(
    client: &Client,
    object: &K,
    owner: &impl Resource<DynamicType = ()>,
) -> Result<(), ReconcileError> {
    let body = serde_json::to_vec(object)?;
    match send(client, requests::<K>(object).create(&PostParams::default(), body)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found = api::<K>(client, object).get_opt(&object.name_any()).await;
            match found.map_err(|error| failed("get", object, error))? {
                Some(found) if is_controlled_by(&found, owner) => Ok(()),
                Some(found) => Err(in_the_way(&found, owner)),
                None => Err(ReconcileError::Waiting(format!("{} was just deleted", shown(object)))),
            }
        }
        Err(error) => Err(failed("create", object, error)),
    }
}

/// An object that is being deleted soon frees the name, and so does one whose deleted owner had the same name
/// (DEL-08). Only a finalizer of a third party can prevent this.
pub(super) fn in_the_way<K, O>(found: &K, owner: &O) -> ReconcileError
where
    K: Resource<DynamicType = ()>,
    O: Resource<DynamicType = ()>,
{
    let (found_name, owner_name) = (shown(found), shown(owner));
    if let Some(finalizer) = kept_by(found) {
        return ReconcileError::NameTaken(format!(
            "{found_name}, which {owner_name} needs, is being deleted, but the finalizer {finalizer} keeps \
             it: remove the finalizer"
        ));
    }
    if found.meta().deletion_timestamp.is_some() || is_of_namesake(found, owner) {
        return ReconcileError::Waiting(format!(
            "{found_name} of a deleted owner with the same name must be deleted first"
        ));
    }
    let holder = controller(found)
        .map_or("nobody".to_owned(), |controller| format!("{} {}", controller.kind, controller.name));
    ReconcileError::NameTaken(format!(
        "{found_name}, which {owner_name} needs, is controlled by {holder}: delete or rename one of them"
    ))
}

fn shown<K: Resource<DynamicType = ()>>(object: &K) -> String {
    format!("{} {}", K::kind(&()), object.name_any())
}

pub(crate) async fn patch<K: Writable>(
    context: &Context,
    object: &K,
    patch: &Value,
) -> Result<(), ReconcileError> {
    let (name, patch) = (object.name_any(), Patch::Merge(patch));
    let request = requests::<K>(object).patch(&name, &PatchParams::default(), &patch);
    let version = send(&context.client, request).await.map_err(|error| failed("patch", object, error))?;
    context.written.record(object, version.as_deref());
    Ok(())
}

pub(crate) async fn patch_status<K: Writable>(
    context: &Context,
    object: &K,
    patch: &Value,
) -> Result<(), ReconcileError> {
    let version = patch_status_of(&context.client, object, patch).await?;
    context.written.record(object, version.as_deref());
    Ok(())
}

/// Patches only the version of the object from which the status was computed. Otherwise the patch would omit
/// a field that equals its cached value but has changed since. A conflict is retried.
pub(crate) async fn patch_status_of_version<K: Writable>(
    context: &Context,
    object: &K,
    status: &Value,
) -> Result<(), ReconcileError> {
    let mut patch = json!({ "status": status });
    if let Some(version) = object.resource_version() {
        patch["metadata"]["resourceVersion"] = version.into();
    }
    patch_status(context, object, &patch).await
}

pub(crate) async fn patch_cluster_status<K>(
    client: &Client,
    object: &K,
    patch: &Value,
) -> Result<(), ReconcileError>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
{
    patch_status_of(client, object, patch).await.map(drop)
}

async fn patch_status_of<K: Resource<DynamicType = ()>>(
    client: &Client,
    object: &K,
    patch: &Value,
) -> Result<Option<String>, ReconcileError> {
    let (name, patch) = (object.name_any(), Patch::Merge(patch));
    let request = requests::<K>(object).patch_subresource("status", &name, &PatchParams::default(), &patch);
    match send(client, request).await {
        Ok(version) => Ok(version),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(failed("patch status of", object, error)),
    }
}

/// Deletes exactly this object, never a newer object of the same name.
pub(crate) async fn delete<K: Writable>(client: &Client, object: &K) -> Result<(), ReconcileError> {
    match delete_if(client, object, None).await {
        Err(ReconcileError::Api { source: kube::Error::Api(status), .. }) if status.is_conflict() => Ok(()),
        result => result,
    }
}

/// Deletes the object only if it has not changed since it was cached. A conflict is retried.
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
    match send(client, requests::<K>(object).delete(&object.name_any(), &params)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(failed("delete", object, error)),
    }
}

#[cfg(test)]
mod tests {
    use grove_api::PodClique;

    use super::*;

    #[rstest::rstest]
    #[case::kept_by_a_third_party(
        &["example.com/review"],
        "PodClique w-0-a, which PodClique w needs, is being deleted, but the finalizer example.com/review \
         keeps it: remove the finalizer"
    )]
    #[case::kept_by_kubernetes(
        &["foregroundDeletion", "resource.kubernetes.io/delete-protection"],
        "waiting: PodClique w-0-a of a deleted owner with the same name must be deleted first"
    )]
    #[case::not_kept(
        &[],
        "waiting: PodClique w-0-a of a deleted owner with the same name must be deleted first"
    )]
    #[case::kept_by_kueue(
        &["kueue.x-k8s.io/managed-resources"],
        "PodClique w-0-a, which PodClique w needs, is being deleted, but the finalizer \
         kueue.x-k8s.io/managed-resources keeps it: remove the finalizer"
    )]
    fn an_object_that_a_third_party_keeps_is_reported(#[case] finalizers: &[&str], #[case] wanted: &str) {
        let pclq = |metadata: Value| -> PodClique {
            serde_json::from_value(json!({"metadata": metadata, "spec": {"podSpec": {}, "replicas": 1}}))
                .unwrap()
        };
        let found = pclq(json!({
            "name": "w-0-a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers,
        }));
        let owner = pclq(json!({"name": "w", "uid": "u"}));
        assert_eq!(in_the_way(&found, &owner).to_string(), wanted);
    }
}
