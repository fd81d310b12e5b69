//! Reconciles a PodCliqueSet to the objects under it: headless Services, ResourceClaims that all of it shares, standalone
//! PodCliques, scaling groups, their autoscalers, PodGangs.
//!
//! Scaling groups make their own PodCliques, PodCliques their pods; PodGangs are handed to the backend by
//! their own reconciler. Status is `pod_clique_set_status`'s. A new template reaches the PodCliques at once, and a
//! pod when it is replaced, for whatever reason; an update is what replaces it (`rolling_update`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use grove_api::names::ANNOTATION_GENERATION;
use grove_api::{
    ClusterTopologyBinding, PodCliqueScalingGroupConfig, PodCliqueSet, PodCliqueTemplateSpec, PodGang,
    TopologyLevel, names,
};
use kube::{Api, ResourceExt};

use super::caches::of;
use super::children::{self, Children, Write};
use super::context::Context;
use super::error::ReconcileError;
use super::gang_composition::{self, GangShape};
use super::generations::of_replica;
use super::reconcile_loop::Action;
use super::topology_translation::topology_name;
use super::{
    autoscaler, init_access, pod_clique_set_objects as objects, pod_gang_object, previous_template,
    resource_claims, startup_order,
};
use crate::backend::{SchedulerBackend, generation};

/// Reason of the event on a PodCliqueSet whose backend is not enabled (ADM-22).
const REASON_BACKEND_DISABLED: &str = "SchedulerBackendDisabled";

/// When it is looked at again whether a set may be begun.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Reconciles one PodCliqueSet.
///
/// # Errors
/// The first write that failed; the others are made all the same.
pub(super) async fn reconcile(
    pcs: Arc<PodCliqueSet>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
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
    if !is_begun(&context, &pcs) && !context.flow.may_begin(Instant::now(), pods(&pcs)) {
        return Ok(Action::requeue(LOOK_AGAIN));
    }
    let levels = topology_levels(&context, &pcs).await?;
    let writes = writes(&context, &pcs, &*backend, &levels).await?;
    children::all(writes).await?;
    Ok(Action::await_change())
}

/// Whether anything of a set has been made.
fn is_begun(context: &Context, pcs: &PodCliqueSet) -> bool {
    let key = of(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    context.caches.pod_gangs.has(&key) || context.caches.pod_cliques.has(&key)
}

/// How many pods a set has, as its template says.
fn pods(pcs: &PodCliqueSet) -> usize {
    let template = &pcs.spec.template;
    let of_clique = |clique: &PodCliqueTemplateSpec| {
        let replicas = template.group_of(&clique.name).map_or(1, |group| group.replicas.unwrap_or(1));
        [clique.spec.replicas, replicas, pcs.spec.replicas]
            .map(|count| usize::try_from(count).unwrap_or(0))
            .into_iter()
            .fold(1, usize::saturating_mul)
    };
    template.cliques.iter().map(of_clique).fold(0, usize::saturating_add)
}

/// Every write that is due.
///
/// # Errors
/// What the backend could not find out; then nothing is written, and nothing deleted that is only not understood.
async fn writes<'a>(
    context: &'a Context,
    pcs: &'a PodCliqueSet,
    backend: &dyn SchedulerBackend,
    levels: &[TopologyLevel],
) -> Result<Vec<Write<'a>>, ReconcileError> {
    let caches = &context.caches;
    let mut services = Children::new(context, pcs, &caches.services, objects::service_change);
    let mut cliques = Children::new(context, pcs, &caches.pod_cliques, children::pod_clique_change);
    let mut groups = Children::new(context, pcs, &caches.scaling_groups, objects::scaling_group_change);
    let mut gangs = Children::new(context, pcs, &caches.pod_gangs, pod_gang_object::change);
    let gang_names = context.faults.pod_gang_names();
    for i in 0..pcs.spec.replicas {
        services.want(objects::service(pcs, i));
        let mut idle = BTreeSet::new();
        for mut clique in objects::standalone_cliques(pcs, i, gang_names) {
            let known = context.remembered.of(&pcs.uid().unwrap_or_default(), &clique.name_any());
            clique.spec.replicas = known.unwrap_or(clique.spec.replicas);
            let existing = cliques.get(&clique.name_any());
            if existing.as_ref().map_or(clique.spec.replicas, |existing| existing.spec.replicas) == 0 {
                idle.insert(clique.name_any());
            }
            if let Some(existing) = existing {
                previous_template::keep(caches, pcs, &existing, &mut clique);
            }
            cliques.want(clique);
        }
        for config in &pcs.spec.template.pod_clique_scaling_groups {
            let group = objects::scaling_group(pcs, i, config);
            let existing = groups.get(&group.name_any());
            if existing.map_or(group.spec.replicas, |existing| existing.spec.replicas) == 0 {
                idle.insert(group.name_any());
            }
            groups.want(group);
        }
        let base = gangs.get(&gang_names.base(pcs, i));
        let may_idle = !context.faults.idle_stays && lets_idle(backend, pcs, base.as_deref());
        let shapes = {
            // A scaling group's replicas are its own, once it exists (GANG-03).
            let replicas = |config: &PodCliqueScalingGroupConfig| {
                let group = groups.get(&names::scaling_group(&pcs.name_any(), i, &config.name));
                group.map_or(config.replicas.unwrap_or(1), |group| group.spec.replicas)
            };
            let is_idle = |name: &str| may_idle && idle.contains(name);
            gang_composition::pod_gangs(pcs, i, levels, gang_names, replicas, is_idle)
        };
        let base = base.map_or(0, |base| generation::of_gang(&base));
        for mut shape in shapes {
            spoil(context, &mut shape);
            let existing = gangs.get(&shape.name);
            let scaled = shape.scaled.clone();
            let mut pod_gang =
                pod_gang_object::pod_gang(pcs, shape, backend, existing.as_deref(), &context.faults).await?;
            if let Some((group, j)) = scaled {
                let generation = of_replica(base, groups.get(&group).as_deref(), j);
                if generation > 0 {
                    pod_gang
                        .annotations_mut()
                        .insert(ANNOTATION_GENERATION.to_owned(), generation.to_string());
                }
            }
            gangs.want(pod_gang);
        }
    }
    let key = of(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    for pod_gang in gangs.excess(&key) {
        if keeps_members(context, &pod_gang) {
            gangs.keep(pod_gang.name_any());
        }
    }
    let mut writes = services.finish(&key);
    writes.push(resource_claims::of_set(context, pcs).boxed());
    writes.extend(cliques.finish(&key));
    writes.extend(groups.finish(&key));
    writes.extend(autoscaler::writes(context, pcs, &key).await);
    if startup_order::has_order(pcs) {
        writes.push(init_access::ensure(context, pcs).boxed());
    }
    writes.extend(gangs.finish(&key));
    Ok(writes)
}

/// Whether what is scaled to 0 leaves its PodGang; of one that is yet to be made, its PodCliqueSet tells.
fn lets_idle(backend: &dyn SchedulerBackend, pcs: &PodCliqueSet, base: Option<&PodGang>) -> bool {
    base.map_or_else(
        || {
            let mut fresh = PodGang::default();
            fresh.metadata.annotations.clone_from(&pcs.metadata.annotations);
            backend.lets_idle(&fresh)
        },
        |base| backend.lets_idle(base),
    )
}

/// Whether members of a scaled gang that is not wanted any more are still to go. Their scaling group decides that, and may see
/// another number of replicas at the moment than was seen here: a gang made again over pods that stayed would be stuck. Each
/// member that goes wakes the PodCliqueSet.
fn keeps_members(context: &Context, pod_gang: &PodGang) -> bool {
    let namespace = pod_gang.namespace();
    pod_gang.spec.podgroups.iter().any(|podgroup| {
        let member = context.caches.pod_cliques.get(namespace.as_deref(), &podgroup.name);
        member.filter(|member| member.metadata.deletion_timestamp.is_none()).is_some_and(|member| {
            let group = member.labels().get(names::LABEL_SCALING_GROUP);
            let group =
                group.and_then(|group| context.caches.scaling_groups.get(namespace.as_deref(), group));
            group.is_some_and(|group| group.metadata.deletion_timestamp.is_none())
        })
    })
}

/// The faults `drop-podgroup` and `key-one-level-down`.
fn spoil(context: &Context, shape: &mut GangShape) {
    if context.faults.key_one_level_down && !shape.spec.topology_constraint_group_configs.is_empty() {
        let of_gang = shape.spec.topology_constraint.take();
        for config in &mut shape.spec.topology_constraint_group_configs {
            let of_group = std::mem::replace(&mut config.topology_constraint, of_gang.clone());
            let podgroups = shape.spec.podgroups.iter_mut();
            for podgroup in podgroups.filter(|podgroup| config.pod_group_names.contains(&podgroup.name)) {
                podgroup.topology_constraint = of_group.clone();
            }
        }
    }
    if context.faults.drop_podgroup && shape.spec.podgroups.len() > 1 {
        shape.spec.podgroups.pop();
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

#[cfg(test)]
#[path = "pod_clique_set_tests.rs"]
mod tests;
