//! Reconciles a PodCliqueSet. A PodClique gets a new template at once. A pod gets it only when it is
//! replaced, for any reason. `rolling_update` selects the pods to replace.

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

use super::{autoscalers, init_access, resource_claims};
use crate::backend::SchedulerBackend;
use crate::cache::caches::object_key;
use crate::cache::generation::{self, of_replica};
use crate::context::Context;
use crate::context::action::Action;
use crate::context::children::{self, Children, Write};
use crate::context::error::ReconcileError;
use crate::context::events::REASON_BACKEND_DISABLED;
use crate::faults::fault;
use crate::plan::gang_composition::{self, GangShape, ScaledUnit};
use crate::plan::topology_translation::topology_name;
use crate::plan::{patches, pod_clique_set_objects as objects, pod_gang_object, startup_order};
use crate::update::previous_template;

const RECHECK_INTERVAL: Duration = Duration::from_millis(300);

pub(crate) async fn reconcile(
    pcs: Arc<PodCliqueSet>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if pcs.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let Some(backend) = context.registry.resolve(&pcs) else {
        let name = context.registry.scheduler_name(&pcs);
        let note = format!(
            "no profile enables scheduler backend {name:?}: the operator creates no pods and leaves \
             existing pods unchanged"
        );
        context.events.warn(&*pcs, REASON_BACKEND_DISABLED, &note).await;
        return Ok(Action::await_change());
    };
    context.events.reset_warning(&*pcs, REASON_BACKEND_DISABLED);
    if !has_children(&context, &pcs) && !context.flow.may_start(Instant::now(), pod_count(&pcs)) {
        return Ok(Action::requeue(RECHECK_INTERVAL));
    }
    let levels = topology_levels(&context, &pcs).await?;
    let writes = writes(&context, &pcs, &*backend, &levels).await?;
    let written = children::all(writes).await;
    context.report_taken_name(&pcs, &*pcs, &written).await;
    written.map(|()| Action::await_change())
}

fn has_children(context: &Context, pcs: &PodCliqueSet) -> bool {
    let key = object_key(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    context.caches.pod_gangs.has(&key) || context.caches.pod_cliques.has(&key)
}

fn pod_count(pcs: &PodCliqueSet) -> usize {
    let template = &pcs.spec.template;
    let clique_pods = |clique: &PodCliqueTemplateSpec| {
        let replicas = template.group_of(&clique.name).map_or(1, |group| group.replicas.unwrap_or(1));
        [clique.spec.replicas, replicas, pcs.spec.replicas]
            .map(|count| usize::try_from(count).unwrap_or(0))
            .into_iter()
            .fold(1, usize::saturating_mul)
    };
    template.cliques.iter().map(clique_pods).fold(0, usize::saturating_add)
}

/// Returns no writes if the backend fails, so that nothing is deleted by mistake.
async fn writes<'a>(
    context: &'a Context,
    pcs: &'a PodCliqueSet,
    backend: &dyn SchedulerBackend,
    levels: &[TopologyLevel],
) -> Result<Vec<Write<'a>>, ReconcileError> {
    let caches = &context.caches;
    let mut services = Children::new(context, pcs, &caches.services, objects::service_change);
    let mut cliques = Children::new(context, pcs, &caches.pod_cliques, patches::pod_clique_change);
    let mut groups = Children::new(context, pcs, &caches.scaling_groups, objects::scaling_group_change);
    let mut gangs = Children::new(context, pcs, &caches.pod_gangs, pod_gang_object::change);
    let gang_names = context.pod_gang_names;
    for i in 0..pcs.spec.replicas {
        services.want(objects::service(pcs, i));
        let (mut idle_cliques, mut idle_groups) = (BTreeSet::new(), BTreeSet::new());
        for mut clique in objects::standalone_cliques(pcs, i, gang_names) {
            let known = context.remembered.get(&pcs.uid().unwrap_or_default(), &clique.name_any());
            clique.spec.replicas = known.unwrap_or(clique.spec.replicas);
            let existing = cliques.get(&clique.name_any());
            if existing.as_ref().map_or(clique.spec.replicas, |existing| existing.spec.replicas) == 0 {
                idle_cliques.insert(clique.name_any());
            }
            if let Some(existing) = existing {
                previous_template::store(caches, pcs, &existing, &mut clique);
            }
            cliques.want(clique);
        }
        for config in &pcs.spec.template.pod_clique_scaling_groups {
            let group = objects::scaling_group(pcs, i, config);
            let existing = groups.get(&group.name_any());
            if existing.map_or(group.spec.replicas, |existing| existing.spec.replicas) == 0 {
                idle_groups.insert(group.name_any());
            }
            groups.want(group);
        }
        let base = gangs.get(&gang_names.base(pcs, i));
        let may_idle = !fault!("idle-podgroups-stay") && allows_idle(backend, pcs, base.as_deref());
        let shapes = {
            // Once a scaling group exists, its `replicas` apply instead of the template's (GANG-03).
            let replicas = |config: &PodCliqueScalingGroupConfig| {
                let group = groups.get(&names::scaling_group(&pcs.name_any(), i, &config.name));
                group.map_or(config.replicas.unwrap_or(1), |group| group.spec.replicas)
            };
            let is_idle = |unit: ScaledUnit<'_>| {
                may_idle
                    && match unit {
                        ScaledUnit::Clique(name) => idle_cliques.contains(name),
                        ScaledUnit::Group(name) => idle_groups.contains(name),
                    }
            };
            gang_composition::pod_gangs(pcs, i, levels, gang_names, replicas, is_idle)
        };
        let base = base.map_or(0, |base| generation::of_gang(&base));
        for mut shape in shapes {
            apply_faults(&mut shape);
            let existing = gangs.get(&shape.name);
            let scaled = shape.scaled.clone();
            let mut pod_gang = pod_gang_object::pod_gang(pcs, shape, backend, existing.as_deref()).await?;
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
    let key = object_key(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    for pod_gang in gangs.excess(&key) {
        if has_members_to_delete(context, &pod_gang) {
            gangs.keep(pod_gang.name_any());
        }
    }
    let mut writes = services.finish(&key);
    writes.push(resource_claims::for_pod_clique_set(context, pcs).boxed());
    writes.extend(cliques.finish(&key));
    writes.extend(groups.finish(&key));
    writes.extend(autoscalers::writes(context, pcs, &key).await);
    if startup_order::has_order(pcs) {
        writes.push(init_access::ensure(context, pcs).boxed());
    }
    writes.extend(gangs.finish(&key));
    Ok(writes)
}

/// Before the PodGang exists, the annotations of the PodCliqueSet decide.
fn allows_idle(backend: &dyn SchedulerBackend, pcs: &PodCliqueSet, base: Option<&PodGang>) -> bool {
    base.map_or_else(
        || {
            let mut new = PodGang::default();
            new.metadata.annotations.clone_from(&pcs.metadata.annotations);
            backend.allows_idle(&new)
        },
        |base| backend.allows_idle(base),
    )
}

/// Whether the scaling group must still delete members of the PodGang: it may have read another number of
/// replicas. A PodGang that was recreated meanwhile would be stuck.
fn has_members_to_delete(context: &Context, pod_gang: &PodGang) -> bool {
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

fn apply_faults(shape: &mut GangShape) {
    if fault!("key-one-level-down") && !shape.spec.topology_constraint_group_configs.is_empty() {
        let gang_constraint = shape.spec.topology_constraint.take();
        for config in &mut shape.spec.topology_constraint_group_configs {
            let group_constraint =
                std::mem::replace(&mut config.topology_constraint, gang_constraint.clone());
            let podgroups = shape.spec.podgroups.iter_mut();
            for podgroup in podgroups.filter(|podgroup| config.pod_group_names.contains(&podgroup.name)) {
                podgroup.topology_constraint = group_constraint.clone();
            }
        }
    }
    if fault!("drop-podgroup") && shape.spec.podgroups.len() > 1 {
        shape.spec.podgroups.pop();
    }
}

/// Empty if the PodCliqueSet names no topology, or if its ClusterTopologyBinding was deleted. Reads the
/// binding from the API server if the cache lacks it: gang resources are immutable, so a PodGang that is
/// created too early would never get its constraints.
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
