use std::sync::Arc;

use async_trait::async_trait;
use grove_api::names::LABEL_EXTERNAL_WORKLOAD;
use grove_api::{PodCliqueSet, PodGang};
use kube::api::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::config::DefaultSchedulerConfig;
use super::detection::{Detection, Support, Unavailable};
use super::scope::ANNOTATION_PINNED_SCOPE;
use super::workload_api::{self, Version};
use super::{GangScope, admission, plan, release, sync};
use crate::backend::{
    BackendError, DEFAULT_SCHEDULER, GangState, Membership, Release, SchedulerBackend, Synced, Validation,
    idle, objects, pod_spec,
};
use crate::cache::observed_pod::Pod;

pub struct DefaultScheduler {
    client: Client,
    config: DefaultSchedulerConfig,
    detection: Detection,
}

impl DefaultScheduler {
    /// `namespace` must exist, because dry runs in this namespace probe the API.
    pub fn new(client: Client, config: DefaultSchedulerConfig, namespace: impl Into<String>) -> Self {
        let gates = config.scheduler_feature_gates.clone();
        Self { detection: Detection::new(client.clone(), namespace.into(), gates), client, config }
    }

    /// False if `gangScheduling` is off (KUBE-13), or if the pods already have a scheduling group (KUBE-15).
    fn creates_gang_resources(&self, pod_gang: &PodGang) -> bool {
        self.config.gang_scheduling && !pod_gang.labels().contains_key(LABEL_EXTERNAL_WORKLOAD)
    }

    fn scope(&self, pod_gang: &PodGang) -> GangScope {
        GangScope::of(pod_gang, self.config.gang_scope)
    }

    async fn support(&self) -> Support {
        match self.config.gang_scheduling {
            true => self.detection.support().await,
            false => {
                let composite = Err(Unavailable::Absent(
                    "gangScheduling of profile default-scheduler is false".to_owned(),
                ));
                Support { gangs: Ok(Version::V1Alpha2), topology: Ok(()), composite }
            }
        }
    }

    fn not_ready(&self, reason: impl Into<String>) -> BackendError {
        BackendError::NotReady { backend: self.name().to_owned(), reason: reason.into() }
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
            (Ok(_), Err(reason)) => {
                tracing::warn!(backend = self.name(), %reason, "topology constraints are refused")
            }
            (Ok(version), Ok(())) => {
                let scope = support.scope(self.config.gang_scope);
                let scope = scope.unwrap_or(self.config.gang_scope).as_str();
                let (gangs, api) = (self.config.gang_scheduling, version.as_str());
                tracing::info!(backend = self.name(), gang_scheduling = gangs, api, scope, "ready");
            }
        }
        Ok(())
    }

    async fn readiness(&self) -> Result<(), String> {
        self.support().await.gangs.map(drop)
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        admission::validate(&self.config, pcs, old, &self.support().await)
    }

    async fn prepare_pod_gang(&self, pod_gang: &mut PodGang, pcs: &PodCliqueSet) -> Result<(), BackendError> {
        if !self.config.gang_scheduling {
            return Ok(());
        }
        if admission::is_external(&pcs.spec.template) {
            pod_gang.labels_mut().insert(LABEL_EXTERNAL_WORKLOAD.to_owned(), "true".to_owned());
            return Ok(());
        }
        if pod_gang.annotations().contains_key(ANNOTATION_PINNED_SCOPE) {
            return Ok(());
        }
        let support = self.support().await;
        let scope = support.gangs.as_ref().map_err(Clone::clone);
        let scope = scope.and_then(|_| support.scope(self.scope(pod_gang)));
        let scope = scope.map_err(|reason| self.not_ready(reason))?;
        tracing::info!(pod_gang = pod_gang.name_any(), scope = scope.as_str(), "gang scope chosen");
        pod_gang.annotations_mut().insert(ANNOTATION_PINNED_SCOPE.to_owned(), scope.as_str().to_owned());
        Ok(())
    }

    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError> {
        let spec = pod_spec::set_scheduler_name(self.name(), pod, member)?;
        if !self.creates_gang_resources(member.pod_gang) {
            return Ok(());
        }
        let pod_group = self.scope(member.pod_gang).pod_group_of(
            member.pod_gang,
            member.pod_clique,
            member.pod_index,
            member.min_replicas(),
        );
        if let Some(pod_group) = pod_group {
            spec.insert("schedulingGroup".to_owned(), json!({ "podGroupName": pod_group }));
        }
        // kube-scheduler uses the priority of a PodGroup only with the gate WorkloadAwarePreemption.
        pod_spec::inherit_priority(spec, member.pod_gang);
        pod_spec::require_levels(spec, member)
    }

    fn gang_resources(&self) -> Vec<ApiResource> {
        match self.config.gang_scheduling {
            true => {
                let of_version = |version: Version| [version.workloads(), version.pod_groups()];
                let versions = Version::ALL.into_iter().flat_map(of_version);
                versions.chain([workload_api::composite_pod_groups()]).collect()
            }
            false => Vec::new(),
        }
    }

    async fn sync_pod_gang(
        &self,
        gang: &GangState<'_>,
        existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        let pod_gang = gang.pod_gang;
        if !self.creates_gang_resources(pod_gang) {
            return Ok(Synced::default());
        }
        let (scope, support) = (self.scope(pod_gang), self.support().await);
        let version = support.gangs.map_err(|reason| self.not_ready(reason))?;
        // A pinned tree never becomes flat, even if CompositePodGroup is no longer served (KUBE-09).
        if let (GangScope::Tree, Err(lack)) = (scope, &support.composite) {
            return Err(self.not_ready(lack.reason()));
        }
        // Plan templates for idle podgroups too, because an existing Workload cannot get another template.
        let plan = plan::plan(&idle::with_idle(pod_gang), scope, version)?;
        let synced = sync::sync(&self.client, gang, &plan, existing).await;
        if let Err(BackendError::Api { .. }) = &synced {
            self.ready().await?;
        }
        synced
    }

    fn refusal(&self, gang_resource: &DynamicObject) -> Option<String> {
        // Kubernetes 1.36 uses the first type, later versions the second.
        let types = ["PodGroupScheduled", "PodGroupInitiallyScheduled"];
        objects::condition_message(&gang_resource.data["status"]["conditions"], |condition| {
            condition["status"] == "False" && types.iter().any(|type_| condition["type"] == *type_)
        })
    }

    /// Returns the PodGroup's message about all domains of a required level. kube-scheduler tries each, but
    /// its message on a pod describes only the first (`schedule_one_podgroup.go`, 1.36.5 and 1.37.2).
    fn domains_tried(&self, gang_resource: &DynamicObject) -> Option<String> {
        let refusal = self.refusal(gang_resource)?;
        refusal.split_once(", first placement status").map(|(tried, _)| tried.to_owned())
    }

    /// In the other scopes, a PodGroup or tree for several podgroups has a fixed size.
    fn allows_idle(&self, pod_gang: &PodGang) -> bool {
        !self.creates_gang_resources(pod_gang) || self.scope(pod_gang) == GangScope::PodGroup
    }

    fn has_fixed_members(&self, pod_gang: &PodGang) -> bool {
        self.creates_gang_resources(pod_gang) && self.scope(pod_gang).leaves_surplus_out()
    }

    async fn release_pod(&self, pod: &Pod, gang: &GangState<'_>) -> Result<Release, BackendError> {
        if !self.creates_gang_resources(gang.pod_gang) {
            return Ok(Release::Now(Vec::new()));
        }
        if let Some(former) = release::former_pod_in_group(pod, gang) {
            return Ok(Release::Hold(format!(
                "kube-scheduler still counts the replaced pod {}",
                former.name_any()
            )));
        }
        let scope = self.scope(gang.pod_gang);
        if release::is_member(pod) {
            return release::member(&self.client, pod, gang, scope).await;
        }
        if !release::is_surplus(pod, gang.pod_gang, scope) {
            // Without its feature gate, an API server drops `spec.schedulingGroup`. kube-scheduler would
            // schedule the pod on its own (KUBE-16).
            return Ok(match self.readiness().await {
                Ok(()) => {
                    Release::Replace("the API server dropped spec.schedulingGroup of the pod".to_owned())
                }
                Err(reason) => Release::Hold(reason),
            });
        }
        release::surplus_pod(&self.client, pod, gang).await
    }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
