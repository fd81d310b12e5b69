use std::sync::Arc;

use async_trait::async_trait;
use futures::future;
use grove_api::names::LABEL_POD_CLIQUE;
use grove_api::{ClusterTopologyBinding, PodCliqueSet, PodGang};
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::api::{self, ANNOTATION_PINNED_QUEUE, ANNOTATIONS_GROUP_NAME, CRDS, RELEASE, VOLCANO, pod_groups};
use super::hyper_nodes::{self, HyperNodes};
use super::{admission, plan, queue, tiers};
use crate::backend::crd::CrdDetection;
use crate::backend::template::{self, Constrained};
use crate::backend::{
    BackendError, FieldError, GangState, Membership, Release, SchedulerBackend, Synced, TopologyBackend,
    Validation, domain, gang_objects, objects, pod_spec,
};
use crate::cache::observed_pod::Pod;

pub struct Volcano {
    client: Client,
    detection: CrdDetection,
    hyper_nodes: HyperNodes,
}

impl Volcano {
    pub fn new(client: Client) -> Self {
        Self {
            detection: CrdDetection::new(client.clone(), CRDS, RELEASE),
            hyper_nodes: HyperNodes::new(client.clone()),
            client,
        }
    }

    /// Volcano would never honour a required level whose HyperNodes are not created.
    async fn refuse_unapplied_topology(&self, pcs: &PodCliqueSet) -> Option<FieldError> {
        let required = |constrained: &Constrained<'_>| constrained.constraint.required_domain().is_some();
        let constrained = template::constraints(&pcs.spec.template).find(required)?;
        let name = constrained.constraint.topology_name.as_deref()?;
        let all = ListParams::default();
        let bindings = Api::<ClusterTopologyBinding>::all(self.client.clone());
        let hyper_nodes = Api::<DynamicObject>::all_with(self.client.clone(), &api::hyper_nodes());
        let lists = future::try_join(bindings.list(&all), hyper_nodes.list_metadata(&all));
        let (bindings, hyper_nodes) = match lists.await {
            Ok(found) => found,
            Err(error) => {
                let reason = format!("cannot list ClusterTopologyBindings and HyperNodes: {error}");
                return Some(constrained.refused(VOLCANO, &reason));
            }
        };
        // A binding that references HyperNodes of another owner does not compete for the tree.
        let binding = bindings.iter().find(|binding| binding.name_any() == name)?;
        if binding.spec.reference(VOLCANO).is_some() {
            return None;
        }
        let hyper_nodes = hyper_nodes.iter().map(|found| &found.metadata);
        let applied = hyper_nodes::applied_binding(&bindings, hyper_nodes)
            .filter(|applied| applied.name_any() != name)?;
        Some(constrained.refused(VOLCANO, &hyper_nodes::refusal(applied)))
    }
}

#[async_trait]
impl SchedulerBackend for Volcano {
    fn name(&self) -> &str {
        VOLCANO
    }

    async fn readiness(&self) -> Result<(), String> {
        self.detection.readiness().await
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        let mut found = admission::validate(pcs, old);
        if let (Ok(queue), true) = (queue::of_pcs(pcs), found.admits() && admission::enters_queue(pcs, old)) {
            found.errors.extend(queue::closed(&self.client, &queue).await);
        }
        if old.is_none() && found.admits() {
            found.errors.extend(self.refuse_unapplied_topology(pcs).await);
        }
        found
    }

    /// Stores the queue, so that the PodGroup also gets a queue that only cliques name (VOL-03).
    async fn prepare_pod_gang(&self, pod_gang: &mut PodGang, pcs: &PodCliqueSet) -> Result<(), BackendError> {
        if let Ok(queue) = queue::of_pcs(pcs) {
            let pinned = pod_gang.annotations_mut().entry(ANNOTATION_PINNED_QUEUE.to_owned());
            pinned.or_insert_with(|| queue.name.to_owned());
        }
        Ok(())
    }

    fn prepare_pod(&self, pod: &mut DynamicObject, member: &Membership<'_>) -> Result<(), BackendError> {
        for key in ANNOTATIONS_GROUP_NAME {
            pod.annotations_mut().insert(key.to_owned(), plan::name(member.pod_gang));
        }
        let spec = pod_spec::set_scheduler_name(self.name(), pod, member)?;
        // Otherwise Volcano could use a node without the label that is in a HyperNode of a lower tier.
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
        let pod_gang = gang.pod_gang;
        self.ready().await?;
        let (tiers, warning) = tiers::of_gang(&self.client, gang, existing).await?;
        let wanted = plan::plan(pod_gang, &tiers)?;
        gang_objects::ensure(&self.client, pod_gang, &pod_groups(), &wanted, existing).await?;
        gang_objects::prune_former(&self.client, gang, &pod_groups(), &[wanted], existing).await?;
        Ok(Synced { warnings: warning.into_iter().collect() })
    }

    /// Volcano stores a gang's domain only with its PodGroup. So later pods get it as a node affinity.
    async fn release_pod(&self, pod: &Pod, gang: &GangState<'_>) -> Result<Release, BackendError> {
        let pod_clique = pod.labels().get(LABEL_POD_CLIQUE).map(String::as_str).unwrap_or_default();
        let bound = gang.pods.iter().filter_map(|pod| Some((domain::node_name(pod)?, pod)));
        let is_same_clique =
            |pod: &Pod| pod.labels().get(LABEL_POD_CLIQUE).is_some_and(|label| label == pod_clique);
        let (same_clique, other_cliques): (Vec<_>, Vec<_>) = bound.partition(|(_, pod)| is_same_clique(pod));
        match (same_clique.first(), other_cliques.first()) {
            (Some((node, _)), _) => {
                let keys = domain::required_keys(gang.pod_gang, pod_clique);
                domain::release_into_domains_of(&self.client, node, keys).await
            }
            (None, Some((node, _))) => {
                domain::release_into_domains_of(&self.client, node, domain::required_keys(gang.pod_gang, ""))
                    .await
            }
            (None, None) => Ok(Release::Now(Vec::new())),
        }
    }

    fn allows_idle(&self, _pod_gang: &PodGang) -> bool {
        true
    }

    /// Volcano never resets a condition (observation `conditions/refusal-after-binding`), so the one that
    /// became True later applies. If both became True in the same second, the gang does not count as refused.
    fn refusal(&self, gang_resource: &DynamicObject) -> Option<String> {
        let conditions = &gang_resource.data["status"]["conditions"];
        let is_true =
            |condition: &Value, type_: &str| condition["type"] == type_ && condition["status"] == "True";
        let since = |condition: &Value| condition["lastTransitionTime"].as_str()?.parse::<Timestamp>().ok();
        let all = conditions.as_array().into_iter().flatten();
        let bound = all.filter(|condition| is_true(condition, "Scheduled")).filter_map(since).max();
        objects::condition_message(conditions, |condition| {
            is_true(condition, "Unschedulable") && since(condition) > bound
        })
    }

    fn topology(&self) -> Option<&dyn TopologyBackend> {
        Some(&self.hyper_nodes)
    }
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
