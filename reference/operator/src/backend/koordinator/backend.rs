use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures::future;
use grove_api::names::LABEL_POD_CLIQUE;
use grove_api::{PodCliqueSet, PodGang};
use kube::api::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt};

use super::config::KoordinatorConfig;
use super::gather::{Gather, gather};
use super::pod_group::{
    self, ANNOTATION_NETWORK_TOPOLOGY, KOORD_SCHEDULER, LABEL_POD_GROUP, LABEL_QOS_CLASS, pod_groups,
};
use super::{admission, network_topology, plan};
use crate::backend::crd::{Crd, CrdDetection};
use crate::backend::{
    BackendError, GangState, Membership, Release, SchedulerBackend, Synced, Validation, domain, excess_pods,
    gang_objects, pod_spec,
};
use crate::cache::observed_pod::Pod;

/// The CRD of ClusterNetworkTopology is not listed, because only gangs with topology constraints need it.
const CRDS: &[Crd] = &[Crd { name: "podgroups.scheduling.sigs.k8s.io", version: "v1alpha1", field: None }];
const RELEASE: &str = "Koordinator 1.8";

pub struct Koordinator {
    client: Client,
    config: KoordinatorConfig,
    detection: CrdDetection,
}

impl Koordinator {
    pub fn new(client: Client, config: KoordinatorConfig) -> Self {
        Self { detection: CrdDetection::new(client.clone(), CRDS, RELEASE), client, config }
    }

    /// Limits `requested` to the layers that the ClusterNetworkTopology declares. A missing layer causes a
    /// warning if all PodGroups exist, and otherwise an error that is retried.
    async fn within_cluster(
        &self,
        requested: Gather,
        pod_gang: &PodGang,
        current: &[Arc<DynamicObject>],
    ) -> Result<Gather, BackendError> {
        let is_complete = current.len() == pod_gang.spec.podgroups.len();
        let spec = requested.network_topology_spec();
        let has_topology = |found: &Arc<DynamicObject>| {
            found.annotations().get(ANNOTATION_NETWORK_TOPOLOGY) == spec.as_ref()
        };
        if spec.is_none() || is_complete && current.iter().all(has_topology) {
            return Ok(requested);
        }
        let declared = network_topology::declared_layers(&self.client).await;
        match declared.and_then(|declared| {
            requested.within(&declared).map_err(|undeclared| self.not_ready(undeclared.to_string()))
        }) {
            Err(error) if is_complete => {
                let warnings = requested.warnings.into_iter().chain([error.to_string()]).collect();
                Ok(Gather { warnings, ..requested })
            }
            found => found,
        }
    }

    fn not_ready(&self, reason: String) -> BackendError {
        BackendError::NotReady { backend: self.name().to_owned(), reason }
    }

    /// Writes PodGroups before it prunes: a gang that lists a missing PodGroup is held back (KOORD-07).
    async fn sync(
        &self,
        gang: &GangState<'_>,
        existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        let pod_gang = gang.pod_gang;
        let (resource, names) = (pod_groups(), plan::names(pod_gang));
        let requested = gather(pod_gang, &self.config.topology_key_mappings)?;
        let current = gang_objects::read_current(&self.client, pod_gang, &resource, names, existing).await?;
        let gather = self.within_cluster(requested, pod_gang, &current).await?;
        let plan = plan::plan(&self.config, gang, &gather, &current)?;
        let ensure = |wanted| gang_objects::ensure(&self.client, pod_gang, &resource, wanted, &current);
        future::try_join_all(plan.iter().map(ensure)).await?;
        if gang.former.is_empty() {
            let keep: BTreeSet<_> = plan.iter().map(ResourceExt::name_any).collect();
            gang_objects::prune(&self.client, pod_gang, &resource, &keep, existing).await?;
        }
        Ok(Synced { warnings: gather.warnings })
    }
}

#[async_trait]
impl SchedulerBackend for Koordinator {
    fn name(&self) -> &str {
        KOORD_SCHEDULER
    }

    async fn init(&self) -> Result<(), BackendError> {
        match self.readiness().await {
            Ok(()) => tracing::info!(backend = self.name(), config = ?self.config, "ready"),
            Err(reason) => tracing::warn!(backend = self.name(), %reason, "gangs cannot be scheduled"),
        }
        Ok(())
    }

    async fn readiness(&self) -> Result<(), String> {
        self.detection.readiness().await
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, _old: Option<&PodCliqueSet>) -> Validation {
        admission::validate(pcs)
    }

    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError> {
        if let Some(class) = self.config.default_qos_class {
            pod.labels_mut().entry(LABEL_QOS_CLASS.to_owned()).or_insert_with(|| class.as_str().to_owned());
        }
        if member.min_replicas().is_some_and(|min| member.pod_index < min) {
            let pod_group = pod_group::name(member.pod_gang, member.pod_clique);
            pod.labels_mut().insert(LABEL_POD_GROUP.to_owned(), pod_group);
        }
        let spec = pod_spec::set_scheduler_name(self.name(), pod, member)?;
        // koord-scheduler orders gangs by the priority of their pods, because its PodGroups have no priority.
        pod_spec::inherit_priority(spec, member.pod_gang);
        // Koordinator treats a node without the label of a layer as a separate domain.
        pod_spec::require_levels(spec, member)
    }

    fn gang_resources(&self) -> Vec<ApiResource> {
        vec![pod_groups()]
    }

    async fn sync_pod_gang(
        &self,
        gang: &GangState<'_>,
        existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        let synced = self.sync(gang, existing).await;
        if let Err(BackendError::Api { .. }) = &synced {
            self.ready().await?;
        }
        synced
    }

    fn allows_idle(&self, _pod_gang: &PodGang) -> bool {
        true
    }

    /// A surplus pod joins its PodGroup only when it is released. Once koord-scheduler 1.8 tries a gang, it
    /// ignores gates: it counts gated pods with the label towards the minimum, although it cannot bind them.
    fn release_labels(&self, pod_gang: &PodGang, pod: &Pod) -> BTreeMap<String, String> {
        let podgroup = pod.labels().get(LABEL_POD_CLIQUE).map(String::as_str).unwrap_or_default();
        [(LABEL_POD_GROUP.to_owned(), pod_group::name(pod_gang, podgroup))].into()
    }

    /// Koordinator plans a gang with every existing pod, and never tries those that it did not need. So
    /// surplus is held until the hard gang is bound. It then gets the gang's domain as a node affinity,
    /// because Koordinator checks topology only at the first placement.
    async fn release_pod(&self, pod: &Pod, gang: &GangState<'_>) -> Result<Release, BackendError> {
        if excess_pods::is_surplus(pod, gang.pod_gang)
            && let Some(reason) = excess_pods::unbound(gang)
        {
            return Ok(Release::Hold(reason));
        }
        let bound = gang.pods.iter().find_map(|pod| domain::node_name(pod));
        let podgroup = pod.labels().get(LABEL_POD_CLIQUE).map(String::as_str).unwrap_or_default();
        match bound {
            Some(node) => {
                let keys = domain::required_keys(gang.pod_gang, podgroup);
                domain::release_into_domains_of(&self.client, node, keys).await
            }
            None => Ok(Release::Now(Vec::new())),
        }
    }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
