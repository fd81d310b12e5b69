use std::time::{Duration, Instant};

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, Status};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::ClusterError;

/// How long a new CRD may take to be established. On two processors with a load of 40, it took 30 s.
const ESTABLISHED: Duration = Duration::from_secs(120);

pub const FIELD_MANAGER: &str = "grove-conformance";

/// Applies objects, namespaces first, and waits until the CRDs among them are established.
pub async fn install(client: &Client, objects: &[Value]) -> Result<(), ClusterError> {
    let (namespaces, rest): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| object["kind"] == "Namespace");
    for namespace in namespaces {
        apply(client, namespace).await?;
    }
    try_join_all(rest.iter().map(|object| apply(client, object))).await?;
    let crds = rest.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    try_join_all(crds.map(|crd| established(client, crd["metadata"]["name"].as_str().unwrap_or_default())))
        .await?;
    Ok(())
}

/// Applies one object with server-side apply. An object without a namespace is cluster-scoped.
pub async fn apply(client: &Client, object: &Value) -> Result<(), ClusterError> {
    let (api, kind, name) = api_of(client, object);
    api.patch(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object))
        .await
        .map(drop)
        .map_err(ClusterError::during(format!("apply {kind} {name}")))
}

/// Like [`apply`], but retries a 404 for 10 s: a kind is served a moment after its CRD is established.
pub async fn apply_when_served(client: &Client, object: &Value) -> Result<(), ClusterError> {
    let begin = Instant::now();
    while let Err(error) = apply(client, object).await {
        if !error.is_not_found() || begin.elapsed() > Duration::from_secs(10) {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    if object["status"].is_null() {
        return Ok(());
    }
    let (api, kind, name) = api_of(client, object);
    api.patch_status(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object))
        .await
        .map(drop)
        .map_err(ClusterError::during(format!("apply the status of {kind} {name}")))
}

/// Creates the object with its status, which server-side apply would ignore. Keeps an existing object.
pub async fn create_unless_exists(client: &Client, object: &Value) -> Result<(), ClusterError> {
    let (api, kind, name) = api_of(client, object);
    let failed = |source| ClusterError::api(format!("create {kind} {name}"), source);
    let typed = serde_json::from_value(object.clone()).map_err(|e| failed(kube::Error::SerdeError(e)))?;
    match api.create(&PostParams::default(), &typed).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other.map(drop).map_err(failed),
    }
}

pub async fn find(client: &Client, object: &Value) -> Result<Option<Value>, ClusterError> {
    let (api, kind, name) = api_of(client, object);
    let found = api.get_opt(&name).await.map_err(ClusterError::during(format!("get {kind} {name}")))?;
    Ok(found.and_then(|found| serde_json::to_value(found).ok()))
}

/// Sends the object as a dry run that rejects unknown fields.
pub async fn dry_run(client: &Client, object: &Value) -> Result<(), kube::Error> {
    let (api, _, _) = api_of(client, object);
    let request = http::Request::post(format!("{}?dryRun=All&fieldValidation=Strict", api.resource_url()))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request::<Value>(request).await.map(drop)
}

/// Whether the schema refused an object. Unlike a webhook, the schema does not depend on other objects.
pub fn is_refused_by_schema(status: &Status) -> bool {
    matches!(status.code, 400 | 422) && !status.message.contains(" denied ")
}

pub(crate) fn api_of(client: &Client, object: &Value) -> (Api<DynamicObject>, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    (api, kind, name)
}

/// Deletes an object. An object without a namespace is cluster-scoped. A missing object is not an error.
pub async fn delete(client: &Client, object: &Value) -> Result<(), ClusterError> {
    let (api, kind, name) = api_of(client, object);
    match api.delete(&name, &DeleteParams::background()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other.map(drop).map_err(ClusterError::during(format!("delete {kind} {name}"))),
    }
}

/// Deletes an object despite its finalizers. After the deletion request, no controller can add them again.
pub(crate) async fn delete_despite_finalizers(client: &Client, object: &Value) -> Result<(), ClusterError> {
    delete(client, object).await?;
    let (api, kind, name) = api_of(client, object);
    let none = json!({"metadata": {"finalizers": null}});
    match api.patch(&name, &PatchParams::default(), &Patch::Merge(&none)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other.map(drop).map_err(ClusterError::during(format!("patch {kind} {name}"))),
    }
}

pub async fn delete_namespace(client: &Client, namespace: &str) -> Result<(), ClusterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    match namespaces.delete(namespace, &DeleteParams::background()).await {
        // The case itself may have deleted the namespace.
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other.map(drop).map_err(ClusterError::during(format!("delete namespace {namespace}"))),
    }
}

pub async fn delete_workloads(client: &Client, namespace: &str) -> Result<(), ClusterError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("grove.io", "v1alpha1", "PodCliqueSet"));
    let sets: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    sets.delete_collection(&DeleteParams::background(), &ListParams::default())
        .await
        .map(drop)
        .map_err(ClusterError::during(format!("delete the PodCliqueSets of {namespace}")))
}

/// Deletes the pods with this label, without waiting until they have terminated.
pub async fn delete_pods(client: &Client, namespace: &str, label: &str) -> Result<(), ClusterError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.delete_collection(&DeleteParams::background(), &ListParams::default().labels(label))
        .await
        .map(drop)
        .map_err(ClusterError::during(format!("delete the pods {label} of {namespace}")))
}

pub async fn patch_node(client: &Client, name: &str, patch: &Value) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let patched = nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.map(drop).map_err(ClusterError::during(format!("patch node {name}")))
}

pub async fn delete_node(client: &Client, name: &str) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let deleted = nodes.delete(name, &DeleteParams::default()).await;
    deleted.map(drop).map_err(ClusterError::during(format!("delete node {name}")))
}

pub async fn patch_node_status(client: &Client, name: &str, status: &Value) -> Result<Node, ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let patched = nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await;
    patched.map_err(ClusterError::during(format!("patch the status of node {name}")))
}

/// Waits for a condition on a node. `what` and `last` are parts of the timeout's message.
pub async fn await_node(
    client: &Client,
    name: &str,
    limit: Duration,
    what: String,
    last: &str,
    condition: impl Fn(Option<&Node>) -> bool,
) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    match tokio::time::timeout(limit, await_condition(nodes, name, condition)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(ClusterError::Watch { what: format!("node {name}"), source: Box::new(error) }),
        Err(_) => Err(ClusterError::NotReady { what, seconds: limit.as_secs(), last: last.into() }),
    }
}

pub async fn delete_nodes(client: &Client, label: &str, value: &str) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    nodes
        .delete_collection(
            &DeleteParams::background(),
            &ListParams::default().labels(&format!("{label}={value}")),
        )
        .await
        .map(drop)
        .map_err(ClusterError::during(format!("delete the nodes {label}={value}")))
}

pub async fn established(client: &Client, name: &str) -> Result<(), ClusterError> {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let seconds = ESTABLISHED.as_secs();
    let not_ready = |last: String| ClusterError::NotReady { what: format!("CRD {name}"), seconds, last };
    match tokio::time::timeout(ESTABLISHED, await_condition(crds, name, is_crd_established())).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(not_ready(error.to_string())),
        Err(_) => Err(not_ready("not established".into())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::testing::api_server;

    #[tokio::test]
    async fn finalizers_are_removed_after_the_deletion_request() {
        let metadata = json!({"name": "a", "namespace": "n"});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let answer = object.clone();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = requests.clone();
        let client = api_server(move |method, _, _| {
            seen.lock().unwrap().push(method.to_string());
            (200, answer.clone())
        });
        delete_despite_finalizers(&client, &object).await.unwrap();
        assert_eq!(*requests.lock().unwrap(), ["DELETE", "PATCH"]);
    }

    #[rstest::rstest]
    #[case::unknown_field(400, "strict decoding error: unknown field \"spec.replica\"", true)]
    #[case::invalid_value(422, "PodCliqueSet \"w\" is invalid: spec.replicas: Invalid value: -1", true)]
    #[case::by_a_webhook(422, "admission webhook \"w\" denied the request: no queue team-a", false)]
    #[case::by_a_policy(422, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", false)]
    #[case::forbidden(403, "exceeded quota: team-a", false)]
    fn only_a_refusal_by_the_schema_is_independent_of_other_objects(
        #[case] code: u16,
        #[case] message: &str,
        #[case] is_by_schema: bool,
    ) {
        let status = Status::failure(message, "Reason").with_code(code);
        assert_eq!(is_refused_by_schema(&status), is_by_schema);
    }
}
