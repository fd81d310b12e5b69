//! Measures the KAI plugin's time per request, sent like the API server's requests, on a separate connection.

use std::time::{Duration, Instant};

use conformance_cluster::{ClusterError, deploy};
use conformance_history::text;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use crate::Failure;

/// The webhook of TrainJobs, which reads a runtime.
const WEBHOOK: &str = "patch.trainjob.trainer-kai-plugin.kai.scheduler";
const REQUESTS: usize = 200;
/// Long enough for the program to be idle between requests.
const PAUSE: Duration = Duration::from_millis(10);

/// The time of each request for a TrainJob of a runtime with a queue, shortest first; `None` if the plugin
/// does not run. The request that opens the connection is left out. A response without the queue is an error.
pub(super) async fn requests(client: &Client) -> Result<Option<Vec<Duration>>, Failure> {
    let Some((webhook, path)) = webhook(client).await? else { return Ok(None) };
    deploy::create_unless_there(client, &runtime()).await?;
    let mut took = Vec::new();
    for _ in 0..=REQUESTS {
        let begin = Instant::now();
        let answer: Value = webhook.request(request(&path)?).await.map_err(failed)?;
        took.push(begin.elapsed());
        if !answer["response"]["patch"].is_string() {
            return Err(Failure::Infrastructure(format!(
                "{WEBHOOK}: the response sets no queue for the TrainJob: {answer}"
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
    took.remove(0);
    took.sort_unstable();
    Ok(Some(took))
}

async fn webhook(client: &Client) -> Result<Option<(Client, String)>, Failure> {
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration");
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let all = all.list(&ListParams::default()).await.map_err(failed)?;
    let webhooks = all.iter().filter_map(|object| object.data["webhooks"].as_array()).flatten();
    let Some(webhook) = webhooks.into_iter().find(|webhook| webhook["name"] == WEBHOOK) else {
        return Ok(None);
    };
    let url = text(&webhook["clientConfig"]["url"]);
    // Local processes are reached at `https://127.0.0.1:PORT/PATH`.
    let (server, path) = url.match_indices('/').nth(2).map_or((url, ""), |(end, _)| url.split_at(end));
    let server =
        server.parse().map_err(|error| Failure::Infrastructure(format!("{WEBHOOK}: {url:?}: {error}")))?;
    let path = path.to_owned();
    let mut config = Config::new(server);
    // Verifying the certificate is not part of the measurement.
    config.accept_invalid_certs = true;
    Ok(Some((Client::try_from(config).map_err(failed)?, path)))
}

fn request(path: &str) -> Result<http::Request<Vec<u8>>, Failure> {
    let train_job = json!({"metadata": {"name": "bench"}, "spec": {
        "runtimeRef": {"kind": "TrainingRuntime", "name": "bench-plugin"}}});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "bench", "operation": "CREATE", "namespace": "default", "name": "bench",
        "resource": {"resource": "trainjobs"}, "object": train_job}});
    http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes())
        .map_err(|error| failed(kube::Error::HttpError(error)))
}

fn runtime() -> Value {
    let containers = json!([{"name": "node", "image": "registry.k8s.io/pause:3.10"}]);
    let pod = json!({"spec": {"schedulerName": "kai-scheduler", "containers": containers}});
    let job = json!({"name": "node", "template": {"spec": {"template": pod}}});
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
        "metadata": {"name": "bench-plugin", "namespace": "default"},
        "spec": {
            "podGroupPolicy": {"kaiScheduler": {"queue": "bench"}},
            "template": {"spec": {"replicatedJobs": [job]}},
        },
    })
}

fn failed(source: kube::Error) -> Failure {
    ClusterError::api(format!("calling {WEBHOOK}"), source).into()
}
