//! Which change wakes which reconciler.
//!
//! Nothing is polled: every reconciler is woken by each change of what it reads, and by as little else as can
//! be told from the old and the new object. Status-only changes of children wake only the reconcilers of
//! status.

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};

use super::caches::{Caches, Feeds, of_base, of_gang, pod_gang_of};
use super::context::Context;
use super::gang_view::{is_bound, is_live};
use super::informer::Change;
use super::queues::Queues;
use crate::api::names::{LABEL_PART_OF, LABEL_POD_CLIQUE, LABEL_POD_GANG, LABEL_SCALING_GROUP};
use crate::api::{PodClique, PodCliqueScalingGroup, PodGang};

/// Connects every feed to the inboxes.
pub fn connect(feeds: &mut Feeds, context: &std::sync::Arc<Context>) {
    let Context { queues, caches, .. } = &**context;
    let to = queues.clone();
    feeds.pod_clique_sets.on_change(move |change| {
        if let Some(pcs) = &change.new {
            to.pod_clique_sets.wake(pcs.namespace().as_deref(), &pcs.name_any());
            to.pod_clique_set_status.wake(pcs.namespace().as_deref(), &pcs.name_any());
        }
    });
    let to = queues.clone();
    let sets = caches.pod_clique_sets.clone();
    feeds.topologies.on_change(move |_| {
        for pcs in sets.store.state() {
            to.pod_clique_sets.wake(pcs.namespace().as_deref(), &pcs.name_any());
            to.pod_clique_set_status.wake(pcs.namespace().as_deref(), &pcs.name_any());
        }
    });
    let to = queues.clone();
    feeds.services.on_change(move |change| service_changed(&to, change));
    let to = queues.clone();
    feeds.scaling_groups.on_change(move |change| scaling_group_changed(&to, change));
    let (to, from) = (queues.clone(), std::sync::Arc::clone(context));
    feeds.pod_cliques.on_change(move |change| {
        pod_clique_changed(&to, change);
        if let Change { old: Some(old), new: None } = change {
            from.expectations.forget(&old.uid().unwrap_or_default());
            from.events.forget(&old.uid().unwrap_or_default());
        }
    });
    let (to, from) = (queues.clone(), std::sync::Arc::clone(context));
    feeds.pod_gangs.on_change(move |change| {
        pod_gang_changed(&to, &from.caches, change);
        if let Change { old: Some(old), new: None } = change {
            from.synced.forget(&old.uid().unwrap_or_default());
            from.events.forget(&old.uid().unwrap_or_default());
        }
    });
    let (to, caches) = (queues.clone(), caches.clone());
    feeds.pods.on_change(move |change| pod_changed(&to, &caches, change));
    for (_, feed) in &mut feeds.gang_resources {
        let to = queues.clone();
        feed.on_change(move |change| gang_resource_changed(&to, change));
    }
}

fn service_changed(to: &Queues, change: &Change<Service>) {
    for service in change.objects() {
        if let Some(pcs) = service.labels().get(LABEL_PART_OF) {
            to.pod_clique_sets.wake(service.namespace().as_deref(), pcs);
        }
    }
}

fn scaling_group_changed(to: &Queues, change: &Change<PodCliqueScalingGroup>) {
    let objects_too = !is_status_only(change);
    for pcsg in change.objects() {
        let (namespace, pcs) = (pcsg.namespace(), pcsg.labels().get(LABEL_PART_OF));
        to.scaling_group_status.wake(namespace.as_deref(), &pcsg.name_any());
        pcs.inspect(|pcs| to.pod_clique_set_status.wake(namespace.as_deref(), pcs));
        if objects_too {
            to.scaling_groups.wake(namespace.as_deref(), &pcsg.name_any());
            pcs.inspect(|pcs| to.pod_clique_sets.wake(namespace.as_deref(), pcs));
        }
    }
}

fn pod_clique_changed(to: &Queues, change: &Change<PodClique>) {
    let objects_too = !is_status_only(change);
    for pclq in change.objects() {
        let (namespace, labels) = (pclq.namespace(), pclq.labels());
        let (pcs, pcsg) = (labels.get(LABEL_PART_OF), labels.get(LABEL_SCALING_GROUP));
        to.pod_clique_status.wake(namespace.as_deref(), &pclq.name_any());
        match (pcs, pcsg) {
            (_, Some(pcsg)) => to.scaling_group_status.wake(namespace.as_deref(), pcsg),
            (Some(pcs), None) => to.pod_clique_set_status.wake(namespace.as_deref(), pcs),
            (None, None) => {}
        }
        if objects_too {
            to.pod_cliques.wake(namespace.as_deref(), &pclq.name_any());
            pcs.inspect(|pcs| to.pod_clique_sets.wake(namespace.as_deref(), pcs));
            pcsg.inspect(|pcsg| to.scaling_groups.wake(namespace.as_deref(), pcsg));
            labels.get(LABEL_POD_GANG).inspect(|gang| to.pod_gangs.wake(namespace.as_deref(), gang));
        }
    }
}

fn pod_gang_changed(to: &Queues, caches: &Caches, change: &Change<PodGang>) {
    let objects_too = !is_status_only(change);
    for pod_gang in change.objects() {
        let namespace = pod_gang.namespace();
        to.pod_gangs.wake(namespace.as_deref(), &pod_gang.name_any());
        wake_pod_cliques(to, caches, namespace.as_deref(), &pod_gang.name_any());
        if objects_too && let Some(pcs) = pod_gang.labels().get(LABEL_PART_OF) {
            to.pod_clique_sets.wake(namespace.as_deref(), pcs);
            to.pod_clique_set_status.wake(namespace.as_deref(), pcs);
        }
    }
}

fn pod_changed(to: &Queues, caches: &Caches, change: &Change<Pod>) {
    let before_and_after = |holds: fn(&Pod) -> bool| {
        [&change.old, &change.new].map(|pod| pod.as_ref().is_some_and(|pod| holds(pod)))
    };
    let turned = |[before, after]: [bool; 2]| before != after;
    let live_turned = turned(before_and_after(is_live));
    let bound_turned = turned(before_and_after(|pod| is_live(pod) && is_bound(pod)));
    // A pod that is going ends an expectation, one that is gone lets its index be used again.
    let own_too = !is_status_only(change) || live_turned || bound_turned;
    let Some(pod) = change.new.as_ref().or(change.old.as_ref()) else { return };
    let (namespace, labels) = (pod.namespace(), pod.labels());
    if let Some(pclq) = labels.get(LABEL_POD_CLIQUE) {
        to.pod_clique_status.wake(namespace.as_deref(), pclq);
        if own_too {
            to.pod_cliques.wake(namespace.as_deref(), pclq);
        }
    }
    if let Some(pod_gang) = labels.get(LABEL_POD_GANG) {
        if live_turned {
            to.pod_gangs.wake(namespace.as_deref(), pod_gang);
        }
        // Surplus pods wait for the hard gang, scaled gangs for their base (KUBE-08, AON-06).
        if bound_turned {
            wake_pod_cliques(to, caches, namespace.as_deref(), pod_gang);
        }
    }
}

/// Wakes the PodCliques of a PodGang and those that wait for it as their base.
fn wake_pod_cliques(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    let key = namespace.unwrap_or_default();
    for index in [of_gang(key, pod_gang), of_base(key, pod_gang)] {
        for pclq in caches.pod_cliques.indexed(&index) {
            to.pod_cliques.wake(namespace, &pclq.name_any());
        }
    }
}

fn gang_resource_changed(to: &Queues, change: &Change<DynamicObject>) {
    for object in change.objects() {
        if let Some(pod_gang) = pod_gang_of(object) {
            to.pod_gangs.wake(object.namespace().as_deref(), &pod_gang);
        }
    }
}

/// Whether an object has changed in its status alone.
fn is_status_only<K: Resource<DynamicType = ()>>(change: &Change<K>) -> bool {
    let Change { old: Some(old), new: Some(new) } = change else { return false };
    let (old, new) = (old.meta(), new.meta());
    old.generation == new.generation
        && old.uid == new.uid
        && old.labels == new.labels
        && old.annotations == new.annotations
        && old.owner_references == new.owner_references
        && old.deletion_timestamp == new.deletion_timestamp
}

#[cfg(test)]
#[path = "triggers_tests.rs"]
mod tests;
