//! Reads the Nodes and devices of a cluster, as templates for simulated nodes. Writes nothing.

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::ClusterError;
use super::access::{Access, reached};

/// Page size of a list, small because each Node lists its images.
const PAGE: u32 = 250;

pub async fn read(access: &Access) -> Result<Vec<Value>, ClusterError> {
    objects(&reached(access).await?).await
}

async fn objects(client: &Client) -> Result<Vec<Value>, ClusterError> {
    let mut objects = listed(client, &GroupVersionKind::gvk("", "v1", "Node"), "nodes").await?;
    for (kind, plural) in [("ResourceSlice", "resourceslices"), ("DeviceClass", "deviceclasses")] {
        match listed(client, &GroupVersionKind::gvk("resource.k8s.io", "v1", kind), plural).await {
            // The cluster does not serve this version of the API.
            Err(error) if error.is_not_found() => {}
            found => objects.extend(found?),
        }
    }
    Ok(objects)
}

async fn listed(client: &Client, kind: &GroupVersionKind, plural: &str) -> Result<Vec<Value>, ClusterError> {
    let resource = ApiResource::from_gvk_with_plural(kind, plural);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let failed = |source| match source {
        kube::Error::Api(status) if status.code == 403 => {
            ClusterError::Rights { missing: vec![format!("list {plural}")] }
        }
        source => ClusterError::api(format!("list {plural}"), source),
    };
    let mut objects = Vec::new();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&params).await.map_err(failed)?;
        let next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
        for object in page {
            // The elements of a list have neither `apiVersion` nor `kind`.
            let mut object = json!(object);
            object["apiVersion"] = resource.api_version.as_str().into();
            object["kind"] = resource.kind.as_str().into();
            objects.push(object);
        }
        match next {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::testing::api_server;

    /// A server with two Nodes in two pages, and the log of its requests.
    fn server(has_devices: bool, rejects: bool) -> (Client, Arc<Mutex<Vec<String>>>) {
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = requests.clone();
        let client = api_server(move |method, uri, _| {
            let (path, query) = (uri.path(), uri.query().unwrap_or_default());
            seen.lock().unwrap().push(format!("{method} {path}"));
            let node = |name: &str| json!({"metadata": {"name": name}, "status": {"capacity": {"cpu": "8"}}});
            let list = |items: Value, next: &str| {
                let metadata = json!({"continue": next});
                (200, json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": items}))
            };
            let failure = json!({"kind": "Status", "status": "Failure", "message": "no"});
            let status = |code: u16, reason: &str| {
                let mut body = failure.clone();
                body["code"] = code.into();
                body["reason"] = reason.into();
                (code, body)
            };
            match path {
                _ if rejects => status(403, "Forbidden"),
                "/api/v1/nodes" if query.contains("continue=more") => list(json!([node("b")]), ""),
                "/api/v1/nodes" => list(json!([node("a")]), "more"),
                "/apis/resource.k8s.io/v1/resourceslices" if has_devices => {
                    list(json!([{"metadata": {"name": "s"}, "spec": {"driver": "d"}}]), "")
                }
                "/apis/resource.k8s.io/v1/deviceclasses" if has_devices => list(json!([]), ""),
                _ => status(404, "NotFound"),
            }
        });
        (client, requests)
    }

    #[tokio::test]
    async fn a_cluster_is_read_page_by_page_and_never_written() {
        for (has_devices, wanted) in
            [(true, vec!["Node a", "Node b", "ResourceSlice s"]), (false, vec!["Node a", "Node b"])]
        {
            let (client, requests) = server(has_devices, false);
            let found = objects(&client).await.unwrap();
            let name = |object: &Value| {
                format!("{} {}", object["kind"], object["metadata"]["name"]).replace('"', "")
            };
            assert_eq!(found.iter().map(name).collect::<Vec<_>>(), wanted);
            assert_eq!(found[0]["status"]["capacity"]["cpu"], "8");
            let requests = requests.lock().unwrap();
            assert_eq!(requests.len(), 4);
            assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
        }
    }

    #[tokio::test]
    async fn a_missing_right_is_named() {
        let (client, _) = server(true, true);
        let error = objects(&client).await.unwrap_err().to_string();
        assert!(error.contains("may not list nodes"), "{error}");
    }
}
