use std::sync::Arc;

use async_trait::async_trait;
use grove_api::names::ANNOTATION_TOPOLOGY_NAME;
use grove_api::{PodCliqueSet, PodGang};
use kube::api::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt};

use super::api::{
    ANNOTATION_POD_GROUP, ANNOTATION_SKIP_PODGROUPER, ANNOTATION_TOPOLOGY, CRDS, KAI_SCHEDULER, KEY_QUEUE,
    LABEL_NODE_POOL, LABEL_SUB_GROUP, RELEASE, pod_groups,
};
use super::{admission, node_pool, plan, queue};
use crate::backend::crd::CrdDetection;
use crate::backend::{
    BackendError, GangState, Membership, SchedulerBackend, Synced, TopologyBackend, Validation, domain,
    gang_objects, objects, pod_spec,
};

pub struct Kai {
    pub(super) client: Client,
    detection: CrdDetection,
}

impl Kai {
    pub fn new(client: Client) -> Self {
        Self { detection: CrdDetection::new(client.clone(), &CRDS, RELEASE), client }
    }

    /// The Topology that the ClusterTopologyBinding references, or else the one with the binding's name.
    async fn topology_of(&self, gang: &GangState<'_>) -> Result<Option<String>, BackendError> {
        let annotations = gang.pod_gang.annotations();
        let annotation = |key: &str| annotations.get(key).filter(|name| !name.is_empty()).cloned();
        let Some(name) = annotation(ANNOTATION_TOPOLOGY_NAME) else {
            return Ok(annotation(ANNOTATION_TOPOLOGY));
        };
        let binding = domain::binding(&self.client, gang, &name).await?;
        let reference = binding.as_ref().and_then(|binding| binding.spec.reference(KAI_SCHEDULER));
        Ok(Some(reference.map(str::to_owned).unwrap_or(name)))
    }
}

#[async_trait]
impl SchedulerBackend for Kai {
    fn name(&self) -> &str {
        KAI_SCHEDULER
    }

    async fn readiness(&self) -> Result<(), String> {
        self.detection.readiness().await
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        admission::validate(pcs, old)
    }

    /// Copies the queue and the node pool if only the cliques name them.
    async fn prepare_pod_gang(&self, pod_gang: &mut PodGang, pcs: &PodCliqueSet) -> Result<(), BackendError> {
        pod_gang.annotations_mut().insert(ANNOTATION_SKIP_PODGROUPER.to_owned(), "true".to_owned());
        if let (None, Ok(queue)) = (queue::of_gang(pod_gang), queue::of_pcs(pcs)) {
            pod_gang.annotations_mut().insert(KEY_QUEUE.to_owned(), queue.name.to_owned());
        }
        if let (None, Ok(Some(pool))) = (node_pool::of_gang(pod_gang), node_pool::of_pcs(pcs)) {
            pod_gang.labels_mut().insert(LABEL_NODE_POOL.to_owned(), pool.to_owned());
        }
        Ok(())
    }

    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError> {
        pod_spec::set_scheduler_name(self.name(), pod, member)?;
        // The label assigns the pod to its podgroup's subgroup (KAI-03).
        pod.labels_mut().insert(LABEL_SUB_GROUP.to_owned(), plan::leaf(member.pod_clique));
        // The scheduler of a node pool schedules only pods and PodGroups with the label of the pool (KAI-09).
        if let Some(pool) = node_pool::of_gang(member.pod_gang) {
            pod.labels_mut().insert(LABEL_NODE_POOL.to_owned(), pool.to_owned());
        }
        let annotations = pod.annotations_mut();
        annotations.insert(ANNOTATION_POD_GROUP.to_owned(), member.pod_gang.name_any());
        annotations.insert(ANNOTATION_SKIP_PODGROUPER.to_owned(), "true".to_owned());
        Ok(())
    }

    fn gang_resources(&self) -> Vec<ApiResource> {
        vec![pod_groups()]
    }

    async fn sync_pod_gang(
        &self,
        gang: &GangState<'_>,
        existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        let pod_gang = gang.pod_gang;
        self.ready().await?;
        if pod_gang.spec.podgroups.is_empty() {
            // All podgroups are idle: KAI needs no PodGroup, and ignores an existing one without pods.
            return Ok(Synced::default());
        }
        let topology = match plan::is_constrained(pod_gang) {
            true => self.topology_of(gang).await?,
            false => None,
        };
        let (resource, names) = (pod_groups(), [pod_gang.name_any()]);
        // The plan keeps fields that KAI wrote, so read the PodGroup even if the cache lacks it (KAI-05).
        let found = gang_objects::read_current(&self.client, pod_gang, &resource, names, existing).await?;
        let wanted = plan::plan(pod_gang, topology.as_deref(), found.first().map(AsRef::as_ref))?;
        gang_objects::ensure(&self.client, pod_gang, &resource, &wanted, &found).await?;
        Ok(Synced::default())
    }

    fn allows_idle(&self, _pod_gang: &PodGang) -> bool {
        true
    }

    fn refusal(&self, gang_resource: &DynamicObject) -> Option<String> {
        objects::condition_message(&gang_resource.data["status"]["schedulingConditions"], |condition| {
            condition["type"] == "UnschedulableOnNodePool" && condition["status"] == "True"
        })
    }

    fn topology(&self) -> Option<&dyn TopologyBackend> {
        Some(self)
    }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
