//! The permissions of the service account with which an init container reads pods.

use conformance_cluster::{ClusterError, rights_of_all};
use conformance_facts::startup::token_of;
use conformance_history::MarkName;
use http::Method;
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::REACTION;

const SERVICE_ACCOUNT: &str = "kubernetes.io/service-account.name";

impl TestContext {
    /// Finds the service account of an init container's token, and records `{"account", "rules", "elsewhere",
    /// "ofAll"}`: its rules in the case's namespace and in `default`, and the rules of every service account.
    pub async fn record_init_rights(&self, mark: MarkName) -> Result<(), Stop> {
        let refused = |reason: &str| Stop::Refused {
            action: "find the service account of an init container".into(),
            reason: reason.into(),
        };
        let token = self.look(|live| live.pods().find_map(|pod| token_of(pod.0).map(str::to_owned)));
        let token = token.ok_or_else(|| refused("no pod mounts a token of the init container"))?;
        let secret = self.secret(&token).await?;
        let account = secret["metadata"]["annotations"][SERVICE_ACCOUNT].as_str();
        let account = account.ok_or_else(|| refused("its Secret names no service account"))?.to_owned();
        let user = format!("system:serviceaccount:{}:{account}", self.namespace);
        let rules = self.rules_of(&user, &self.namespace).await?;
        let elsewhere = self.rules_of(&user, "default").await?;
        // In an existing cluster the operator was installed before the run, so no rules were recorded then.
        let of_all = match self.test_cluster.cluster.rights_of_all() {
            Some(read) => read.to_vec(),
            None => rights_of_all::read(&self.test_cluster.client).await?,
        };
        let detail = json!({"account": account, "rules": rules, "elsewhere": elsewhere, "ofAll": of_all});
        self.mark(mark, detail);
        Ok(())
    }

    async fn rules_of(&self, user: &str, namespace: &str) -> Result<Value, Stop> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        let answer = self.raw(Method::POST, path, &review, Some(user)).await?;
        Ok(answer["status"]["resourceRules"].clone())
    }

    /// Waits for the Secret, because the operator may create it after the pods that mount it.
    async fn secret(&self, name: &str) -> Result<Value, Stop> {
        let path = format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace);
        let created = Awaited::demanded_by("START-03", format!("Secret {name} created"));
        self.poll_until(created, REACTION, || async {
            match self.raw(Method::GET, &path, &Value::Null, None).await {
                Err(Stop::Cluster(error)) if error.is_not_found() => Ok(None),
                answer => answer.map(Some),
            }
        })
        .await
    }

    async fn raw(&self, method: Method, path: &str, body: &Value, user: Option<&str>) -> Result<Value, Stop> {
        let action = format!("{method} {path}");
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json");
        if let Some(user) = user {
            request = request.header("Impersonate-User", user);
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = request.body(body);
        let request = request.map_err(|e| Stop::Refused { action: action.clone(), reason: e.to_string() })?;
        let answer = self.test_cluster.client.request::<Value>(request).await;
        Ok(answer.map_err(ClusterError::during(action))?)
    }
}
