//! Checks that an operator's webhooks answer over TLS. Like the API server, it trusts only the cluster's CA.

use std::time::{Duration, Instant};

use conformance_install::operator::{Operator, OperatorHome};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::ClusterError;
use crate::plain_http::NoAnswer;

/// How long a ready operator may take to serve its webhooks.
const LIMIT: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(5);

/// Retries until all webhooks answer or the operator `has_exited`. Returns the first silent webhook.
pub(super) async fn silent_webhook(
    operator: &Operator,
    home: &OperatorHome,
    has_exited: impl Fn() -> bool,
) -> Result<Option<(String, NoAnswer)>, ClusterError> {
    let webhooks = &operator.description.webhooks;
    if webhooks.is_empty() {
        return Ok(None);
    }
    let client = client(home).await?;
    let begin = Instant::now();
    for webhook in webhooks {
        while let Err(last) = probe(&client, &webhook.path).await {
            if begin.elapsed() > LIMIT || has_exited() {
                return Ok(Some((format!("https://127.0.0.1:{}{}", home.webhook, webhook.path), last)));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(None)
}

/// Sends a request without an AdmissionReview, so every response except 404 counts as an answer.
async fn probe(client: &Client, path: &str) -> Result<(), NoAnswer> {
    let request = http::Request::post(path).body(Body::empty())?;
    match tokio::time::timeout(ANSWER, client.send(request)).await {
        Ok(Ok(answer)) if answer.status() == http::StatusCode::NOT_FOUND => Err(NoAnswer::NotServed),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(NoAnswer::Failed(Box::new(error))),
        Err(_) => Err(NoAnswer::Timeout),
    }
}

async fn client(home: &OperatorHome) -> Result<Client, ClusterError> {
    let unusable = |reason: String| ClusterError::Certificates(reason);
    let bundle = k8s_openapi::ByteString(home.ca_bundle.clone().into_bytes());
    let file: Kubeconfig = serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "webhooks",
        "clusters": [{"name": "webhooks", "cluster": {
            "server": format!("https://127.0.0.1:{}", home.webhook), "certificate-authority-data": bundle}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "webhooks", "context": {"cluster": "webhooks", "user": "nobody"}}],
    }))
    .map_err(|error| unusable(error.to_string()))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(error.to_string()))?;
    Client::try_from(config).map_err(ClusterError::during("connect"))
}
