//! [`SchedulerBackend`] for kube-scheduler: puts the parts of this module together.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};

use super::config::DefaultSchedulerConfig;
use super::detection::{Detection, Support};
use super::scope::ANNOTATION_PINNED_SCOPE;
use super::{GangScope, admission, plan, release, sync, workload_api};
use crate::api::names::LABEL_EXTERNAL_WORKLOAD;
use crate::api::{PodCliqueSet, PodGang, PodGangTopologyConstraint};
use crate::backend::{
    BackendError, DEFAULT_SCHEDULER, GangState, Membership, Release, SchedulerBackend, Synced, Validation,
    affinity,
};

/// kube-scheduler.
pub struct DefaultScheduler {
    client: Client,
    config: DefaultSchedulerConfig,
    detection: Detection,
}

impl DefaultScheduler {
    /// The backend with its profile's config. `namespace` is one that exists: the API is probed by dry runs
    /// in it.
    pub fn new(client: Client, config: DefaultSchedulerConfig, namespace: impl Into<String>) -> Self {
        let gates = config.scheduler_feature_gates.clone();
        Self { detection: Detection::new(client.clone(), namespace.into(), gates), client, config }
    }

    /// Whether this PodGang gets gang resources: not in pass-through (KUBE-13), nor if its pods brought their
    /// own (KUBE-15).
    fn makes_gang(&self, pod_gang: &PodGang) -> bool {
        self.config.gang_scheduling && !pod_gang.labels().contains_key(LABEL_EXTERNAL_WORKLOAD)
    }

    fn scope(&self, pod_gang: &PodGang) -> GangScope {
        GangScope::of(pod_gang, self.config.gang_scope)
    }

    async fn support(&self) -> Support {
        match self.config.gang_scheduling {
            true => self.detection.support().await,
            false => Support { gangs: Ok(()), topology: Ok(()) },
        }
    }
}

#[async_trait]
impl SchedulerBackend for DefaultScheduler {
    fn name(&self) -> &str {
        DEFAULT_SCHEDULER
    }

    async fn init(&self) -> Result<(), BackendError> {
        let support = self.support().await;
        match (&support.gangs, &support.topology) {
            (Err(reason), _) => tracing::warn!(backend = self.name(), %reason, "gangs cannot be scheduled"),
            (Ok(()), Err(reason)) => {
                tracing::warn!(backend = self.name(), %reason, "no topology constraints")
            }
            (Ok(()), Ok(())) => tracing::info!(
                backend = self.name(),
                gang_scheduling = self.config.gang_scheduling,
                gang_scope = self.config.gang_scope.as_str(),
                "ready"
            ),
        }
        Ok(())
    }

    async fn readiness(&self) -> Result<(), String> {
        self.support().await.gangs
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        admission::validate(&self.config, pcs, old, &self.support().await)
    }

    fn prepare_pod_gang(&self, pod_gang: &mut PodGang, pcs: &PodCliqueSet) {
        if !self.config.gang_scheduling {
            return;
        }
        if admission::is_external(&pcs.spec.template) {
            pod_gang.labels_mut().insert(LABEL_EXTERNAL_WORKLOAD.to_owned(), "true".to_owned());
            return;
        }
        let scope = self.scope(pod_gang).as_str().to_owned();
        pod_gang.annotations_mut().entry(ANNOTATION_PINNED_SCOPE.to_owned()).or_insert(scope);
    }

    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError> {
        let Some(spec) = pod.data.get_mut("spec").and_then(Value::as_object_mut) else {
            return Err(BackendError::Refused(format!("a pod of {} has no spec", member.pod_clique)));
        };
        spec.insert("schedulerName".to_owned(), json!(self.name()));
        if !self.makes_gang(member.pod_gang) {
            return Ok(());
        }
        let gang = member.pod_gang.name_any();
        let joins = self.scope(member.pod_gang).pod_group_of(
            &gang,
            member.pod_clique,
            member.pod_index,
            member.min_replicas(),
        );
        if let Some(pod_group) = joins {
            spec.insert("schedulingGroup".to_owned(), json!({ "podGroupName": pod_group }));
        }
        set_priority(spec, member.pod_gang);
        for key in required_keys(member) {
            affinity::require(spec, &affinity::exists(key)).map_err(|error| {
                BackendError::Refused(format!("affinity of the pods of {}: {error}", member.pod_clique))
            })?;
        }
        Ok(())
    }

    fn gang_resources(&self) -> Vec<ApiResource> {
        match self.config.gang_scheduling {
            true => vec![workload_api::workloads(), workload_api::pod_groups()],
            false => Vec::new(),
        }
    }

    async fn sync_pod_gang(
        &self,
        pod_gang: &PodGang,
        existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        if !self.makes_gang(pod_gang) {
            return Ok(Synced::default());
        }
        let plan = plan::plan(pod_gang, self.scope(pod_gang))?;
        let synced = sync::sync(&self.client, pod_gang, &plan, existing).await;
        if let Err(BackendError::Api { .. }) = &synced
            && let Err(reason) = self.readiness().await
        {
            // Say that the API is missing rather than that a path was not found.
            return Err(BackendError::NotReady { backend: self.name().to_owned(), reason });
        }
        synced
    }

    async fn release_pod(&self, pod: &Pod, gang: &GangState<'_>) -> Result<Release, BackendError> {
        if !self.makes_gang(gang.pod_gang) || release::is_member(pod) {
            return Ok(Release::Now(Vec::new()));
        }
        if !release::is_surplus(pod, gang.pod_gang, self.scope(gang.pod_gang)) {
            // An API server with the gate off dropped the field. Without it the pod would run loose (KUBE-06).
            return Ok(match self.readiness().await {
                Ok(()) => Release::Replace("the API server dropped its spec.schedulingGroup".to_owned()),
                Err(reason) => Release::Hold(reason),
            });
        }
        release::surplus_pod(&self.client, gang).await
    }
}

/// kube-scheduler orders and preempts by the pods' own priority; that of a PodGroup counts only with the gate
/// WorkloadAwarePreemption. So the gang's priority goes into its pods, where they name none (GANG-13).
fn set_priority(spec: &mut Map<String, Value>, pod_gang: &PodGang) {
    let named = spec.get("priorityClassName").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if let (false, Some(class)) = (named, &pod_gang.spec.priority_class_name) {
        spec.insert("priorityClassName".to_owned(), json!(class));
    }
}

/// The node-label keys that pack this pod. Its nodes must have them, so that no pod of a constrained gang can
/// land outside every domain (TOPO-11).
fn required_keys<'a>(member: &Membership<'a>) -> impl Iterator<Item = &'a str> {
    let spec = &member.pod_gang.spec;
    let pod_clique = member.pod_clique;
    let podgroup = spec.podgroups.iter().find(move |podgroup| podgroup.name == pod_clique);
    let constraints =
        [spec.topology_constraint.as_ref(), podgroup.and_then(|p| p.topology_constraint.as_ref())];
    let required =
        |constraint: &'a PodGangTopologyConstraint| constraint.pack_constraint.as_ref()?.required.as_deref();
    constraints.into_iter().flatten().filter_map(required)
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
