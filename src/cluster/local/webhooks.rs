//! Checks that an operator's webhooks answer. Like the API server, it uses TLS and trusts only the cluster's
//! CA.

use std::time::{Duration, Instant};

use conformance_install::operator::{Operator, OperatorHome};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::ClusterError;

/// How long a ready operator may take to serve its webhooks.
const LIMIT: Duration = Duration::from_secs(15);
/// Timeout of one request.
const ANSWER: Duration = Duration::from_secs(5);

/// Sends requests to each webhook of an operator until it answers. Returns the first that does not, and its
/// last response. `gave_up` ends the wait.
pub(super) async fn silent_webhook(
    operator: &Operator,
    place: &OperatorHome,
    gave_up: impl Fn() -> bool,
) -> Result<Option<(String, String)>, ClusterError> {
    let webhooks = &operator.description.webhooks;
    if webhooks.is_empty() {
        return Ok(None);
    }
    let client = client(place).await?;
    let begin = Instant::now();
    for webhook in webhooks {
        while let Err(last) = ask(&client, &webhook.path).await {
            if begin.elapsed() > LIMIT || gave_up() {
                return Ok(Some((format!("https://127.0.0.1:{}{}", place.webhook, webhook.path), last)));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(None)
}

/// The request is not an AdmissionReview, so every response except 404 counts as an answer.
async fn ask(client: &Client, path: &str) -> Result<(), String> {
    let request = http::Request::post(path).body(Body::empty()).map_err(|error| error.to_string())?;
    match tokio::time::timeout(ANSWER, client.send(request)).await {
        Ok(Ok(answer)) if answer.status() == http::StatusCode::NOT_FOUND => {
            Err("404: nothing is served at that path".into())
        }
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer".into()),
    }
}

async fn client(place: &OperatorHome) -> Result<Client, ClusterError> {
    let unusable = |reason: String| ClusterError::Certificates(reason);
    let bundle = k8s_openapi::ByteString(place.ca_bundle.clone().into_bytes());
    let file: Kubeconfig = serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "webhooks",
        "clusters": [{"name": "webhooks", "cluster": {
            "server": format!("https://127.0.0.1:{}", place.webhook), "certificate-authority-data": bundle}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "webhooks", "context": {"cluster": "webhooks", "user": "nobody"}}],
    }))
    .map_err(|error| unusable(error.to_string()))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(error.to_string()))?;
    Client::try_from(config).map_err(|source| ClusterError::api("connect", source))
}
