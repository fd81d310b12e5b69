//! Maps changes of PodGangs, of their pods and of their gang resources to the reconcilers that they wake.

use std::sync::Arc;

use grove_api::PodGang;
use grove_api::names::{CONDITION_INITIALIZED, LABEL_PART_OF, LABEL_POD_CLIQUE, LABEL_POD_GANG};
use kube::ResourceExt;
use kube::api::DynamicObject;

use super::changes::{
    before_and_after, concerns_owner, has_same_metadata, is_references_only, is_scheduler_message_only,
    is_status_only,
};
use super::failures;
use super::queues::Queues;
use super::wakes::{wake_followers, wake_groups, wake_pod_cliques, wake_statuses};
use crate::backend::is_gated;
use crate::cache::caches::{Caches, base_key, pod_gang_of};
use crate::cache::generation;
use crate::cache::informer::Change;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::{is_bound, is_live, is_ready};

/// A status that reports only that the PodGang is partially bound does not wake its PodCliques.
pub(super) fn pod_gang_changed(to: &Queues, caches: &Caches, change: &Change<PodGang>) {
    let concerns_owner = concerns_owner(change) && !is_references_only(change);
    let is_created_or_deleted = change.old.is_some() != change.new.is_some();
    let generation =
        |pod_gang: &Option<Arc<PodGang>>| pod_gang.as_ref().map_or(0, |found| generation::of_gang(found));
    let is_recycled = generation(&change.old) != generation(&change.new);
    let podgroups = |pod_gang: &Option<Arc<PodGang>>| {
        let podgroups = pod_gang.iter().flat_map(|pod_gang| &pod_gang.spec.podgroups);
        podgroups.map(|podgroup| podgroup.name.clone()).collect::<Vec<_>>()
    };
    // Among the status fields, only `Initialized` affects objects other than the PodCliqueSet.
    let is_initialized = |pod_gang: &Option<Arc<PodGang>>| {
        let status = pod_gang.as_ref().and_then(|pod_gang| pod_gang.status.as_ref());
        status.and_then(|status| {
            let mut initialized = status.conditions.iter().filter(|one| one.type_ == CONDITION_INITIALIZED);
            initialized.next().map(|initialized| initialized.status.clone())
        })
    };
    let failure = |pod_gang: &Option<Arc<PodGang>>| {
        let condition = pod_gang.as_ref().and_then(|pod_gang| failures::of_pod_gang(pod_gang));
        condition.map(|condition| (condition.reason.clone(), condition.message.clone()))
    };
    let affects_others =
        !is_status_only(change) || is_initialized(&change.old) != is_initialized(&change.new);
    for pod_gang in change.objects() {
        let (namespace, pcs) = (pod_gang.namespace(), pod_gang.labels().get(LABEL_PART_OF));
        to.pod_gang_status.wake(namespace.as_deref(), &pod_gang.name_any());
        match affects_others {
            true => {
                to.pod_gangs.wake(namespace.as_deref(), &pod_gang.name_any());
                wake_pod_cliques(to, caches, namespace.as_deref(), &pod_gang.name_any());
            }
            // The status may report a partially bound PodGang.
            false => {
                pcs.inspect(|pcs| to.gang_terminations.wake(namespace.as_deref(), pcs));
            }
        }
        if concerns_owner {
            pcs.inspect(|pcs| to.pod_clique_sets.wake(namespace.as_deref(), pcs));
        }
        if is_created_or_deleted || failure(&change.old) != failure(&change.new) {
            pcs.inspect(|pcs| to.pod_clique_set_status.wake(namespace.as_deref(), pcs));
        }
        if podgroups(&change.old) != podgroups(&change.new) {
            wake_groups(to, caches, namespace.as_deref(), &pod_gang.name_any());
        }
        if is_recycled {
            pcs.inspect(|pcs| to.gang_terminations.wake(namespace.as_deref(), pcs));
            wake_statuses(to, caches, namespace.as_deref(), &pod_gang.name_any());
        }
    }
}

/// Wakes the reconcilers of the pod's PodClique, of its PodGang, and of all objects that wait for this pod.
pub(super) fn pod_changed(to: &Queues, caches: &Caches, change: &Change<Pod>) {
    let has_changed = |predicate| {
        let [before, after] = before_and_after(change, predicate);
        before != after
    };
    let live_changed = has_changed(is_live);
    let released_changed = has_changed(|pod| is_live(pod) && !is_gated(pod));
    let bound_changed = has_changed(|pod| is_live(pod) && is_bound(pod));
    // A terminating pod ends an expectation, and a deleted pod frees its index.
    let concerns_pod_clique = !is_status_only(change) || live_changed || bound_changed;
    let Some(pod) = change.new.as_ref().or(change.old.as_ref()) else { return };
    let (namespace, labels) = (pod.namespace(), pod.labels());
    let concerns_status = !is_scheduler_message_only(change);
    if let Some(pclq) = labels.get(LABEL_POD_CLIQUE) {
        if concerns_status {
            to.pod_clique_status.wake(namespace.as_deref(), pclq);
        }
        if concerns_pod_clique {
            to.pod_cliques.wake(namespace.as_deref(), pclq);
        }
        if has_changed(|pod| is_live(pod) && is_ready(pod)) {
            wake_followers(to, caches, &**pod, pclq);
        }
    }
    if let Some(pod_gang) = labels.get(LABEL_POD_GANG) {
        if concerns_status {
            to.pod_gang_status.wake(namespace.as_deref(), pod_gang);
        }
        // A scaled PodGang reports that it waits for its base.
        if bound_changed {
            let waiting =
                caches.pod_cliques.indexed(&base_key(&namespace.clone().unwrap_or_default(), pod_gang));
            let waiting = waiting.iter().filter_map(|pclq| pclq.labels().get(LABEL_POD_GANG).cloned());
            waiting.for_each(|scaled| to.pod_gang_status.wake(namespace.as_deref(), &scaled));
        }
        if live_changed || released_changed {
            to.pod_gangs.wake(namespace.as_deref(), pod_gang);
        }
        // Surplus pods wait for the hard gang, and scaled gangs for their base (KUBE-08, AON-06). A
        // terminated replica waits until old pods are deleted (TERM-07).
        let is_deleted = change.new.is_none();
        if is_deleted {
            to.pod_gangs.wake(namespace.as_deref(), pod_gang);
        }
        if bound_changed || is_deleted {
            wake_pod_cliques(to, caches, namespace.as_deref(), pod_gang);
        }
    }
}

/// A status change wakes only the PodGang's status, even if the kind has no status subresource.
pub(super) fn gang_resource_changed(to: &Queues, change: &Change<DynamicObject>) {
    for object in change.objects() {
        if let Some(pod_gang) = pod_gang_of(object) {
            to.pod_gang_status.wake(object.namespace().as_deref(), &pod_gang);
        }
    }
    if let Change { old: Some(old), new: Some(new) } = change
        && old.data["spec"] == new.data["spec"]
        && has_same_metadata(&**old, &**new)
    {
        return;
    }
    for object in change.objects() {
        if let Some(pod_gang) = pod_gang_of(object) {
            to.pod_gangs.wake(object.namespace().as_deref(), &pod_gang);
        }
    }
}
