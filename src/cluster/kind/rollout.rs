use std::time::Duration;

use conformance_programs::ProgramError;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::ClusterError;

/// How long pods of loaded images may take to become ready.
pub(super) const ROLLOUT: Duration = Duration::from_secs(90);
/// How long pods of a chart may take to become ready after helm returns, including image pulls.
pub(super) const CHART_ROLLOUT: Duration = Duration::from_secs(300);

/// Adds the status of the namespace's pods to an error of Helm, because Helm reports only a timeout.
pub(super) async fn with_status_of_pods<T>(
    result: Result<T, ProgramError>,
    client: &Client,
    namespace: &str,
) -> Result<T, ProgramError> {
    match result {
        Err(ProgramError::Command { command, reason }) => {
            let reason = format!("{reason}\n{}", status_of_pods(client, namespace).await);
            Err(ProgramError::Command { command, reason })
        }
        other => other,
    }
}

/// Waits until every replica is ready with the current template. A timeout reports the status of the pods.
pub(super) async fn deployment_ready(
    client: &Client,
    namespace: &str,
    name: &str,
    limit: Duration,
) -> Result<(), ClusterError> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let ready = |found: Option<&Deployment>| {
        found.is_some_and(|found| {
            let wanted = found.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
            found.status.as_ref().is_some_and(|status| {
                status.observed_generation >= found.metadata.generation
                    && status.updated_replicas == Some(wanted)
                    && status.replicas == Some(wanted)
                    && status.available_replicas == Some(wanted)
            })
        })
    };
    let wait = tokio::time::timeout(limit, await_condition(deployments, name, ready)).await;
    match wait {
        Ok(Ok(_)) => Ok(()),
        _ => Err(not_rolled_out(client, namespace, format!("Deployment {name}"), limit).await),
    }
}

pub(super) async fn daemon_set_ready(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(), ClusterError> {
    let daemon_sets: Api<DaemonSet> = Api::namespaced(client.clone(), namespace);
    let ready = |found: Option<&DaemonSet>| {
        found.and_then(|found| found.status.as_ref()).is_some_and(|status| {
            status.desired_number_scheduled > 0 && status.number_ready == status.desired_number_scheduled
        })
    };
    let wait = tokio::time::timeout(ROLLOUT, await_condition(daemon_sets, name, ready)).await;
    match wait {
        Ok(Ok(_)) => Ok(()),
        _ => Err(not_rolled_out(client, namespace, format!("DaemonSet {name}"), ROLLOUT).await),
    }
}

async fn not_rolled_out(client: &Client, namespace: &str, what: String, limit: Duration) -> ClusterError {
    let last = status_of_pods(client, namespace).await;
    ClusterError::NotReady { what, seconds: limit.as_secs(), last }
}

/// Returns the status of the namespace's pods that do not run, each with the end of its log.
async fn status_of_pods(client: &Client, namespace: &str) -> String {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut lines = Vec::new();
    if let Ok(found) = pods.list(&ListParams::default()).await {
        for pod in &found {
            let object = serde_json::to_value(pod).unwrap_or_default();
            let logs = kube::api::LogParams { tail_lines: Some(10), ..Default::default() };
            let log = pods.logs(&pod.name_any(), &logs).await.unwrap_or_default();
            if !log.is_empty() || object["status"]["phase"] != "Running" {
                lines.push(format!("{}\n{log}", not_ready(&object)));
            }
        }
    }
    lines.join("\n")
}

pub(super) fn not_ready(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let messages = conditions
        .filter(|condition| condition["status"] != "True")
        .filter_map(|condition| condition["message"].as_str());
    format!("{name}: {}", messages.collect::<Vec<_>>().join("; "))
}
