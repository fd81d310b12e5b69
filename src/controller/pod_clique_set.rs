//! Reconciles a PodCliqueSet to the objects under it: headless Services, standalone PodCliques, scaling
//! groups, PodGangs.
//!
//! Scaling groups make their own PodCliques, PodCliques their pods; PodGangs are handed to the backend by
//! their own reconciler. Status is `pod_clique_set_status`'s. A new template reaches the PodCliques at once
//! and live pods never: a pod takes it up when it is replaced (upstream's `OnDelete`).

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::caches::of;
use super::children::{self, Write};
use super::context::Context;
use super::error::ReconcileError;
use super::gang_composition::{self, GangShape};
use super::ownership::{controller, is_controlled_by, owner_reference};
use super::pod_clique_object::{Place, pod_clique};
use super::pod_gang_object;
use super::topology_translation::topology_name;
use crate::api::names;
use crate::api::{
    ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueScalingGroupConfig,
    PodCliqueScalingGroupSpec, PodCliqueSet, PodCliqueTemplateSpec, PodGang, TopologyLevel,
};
use crate::backend::SchedulerBackend;

/// Reason of the event on a PodCliqueSet whose backend is not enabled (ADM-11).
const REASON_BACKEND_DISABLED: &str = "SchedulerBackendDisabled";

/// Reconciles one PodCliqueSet.
///
/// # Errors
/// The first write that failed; the others are made all the same.
pub async fn reconcile(pcs: Arc<PodCliqueSet>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    if pcs.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let Some(backend) = context.registry.resolve(&pcs) else {
        let name = context.registry.scheduler_name(&pcs);
        let note =
            format!("scheduler backend {name:?} is not enabled (any more); what runs is left as it is");
        context.events.warn(&*pcs, REASON_BACKEND_DISABLED, &note).await;
        return Ok(Action::await_change());
    };
    context.events.settled(&*pcs, REASON_BACKEND_DISABLED);
    let levels = topology_levels(&context, &pcs).await?;
    children::all(Set { context: &context, pcs: &pcs }.writes(&*backend, &levels)?).await?;
    Ok(Action::await_change())
}

struct Set<'a> {
    context: &'a Context,
    pcs: &'a PodCliqueSet,
}

impl<'a> Set<'a> {
    /// Every write that is due.
    fn writes(
        &self,
        backend: &dyn SchedulerBackend,
        levels: &[TopologyLevel],
    ) -> Result<Vec<Write<'a>>, ReconcileError> {
        let mut writes = Vec::new();
        let mut wanted = [const { Vec::new() }; 4];
        let mut waiting = None;
        for i in 0..self.pcs.spec.replicas {
            let (due, names) = self.replica(i, levels, backend, &mut waiting)?;
            writes.extend(due);
            for (all, of_replica) in wanted.iter_mut().zip(names) {
                all.extend(of_replica);
            }
        }
        let [services, cliques, groups, gangs] = wanted.map(HashSet::from_iter);
        let (context, pcs, caches) = (self.context, self.pcs, &self.context.caches);
        let key = of(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
        writes.extend(children::prune(context, pcs, caches.services.indexed(&key), &services));
        writes.extend(children::prune(context, pcs, caches.pod_cliques.indexed(&key), &cliques));
        writes.extend(children::prune(context, pcs, caches.scaling_groups.indexed(&key), &groups));
        writes.extend(children::prune(context, pcs, caches.pod_gangs.indexed(&key), &gangs));
        if let Some(error) = waiting {
            writes.push(Box::pin(std::future::ready(Err(error))));
        }
        Ok(writes)
    }

    /// The writes for replica `i`, and the names of its Services, PodCliques, scaling groups and PodGangs.
    #[expect(clippy::type_complexity, reason = "one list per kind")]
    fn replica(
        &self,
        i: i32,
        levels: &[TopologyLevel],
        backend: &dyn SchedulerBackend,
        waiting: &mut Option<ReconcileError>,
    ) -> Result<(Vec<Write<'a>>, [Vec<String>; 4]), ReconcileError> {
        let (context, pcs, caches) = (self.context, self.pcs, &self.context.caches);
        let namespace = pcs.namespace();
        let mut due = Vec::new();
        let mut add = |write: Result<Option<Write<'a>>, ReconcileError>| match write {
            Ok(write) => Ok(due.extend(write)),
            Err(error @ ReconcileError::Waiting(_)) => Ok(*waiting = Some(error)),
            Err(error) => Err(error),
        };
        let mut wanted = [const { Vec::new() }; 4];

        let service = self.service(i);
        wanted[0].push(service.name_any());
        let existing = caches.services.get(namespace.as_deref(), &service.name_any());
        add(children::ensure(context, pcs, existing, service, service_change, |found| {
            is_controlled_by(found, pcs)
        }))?;
        for clique in self.standalone_cliques(i) {
            wanted[1].push(clique.name_any());
            let existing = caches.pod_cliques.get(namespace.as_deref(), &clique.name_any());
            let is_ours = |found: &PodClique| is_controlled_by(found, pcs);
            add(children::ensure(context, pcs, existing, clique, children::pod_clique_change, is_ours))?;
        }
        for config in &pcs.spec.template.pod_clique_scaling_groups {
            let group = self.scaling_group(i, config);
            wanted[2].push(group.name_any());
            let existing = caches.scaling_groups.get(namespace.as_deref(), &group.name_any());
            let is_ours = |found: &PodCliqueScalingGroup| is_controlled_by(found, pcs);
            add(children::ensure(context, pcs, existing, group, scaling_group_change, is_ours))?;
        }
        for mut shape in gang_composition::pod_gangs(pcs, i, levels, |config| self.group_replicas(i, config))
        {
            self.spoil(&mut shape);
            wanted[3].push(shape.name.clone());
            let existing = caches.pod_gangs.get(namespace.as_deref(), &shape.name);
            let gang = pod_gang_object::pod_gang(pcs, shape, backend, existing.as_deref(), &context.faults);
            let is_ours = |found: &PodGang| {
                is_controlled_by(found, pcs)
                    || context.faults.no_owner_references && controller(found).is_none()
            };
            add(children::ensure(context, pcs, existing, gang, pod_gang_object::change, is_ours))?;
        }
        Ok((due, wanted))
    }

    fn spoil(&self, shape: &mut GangShape) {
        if self.context.faults.drop_podgroup && shape.spec.podgroups.len() > 1 {
            shape.spec.podgroups.pop();
        }
    }

    /// The present replicas of a scaling group: its own, once it exists (GANG-03).
    fn group_replicas(&self, i: i32, config: &PodCliqueScalingGroupConfig) -> i32 {
        let name = names::scaling_group(&self.pcs.name_any(), i, &config.name);
        let existing = self.context.caches.scaling_groups.get(self.pcs.namespace().as_deref(), &name);
        let existing = existing.filter(|found| is_controlled_by(&**found, self.pcs));
        existing.map_or(config.replicas.unwrap_or(1), |group| group.spec.replicas)
    }

    fn service(&self, i: i32) -> Service {
        let pcs_name = self.pcs.name_any();
        let name = names::headless_service(&pcs_name, i);
        let mut labels = names::object_labels(&pcs_name, &name, names::COMPONENT_HEADLESS_SERVICE);
        labels.insert(names::LABEL_PCS_REPLICA_INDEX.to_owned(), i.to_string());
        let mut selector = names::managed_labels(&pcs_name);
        selector.insert(names::LABEL_PCS_REPLICA_INDEX.to_owned(), i.to_string());
        let config = self.pcs.spec.template.headless_service_config.clone().unwrap_or_default();
        let spec = ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            selector: Some(selector),
            publish_not_ready_addresses: Some(config.publish_not_ready_addresses),
            ..ServiceSpec::default()
        };
        Service { metadata: self.metadata(name, labels), spec: Some(spec), status: None }
    }

    fn standalone_cliques(&self, i: i32) -> Vec<PodClique> {
        let template = &self.pcs.spec.template;
        let grouped = |name: &String| {
            template.pod_clique_scaling_groups.iter().any(|group| group.clique_names.contains(name))
        };
        let pcs_name = self.pcs.name_any();
        let place = Place {
            replica: i,
            pod_gang: names::base_pod_gang(&pcs_name, i),
            base_pod_gang: None,
            group: None,
        };
        let standalone = template.cliques.iter().filter(|clique| !grouped(&clique.name));
        let clique = |clique: &PodCliqueTemplateSpec| {
            let name = names::standalone_pod_clique(&pcs_name, i, &clique.name);
            pod_clique(self.pcs, clique, name, &place, owner_reference(self.pcs))
        };
        standalone.map(clique).collect()
    }

    fn scaling_group(&self, i: i32, config: &PodCliqueScalingGroupConfig) -> PodCliqueScalingGroup {
        let pcs_name = self.pcs.name_any();
        let name = names::scaling_group(&pcs_name, i, &config.name);
        let mut labels = names::object_labels(&pcs_name, &name, names::COMPONENT_SCALING_GROUP);
        labels.insert(names::LABEL_PCS_REPLICA_INDEX.to_owned(), i.to_string());
        let mut metadata = self.metadata(name, labels);
        metadata.annotations = Some(config.annotations.clone()).filter(|annotations| !annotations.is_empty());
        let spec = PodCliqueScalingGroupSpec {
            replicas: config.replicas.unwrap_or(1),
            min_available: Some(config.min_available.unwrap_or(1)),
            clique_names: config.clique_names.clone(),
        };
        PodCliqueScalingGroup { metadata, spec, status: None }
    }

    fn metadata(&self, name: String, labels: std::collections::BTreeMap<String, String>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: self.pcs.namespace(),
            labels: Some(labels),
            owner_references: owner_reference(self.pcs).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        }
    }
}

/// The levels of the topology a PodCliqueSet names, none if it names none or its ClusterTopologyBinding is
/// gone.
///
/// What the cache does not have is asked for: gang resources are immutable, and a PodGang made a moment
/// before the cache hears of a new ClusterTopologyBinding would go without its constraints for ever.
async fn topology_levels(
    context: &Context,
    pcs: &PodCliqueSet,
) -> Result<Vec<TopologyLevel>, ReconcileError> {
    let Some(name) = topology_name(&pcs.spec.template) else { return Ok(Vec::new()) };
    if let Some(binding) = context.caches.topologies.get(None, name) {
        return Ok(binding.spec.levels.clone());
    }
    let binding = Api::<ClusterTopologyBinding>::all(context.client.clone()).get_opt(name).await;
    let failed =
        |source| ReconcileError::Api { action: format!("get ClusterTopologyBinding {name}"), source };
    Ok(binding.map_err(failed)?.map(|binding| binding.spec.levels).unwrap_or_default())
}

/// Only what is ours of a Service: the API server fills in much of the rest.
fn service_change(existing: &Service, wanted: &Service) -> serde_json::Result<Option<Value>> {
    let ours = |service: &Service| {
        let spec = service.spec.as_ref();
        json!({
            "selector": spec.and_then(|spec| spec.selector.as_ref()),
            "publishNotReadyAddresses": spec.and_then(|spec| spec.publish_not_ready_addresses).unwrap_or(false),
        })
    };
    Ok(children::change(existing, wanted, [ours(existing), ours(wanted)]))
}

/// `replicas` belong to whoever scales the group.
fn scaling_group_change(
    existing: &PodCliqueScalingGroup,
    wanted: &PodCliqueScalingGroup,
) -> serde_json::Result<Option<Value>> {
    let mut spec = serde_json::to_value(&wanted.spec)?;
    spec["replicas"] = json!(existing.spec.replicas);
    Ok(children::change(existing, wanted, [serde_json::to_value(&existing.spec)?, spec]))
}

#[cfg(test)]
#[path = "pod_clique_set_tests.rs"]
mod tests;
