use conformance_cluster::{ClusterError, deploy};
use conformance_history::SharedMark;
use http::Method;
use serde_json::{Value, json};

use super::limits::CLEANUP;
use crate::context::{Awaited, Stop, TestContext};

impl TestContext {
    /// Deletes a CRD. Returns it in a form that can be applied again.
    pub async fn delete_crd(&self, name: &str) -> Result<Value, Stop> {
        let action = format!("delete CRD {name}");
        let Some(crd) = self.crd(Method::GET, name).await? else {
            return Err(Stop::Refused { action, reason: "the CRD does not exist".into() });
        };
        self.mark(SharedMark::CrdDeleted, json!({"name": name}));
        self.crd(Method::DELETE, name).await?;
        let deleted = Awaited::of_harness(format!("CRD {name} deleted"));
        self.poll_until(deleted, CLEANUP, || async {
            Ok(self.crd(Method::GET, name).await?.is_none().then_some(()))
        })
        .await?;
        Ok(bare(&crd))
    }

    pub async fn apply_crd(&self, crd: &Value) -> Result<(), Stop> {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        deploy::apply(&self.test_cluster.client, crd).await?;
        deploy::established(&self.test_cluster.client, name).await?;
        self.mark(SharedMark::CrdRestored, json!({"name": name}));
        Ok(())
    }

    async fn crd(&self, method: Method, name: &str) -> Result<Option<Value>, Stop> {
        let action = format!("{method} CRD {name}");
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let request = http::Request::builder().method(method).uri(path).body(Vec::new());
        let request = request.map_err(|e| Stop::Refused { action: action.clone(), reason: e.to_string() })?;
        match self.test_cluster.client.request::<Value>(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(source) => Err(ClusterError::api(action, source).into()),
        }
    }
}

fn bare(crd: &Value) -> Value {
    let kept = ["name", "labels", "annotations"].into_iter().filter(|key| !crd["metadata"][key].is_null());
    let metadata: serde_json::Map<_, _> =
        kept.map(|key| (key.to_owned(), crd["metadata"][key].clone())).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": metadata, "spec": crd["spec"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_api_server_adds_to_a_crd_are_not_applied() {
        let crd = json!({"metadata": {"name": "a.b", "uid": "u", "resourceVersion": "7", "labels": {"k": "v"}},
            "spec": {"group": "b"}, "status": {"storedVersions": ["v1"]}});
        let bare = bare(&crd);
        assert_eq!(bare["metadata"], json!({"name": "a.b", "labels": {"k": "v"}}));
        assert_eq!((&bare["spec"], bare.get("status")), (&json!({"group": "b"}), None));
    }
}
