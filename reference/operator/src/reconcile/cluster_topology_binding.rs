//! Syncs the topology resources of a ClusterTopologyBinding. A resource that it references has another owner
//! and is only compared (TOPO-09). A backend whose scheduler is not installed does not block the others.

use std::sync::Arc;
use std::time::Duration;

use grove_api::{ClusterTopologyBinding, ClusterTopologyBindingStatus};
use serde_json::json;

use crate::backend::{BackendError, SchedulerBackend, TopologyBackend, TopologyState, TopologyView};
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};
use crate::plan::json_diff::merge_patch;
use crate::status::cluster_topology_binding::{Report, SyncState, drift, status};

const REASON_DRIFT_DETECTED: &str = "TopologyDriftDetected";
/// How soon to check again whether a scheduler's API is installed, because no event reports it.
const NOT_READY_PAUSE: Duration = Duration::from_secs(5);

/// Returns the last error for which a retry may help.
pub(crate) async fn reconcile(
    binding: Arc<ClusterTopologyBinding>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if binding.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let (reports, failure) = survey(&binding, &context).await;
    let status = status(&binding, &reports, failure.is_none());
    write(&binding, &status, &context).await?;
    match drift(&status) {
        Some(message) => context.events.warn(&*binding, REASON_DRIFT_DETECTED, message).await,
        None => context.events.reset_warning(&*binding, REASON_DRIFT_DETECTED),
    }
    match failure {
        Some(failure) => Err(failure),
        None if reports.iter().any(|report| report.state == SyncState::NotReady) => {
            Ok(Action::requeue(NOT_READY_PAUSE))
        }
        None => Ok(Action::await_change()),
    }
}

async fn survey(
    binding: &ClusterTopologyBinding,
    context: &Context,
) -> (Vec<Report>, Option<ReconcileError>) {
    let caches = &context.caches;
    let bindings = caches.topologies.store.state();
    let nodes = caches.nodes.as_ref().map(|nodes| nodes.store.state()).unwrap_or_default();
    let (mut reports, mut failure) = (Vec::new(), None);
    for backend in context.registry.iter() {
        let Some(topology) = backend.topology() else { continue };
        let existing = caches.topology_resources_of(&topology.topology_resources());
        let cluster = TopologyView { bindings: &bindings, nodes: &nodes, existing: &existing };
        let state = state(&**backend, topology, binding, &cluster).await;
        reports.push(Report::of_result(binding, backend.name(), &state, &existing));
        if let Err(error) = state
            && !matches!(error, BackendError::NotReady { .. } | BackendError::Refused(_))
        {
            failure = Some(error.into());
        }
    }
    let is_surveyed = |scheduler: &str| reports.iter().any(|report| report.scheduler == scheduler);
    let bound = binding.spec.scheduler_topology_bindings.iter();
    let unknown: Vec<_> = bound.filter(|bound| !is_surveyed(&bound.scheduler_name)).collect();
    reports.extend(unknown.into_iter().map(Report::unavailable));
    (reports, failure)
}

async fn state(
    backend: &dyn SchedulerBackend,
    topology: &dyn TopologyBackend,
    binding: &ClusterTopologyBinding,
    cluster: &TopologyView<'_>,
) -> Result<TopologyState, BackendError> {
    backend.ready().await?;
    match binding.spec.reference(backend.name()) {
        Some(reference) => topology.compare_topology(binding, reference, cluster).await,
        None => topology.sync_topology(binding, cluster).await,
    }
}

async fn write(
    binding: &ClusterTopologyBinding,
    status: &ClusterTopologyBindingStatus,
    context: &Context,
) -> Result<(), ReconcileError> {
    let before = serde_json::to_value(binding.status.clone().unwrap_or_default())?;
    match merge_patch(&before, &serde_json::to_value(status)?) {
        Some(patch) => {
            writes::patch_cluster_status(&context.client, binding, &json!({ "status": patch })).await
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "cluster_topology_binding_tests.rs"]
mod tests;
