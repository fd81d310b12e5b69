//! Maps each change to the reconcilers that it wakes. No reconciler polls: each change wakes those that read
//! the changed fields, and few others. A child's status wakes only the reconcilers of statuses.

use std::sync::Arc;

use grove_api::names::{ANNOTATION_TOPOLOGY_NAME, LABEL_PART_OF, LABEL_POD_GANG, LABEL_SCALING_GROUP};
use grove_api::{ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use k8s_openapi::api::core::v1::Service;
use kube::{Resource, ResourceExt};

use super::Context;
use super::changes::{before_and_after, concerns_owner, has_same_metadata, is_status_only};
use super::gang_triggers::{gang_resource_changed, pod_changed, pod_gang_changed};
use super::queues::Queues;
use super::wakes::{wake_followers, wake_for_update, wake_members};
use crate::cache::caches::{Caches, Feeds};
use crate::cache::informer::Change;
use crate::cache::kinds::{HorizontalPodAutoscaler, ResourceClaim};
use crate::cache::ownership::controller;
use crate::cache::pods::waits_for_a_node;

/// When an object is deleted, its handler discards what the context stores for its UID. If no scale-in
/// removed a deleted PodClique, the handler stores its replicas for the PodClique that replaces it.
pub(crate) fn connect(feeds: &mut Feeds, context: &Arc<Context>) {
    let Context { queues, caches, .. } = &**context;
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.pod_clique_sets.on_change(move |change| {
        if let Change { old: Some(old), new: None } = change {
            from.events.forget(&old.uid().unwrap_or_default());
            from.written.forget(&old.uid().unwrap_or_default());
            from.remembered.forget(&old.uid().unwrap_or_default(), |_| true);
            from.init_access.forget(&old.uid().unwrap_or_default());
        }
        if let Change { old: Some(old), new: Some(new) } = change
            && new.spec.replicas < old.spec.replicas
        {
            from.remembered.forget(&new.uid().unwrap_or_default(), |name| is_scaled_in(new, name));
        }
        if has_new_update_report(change) {
            wake_for_update(&to, &from.caches, change);
        }
        if let Some(pcs) = &change.new {
            if !is_status_only(change) {
                to.pod_clique_sets.wake(pcs.namespace().as_deref(), &pcs.name_any());
            }
            to.pod_clique_set_status.wake(pcs.namespace().as_deref(), &pcs.name_any());
            to.gang_terminations.wake(pcs.namespace().as_deref(), &pcs.name_any());
        }
    });
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.topologies.on_change(move |change| {
        topology_changed(&to, &from.caches, change);
        if let Change { old: Some(old), new: None } = change {
            from.events.forget(&old.uid().unwrap_or_default());
        }
    });
    for (_, feed) in &mut feeds.topology_resources {
        let (to, caches) = (queues.clone(), caches.clone());
        feed.on_change(move |change| topology_source_changed(&to, &caches, change));
    }
    if let Some(nodes) = &mut feeds.nodes {
        let (to, caches) = (queues.clone(), caches.clone());
        nodes.on_change(move |change| topology_source_changed(&to, &caches, change));
    }
    let to = queues.clone();
    feeds.services.on_change(move |change| service_changed(&to, change));
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.autoscalers.on_change(move |change| autoscaler_changed(&to, &from.caches, change));
    let to = queues.clone();
    feeds.resource_claims.on_change(move |change| resource_claim_changed(&to, change));
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.scaling_groups.on_change(move |change| {
        scaling_group_changed(&to, &from.caches, change);
        if let Change { old: Some(old), new: None } = change {
            from.written.forget(&old.uid().unwrap_or_default());
            from.events.forget(&old.uid().unwrap_or_default());
        }
    });
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.pod_cliques.on_change(move |change| {
        match change {
            Change { old: Some(old), new: None } => {
                let pcs = from.caches.pod_clique_set_of(&**old);
                if pcs.is_some_and(|pcs| !is_scaled_in(&pcs, &old.name_any())) {
                    from.remembered.remember(old);
                }
            }
            Change { old: None, new: Some(new) } => from.remembered.forget_recreated(new),
            Change { .. } => {}
        }
        pod_clique_changed(&to, &from.caches, change);
        if let Change { old: Some(old), new: None } = change {
            from.expectations.forget(&old.uid().unwrap_or_default());
            from.evictions.forget(&old.uid().unwrap_or_default());
            from.written.forget(&old.uid().unwrap_or_default());
            from.events.forget(&old.uid().unwrap_or_default());
        }
    });
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.pod_gangs.on_change(move |change| {
        pod_gang_changed(&to, &from.caches, change);
        if let Change { old: Some(old), new: None } = change {
            from.synced.forget(&old.uid().unwrap_or_default());
            from.messages.forget(&old.uid().unwrap_or_default());
            from.releases.forget(&old.uid().unwrap_or_default());
            from.written.forget(&old.uid().unwrap_or_default());
            from.metrics.forget(&old.uid().unwrap_or_default());
            from.events.forget(&old.uid().unwrap_or_default());
        }
    });
    let (to, from) = (queues.clone(), Arc::clone(context));
    feeds.pods.on_change(move |change| {
        if let Some(pod) = &change.new {
            from.evictions.record(pod);
        }
        pod_changed(&to, &from.caches, change);
        from.flow.record_change(before_and_after(change, waits_for_a_node));
    });
    for (_, feed) in &mut feeds.gang_resources {
        let (to, from) = (queues.clone(), Arc::clone(context));
        feed.on_change(move |change| {
            if let Change { old: Some(old), new: None } = change {
                let owners = old.owner_references().iter().filter(|owner| owner.controller == Some(true));
                owners.for_each(|owner| from.synced.record_deleted_resource(&owner.uid));
            }
            gang_resource_changed(&to, change);
        });
    }
}

fn has_new_update_report(change: &Change<PodCliqueSet>) -> bool {
    let Change { old: Some(old), new: Some(new) } = change else { return false };
    let update = |pcs: &PodCliqueSet| {
        let status = pcs.status.as_ref();
        status.map(|status| (status.current_generation_hash.clone(), status.update_progress.clone()))
    };
    update(old) != update(new)
}

fn is_scaled_in(pcs: &PodCliqueSet, name: &str) -> bool {
    let rest = name.strip_prefix(&pcs.name_any()).and_then(|rest| rest.strip_prefix('-'));
    let index = rest.and_then(|rest| rest.split('-').next()?.parse::<i32>().ok());
    index.is_none_or(|index| index >= pcs.spec.replicas)
}

/// Wakes all bindings. A scheduler may support only one, and after a deletion another one may take its place.
fn topology_changed(to: &Queues, caches: &Caches, change: &Change<ClusterTopologyBinding>) {
    if is_status_only(change) {
        change.objects().for_each(|binding| to.topologies.wake(None, &binding.name_any()));
        return;
    }
    to.wake_topologies(caches);
    for pcs in caches.pod_clique_sets.store.state() {
        to.pod_clique_sets.wake(pcs.namespace().as_deref(), &pcs.name_any());
        to.pod_clique_set_status.wake(pcs.namespace().as_deref(), &pcs.name_any());
    }
    // Backends derive tiers and names from the levels.
    let refers_to_binding = |pod_gang: &PodGang| {
        let named = pod_gang.annotations().get(ANNOTATION_TOPOLOGY_NAME);
        change.objects().any(|binding| named == Some(&binding.name_any()))
    };
    for pod_gang in caches.pod_gangs.store.state().into_iter().filter(|pod_gang| refers_to_binding(pod_gang))
    {
        to.pod_gangs.wake(pod_gang.namespace().as_deref(), &pod_gang.name_any());
    }
}

/// Wakes all bindings: a node or topology resource may concern any of them, and there are few.
fn topology_source_changed<K: Resource>(to: &Queues, caches: &Caches, change: &Change<K>) {
    if !is_status_only(change) {
        to.wake_topologies(caches);
    }
}

fn service_changed(to: &Queues, change: &Change<Service>) {
    let Some(old) = &change.old else { return };
    if let Some(pcs) = old.labels().get(LABEL_PART_OF) {
        to.pod_clique_sets.wake(old.namespace().as_deref(), pcs);
    }
}

/// An autoscaler of another owner may have a name that a PodCliqueSet needs.
fn autoscaler_changed(to: &Queues, caches: &Caches, change: &Change<HorizontalPodAutoscaler>) {
    let Some(old) = &change.old else { return };
    if change.new.as_ref().is_some_and(|new| old.spec == new.spec && has_same_metadata(&**old, &**new)) {
        return;
    }
    let (namespace, name) = (old.namespace(), old.name_any());
    let clique = caches.pod_cliques.get(namespace.as_deref(), &name);
    let clique = clique.and_then(|found| found.labels().get(LABEL_PART_OF).cloned());
    let group = caches.scaling_groups.get(namespace.as_deref(), &name);
    let group = group.and_then(|found| found.labels().get(LABEL_PART_OF).cloned());
    let owner = old.labels().get(LABEL_PART_OF).cloned();
    owner.into_iter().chain(clique).chain(group).for_each(|pcs| {
        to.pod_clique_sets.wake(namespace.as_deref(), &pcs);
    });
}

/// Wakes the owner of the claim. A claim of a deleted owner blocks the name until its last pod is deleted.
/// Allocation and deallocation wake no reconciler.
fn resource_claim_changed(to: &Queues, change: &Change<ResourceClaim>) {
    let Some(old) = &change.old else { return };
    if change.new.as_ref().is_some_and(|new| has_same_metadata(&**old, &**new)) {
        return;
    }
    let Some(owner) = controller(&**old) else { return };
    let namespace = old.namespace();
    if owner.kind == PodCliqueSet::kind(&()) {
        to.pod_clique_sets.wake(namespace.as_deref(), &owner.name);
    } else if owner.kind == PodCliqueScalingGroup::kind(&()) {
        to.scaling_groups.wake(namespace.as_deref(), &owner.name);
    } else if owner.kind == PodClique::kind(&()) {
        to.pod_cliques.wake(namespace.as_deref(), &owner.name);
    }
}

fn scaling_group_changed(to: &Queues, caches: &Caches, change: &Change<PodCliqueScalingGroup>) {
    let (concerns_itself, concerns_owner) = (!is_status_only(change), concerns_owner(change));
    for pcsg in change.objects() {
        let (namespace, pcs) = (pcsg.namespace(), pcsg.labels().get(LABEL_PART_OF));
        to.scaling_group_status.wake(namespace.as_deref(), &pcsg.name_any());
        pcs.inspect(|pcs| {
            to.pod_clique_set_status.wake(namespace.as_deref(), pcs);
            to.gang_terminations.wake(namespace.as_deref(), pcs);
        });
        if concerns_itself {
            wake_members(to, caches, namespace.as_deref(), &pcsg.name_any());
        }
        if concerns_itself || is_group_updating(pcsg) {
            to.scaling_groups.wake(namespace.as_deref(), &pcsg.name_any());
        }
        if concerns_owner {
            pcs.inspect(|pcs| to.pod_clique_sets.wake(namespace.as_deref(), pcs));
        }
    }
}

/// Wakes the PodClique, its owners, its PodGang and the PodCliques that start after it.
fn pod_clique_changed(to: &Queues, caches: &Caches, change: &Change<PodClique>) {
    let (concerns_itself, concerns_owner) = (!is_status_only(change), concerns_owner(change));
    if let Some(pclq) = change.new.as_ref().or(change.old.as_ref()) {
        wake_followers(to, caches, &**pclq, &pclq.name_any());
    }
    for pclq in change.objects() {
        let (namespace, labels) = (pclq.namespace(), pclq.labels());
        let (pcs, pcsg) = (labels.get(LABEL_PART_OF), labels.get(LABEL_SCALING_GROUP));
        to.pod_clique_status.wake(namespace.as_deref(), &pclq.name_any());
        labels.get(LABEL_POD_GANG).inspect(|gang| to.pod_gang_status.wake(namespace.as_deref(), gang));
        pcs.inspect(|pcs| to.gang_terminations.wake(namespace.as_deref(), pcs));
        pcsg.inspect(|pcsg| to.scaling_group_status.wake(namespace.as_deref(), pcsg));
        let is_updating = is_clique_updating(pclq);
        // The status of the PodCliqueSet reads the grouped PodCliques during an update, and after a scale-in
        // until the last one is deleted.
        if pcsg.is_none() || is_updating || change.new.is_none() {
            pcs.inspect(|pcs| to.pod_clique_set_status.wake(namespace.as_deref(), pcs));
        }
        if is_updating {
            pcsg.inspect(|pcsg| to.scaling_groups.wake(namespace.as_deref(), pcsg));
        }
        if concerns_itself || is_updating {
            to.pod_cliques.wake(namespace.as_deref(), &pclq.name_any());
        }
        if concerns_itself {
            labels.get(LABEL_POD_GANG).inspect(|gang| to.pod_gangs.wake(namespace.as_deref(), gang));
        }
        if concerns_owner {
            pcs.inspect(|pcs| to.pod_clique_sets.wake(namespace.as_deref(), pcs));
            pcsg.inspect(|pcsg| to.scaling_groups.wake(namespace.as_deref(), pcsg));
        }
    }
}

/// During an update of the clique, a change of its Ready pods wakes more than the reconciler of its status.
fn is_clique_updating(pclq: &PodClique) -> bool {
    let progress = pclq.status.as_ref().and_then(|status| status.update_progress.as_ref());
    progress.is_some_and(|progress| progress.update_ended_at.is_none())
}

fn is_group_updating(pcsg: &PodCliqueScalingGroup) -> bool {
    let progress = pcsg.status.as_ref().and_then(|status| status.update_progress.as_ref());
    progress.is_some_and(|progress| progress.update_ended_at.is_none())
}

#[cfg(test)]
#[path = "triggers_tests.rs"]
mod tests;
