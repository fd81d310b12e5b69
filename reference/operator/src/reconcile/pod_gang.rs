//! Gang resources exist before `Initialized` is True, and gates are removed after that (GANG-07). Once every
//! pod exists, `podReferences` follow the live pods. After each such write, the backend is called again.

use std::sync::Arc;
use std::time::Duration;

use grove_api::PodGang;
use grove_api::names::{CONDITION_INITIALIZED, REASON_PODS_CREATED, REASON_PODS_CREATION_PENDING};
use kube::ResourceExt;
use serde_json::json;

use crate::backend::{BackendError, GangState, SchedulerBackend, Served};
use crate::cache::gang_view::GangView;
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::events::{REASON_BACKEND_DISABLED, REASON_SYNC_FAILED};
use crate::context::fault_injection::{create_foreign_resource, delete_workload_of_old, touch_workload};
use crate::context::{Context, writes};
use crate::faults::{self, fault};
use crate::plan::conditions::{self, ConditionUpdate};
use crate::status::pod_gang::current_status;

const REASON_RESOURCES_DRIFTED: &str = "GangResourcesDrifted";
const ANNOTATION_RECONCILED_AT: &str = "grove.io/reconciled-at";

pub(crate) async fn reconcile(
    pod_gang: Arc<PodGang>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if context.caches.is_abandoned(&pod_gang) {
        return Ok(Action::await_change());
    }
    let gang = Gang { context: &context, pod_gang: &pod_gang };
    match context.serve(&pod_gang) {
        Served::By(backend) => gang.reconcile(&*backend).await?,
        Served::Disabled(name) => {
            let note = format!(
                "no profile enables scheduler backend {name:?}: the operator leaves the gang unchanged"
            );
            context.events.warn(&*pod_gang, REASON_BACKEND_DISABLED, &note).await;
        }
    }
    if fault!("foreign-resource") {
        create_foreign_resource(&context.client, &pod_gang).await;
    }
    if fault!("touch-gang-resources") {
        touch_workload(&context.client, &pod_gang).await;
    }
    if fault!("recreate-gang-resources") {
        delete_workload_of_old(&context.client, &pod_gang).await;
    }
    if fault!("write-on-reconcile") { gang.write_every_second().await } else { Ok(Action::await_change()) }
}

struct Gang<'a> {
    context: &'a Context,
    pod_gang: &'a PodGang,
}

impl Gang<'_> {
    async fn reconcile(&self, backend: &dyn SchedulerBackend) -> Result<(), ReconcileError> {
        let conditions =
            self.pod_gang.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        if !conditions.iter().any(|condition| condition.type_ == CONDITION_INITIALIZED) {
            let (pending, synced) = tokio::join!(self.set_initialized(false), self.sync(backend));
            // The watch event of the changed status triggers the next step.
            return pending.and(synced.map(drop));
        }
        if !self.sync(backend).await? {
            return Ok(());
        }
        let initialized = conditions::is_true(conditions, CONDITION_INITIALIZED);
        let view = GangView::of(&self.context.caches, self.pod_gang);
        let complete = view.is_complete();
        if !initialized && !complete {
            return Ok(());
        }
        let podgroups = view.referenced(self.pod_gang);
        if podgroups != self.pod_gang.spec.podgroups {
            let version = &self.pod_gang.metadata.resource_version;
            let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"podgroups": podgroups}});
            writes::patch(self.context, self.pod_gang, &patch).await?;
            return Ok(());
        }
        match initialized {
            true => Ok(()),
            false => self.set_initialized(true).await,
        }
    }

    /// Syncs the gang resources. Returns false if the PodGang must change before another attempt.
    async fn sync(&self, backend: &dyn SchedulerBackend) -> Result<bool, ReconcileError> {
        let Context { caches, synced, events, client, .. } = self.context;
        // The cause may be the deletion of the PodGang, which another watch reports later.
        if synced.has_deleted_resource(self.pod_gang) && !writes::still_exists(client, self.pod_gang).await? {
            return Ok(false);
        }
        if fault!("trusts-former-resources")
            && self.existed_at_start()
            && !synced.has_deleted_resource(self.pod_gang)
        {
            self.record_synced();
            return Ok(true);
        }
        let existing = caches.gang_resources_of(self.pod_gang);
        let view = GangView::of(caches, self.pod_gang);
        let (pods, former) = (view.pods(), view.former());
        let topology = caches.topology_of(self.pod_gang);
        let topology = topology.as_deref();
        let gang = GangState { pod_gang: self.pod_gang, pods: &pods, former: &former, topology };
        match backend.sync_pod_gang(&gang, &existing).await {
            Ok(found) => {
                if events.last_warning(self.pod_gang, REASON_SYNC_FAILED).is_some() {
                    events.reset_warning(self.pod_gang, REASON_SYNC_FAILED);
                    self.wake_status();
                }
                match found.warnings.is_empty() {
                    true => events.reset_warning(self.pod_gang, REASON_RESOURCES_DRIFTED),
                    false => {
                        events.warn(self.pod_gang, REASON_RESOURCES_DRIFTED, &found.warnings.join("; ")).await
                    }
                }
                self.record_synced();
                Ok(true)
            }
            Err(error) => {
                match error {
                    BackendError::HeldByPods(_) if synced.record_held(self.pod_gang) => {
                        self.wake_pod_cliques()
                    }
                    BackendError::HeldByPods(_) => {}
                    _ => synced.forget(&self.pod_gang.uid().unwrap_or_default()),
                }
                let error = ReconcileError::from(error);
                if !error.is_waiting() && !error.is_namespace_gone() {
                    events.warn(self.pod_gang, REASON_SYNC_FAILED, &error.to_string()).await;
                    self.wake_status();
                }
                match error {
                    ReconcileError::Backend(BackendError::Refused(_)) => Ok(false),
                    error => Err(error),
                }
            }
        }
    }

    fn record_synced(&self) {
        if self.context.synced.record(self.pod_gang) {
            self.wake_status();
            self.wake_pod_cliques();
        }
    }

    fn existed_at_start(&self) -> bool {
        let created = self.pod_gang.metadata.creation_timestamp.as_ref();
        created.is_some_and(|created| created.0 < *faults::STARTED)
    }

    fn wake_status(&self) {
        let namespace = self.pod_gang.namespace();
        self.context.queues.pod_gang_status.wake(namespace.as_deref(), &self.pod_gang.name_any());
    }

    fn wake_pod_cliques(&self) {
        let namespace = self.pod_gang.namespace();
        for podgroup in &self.pod_gang.spec.podgroups {
            self.context.queues.pod_cliques.wake(namespace.as_deref(), &podgroup.name);
        }
    }

    /// Patches only the version that was read, and keeps the conditions of other writers.
    async fn set_initialized(&self, initialized: bool) -> Result<(), ReconcileError> {
        let verdict = match initialized {
            true => ConditionUpdate {
                type_: CONDITION_INITIALIZED,
                status: Some(true),
                reason: REASON_PODS_CREATED.into(),
                message: "every pod of the PodGang has been created".to_owned(),
            },
            false => ConditionUpdate {
                type_: CONDITION_INITIALIZED,
                status: Some(false),
                reason: REASON_PODS_CREATION_PENDING.into(),
                message: "not every pod of the PodGang has been created yet".to_owned(),
            },
        };
        let status = match initialized {
            true => current_status(self.context, self.pod_gang),
            false => self.pod_gang.status.clone().unwrap_or_default(),
        };
        let conditions = conditions::with(status.conditions, verdict, self.pod_gang.metadata.generation);
        let patch = json!({
            "metadata": {"resourceVersion": self.pod_gang.metadata.resource_version},
            "status": {"phase": status.phase, "conditions": conditions},
        });
        writes::patch_status(self.context, self.pod_gang, &patch).await
    }

    async fn write_every_second(&self) -> Result<Action, ReconcileError> {
        let now = jiff::Timestamp::now().as_second().to_string();
        if self.pod_gang.annotations().get(ANNOTATION_RECONCILED_AT) != Some(&now) {
            let patch = json!({"metadata": {"annotations": {ANNOTATION_RECONCILED_AT: now}}});
            writes::patch(self.context, self.pod_gang, &patch).await?;
        }
        Ok(Action::requeue(Duration::from_secs(1)))
    }
}

#[cfg(test)]
#[path = "pod_gang_tests.rs"]
mod tests;
