//! Wakes the reconcilers of related objects.

use grove_api::PodCliqueSet;
use grove_api::names::{LABEL_PART_OF, LABEL_SCALING_GROUP};
use kube::ResourceExt;

use super::queues::Queues;
use crate::cache::caches::{Caches, of, of_base, of_gang, of_group};
use crate::cache::informer::Change;
use crate::plan::startup_order::has_order;

/// Wakes everything in an update: the PodCliqueSet's status reports the replica in the current update step.
pub(super) fn wake_for_update(to: &Queues, caches: &Caches, change: &Change<PodCliqueSet>) {
    let Some(pcs) = &change.new else { return };
    let (namespace, key) = (pcs.namespace(), of(&pcs.namespace().unwrap_or_default(), &pcs.name_any()));
    for pclq in caches.pod_cliques.indexed(&key) {
        to.pod_clique_status.wake(namespace.as_deref(), &pclq.name_any());
        to.pod_cliques.wake(namespace.as_deref(), &pclq.name_any());
    }
    for pcsg in caches.scaling_groups.indexed(&key) {
        to.scaling_group_status.wake(namespace.as_deref(), &pcsg.name_any());
        to.scaling_groups.wake(namespace.as_deref(), &pcsg.name_any());
    }
}

/// Wakes the statuses of PodCliques that start after `pclq`: they report the wait, and the next pod of an
/// update.
pub(super) fn wake_followers(to: &Queues, caches: &Caches, of_set: &impl ResourceExt, pclq: &str) {
    let (namespace, set) = (of_set.namespace(), of_set.labels().get(LABEL_PART_OF));
    let set = set.and_then(|set| caches.pod_clique_sets.get(namespace.as_deref(), set));
    let Some(set) = set.filter(|set| has_order(set)) else { return };
    for follower in caches.pod_cliques.indexed(&of(&namespace.clone().unwrap_or_default(), &set.name_any())) {
        if follower.spec.starts_after.iter().any(|parent| parent == pclq) {
            to.pod_clique_status.wake(namespace.as_deref(), &follower.name_any());
            let group = follower.labels().get(LABEL_SCALING_GROUP);
            group.inspect(|group| to.scaling_group_status.wake(namespace.as_deref(), group));
        }
    }
}

/// Wakes the statuses that report the progress of a gang termination.
pub(super) fn wake_statuses(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    let key = namespace.unwrap_or_default();
    for index in [of_gang(key, pod_gang), of_base(key, pod_gang)] {
        for pclq in caches.pod_cliques.indexed(&index) {
            to.pod_clique_status.wake(namespace, &pclq.name_any());
            let group = pclq.labels().get(LABEL_SCALING_GROUP).cloned();
            group.inspect(|group| to.scaling_group_status.wake(namespace, group));
        }
    }
}

/// Wakes the PodCliques of a scaling group, which stores the generation of their pods.
pub(super) fn wake_members(to: &Queues, caches: &Caches, namespace: Option<&str>, pcsg: &str) {
    for pclq in caches.pod_cliques.indexed(&of_group(namespace.unwrap_or_default(), pcsg)) {
        to.pod_cliques.wake(namespace, &pclq.name_any());
        to.pod_clique_status.wake(namespace, &pclq.name_any());
    }
}

pub(super) fn wake_pod_cliques(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    let key = namespace.unwrap_or_default();
    for index in [of_gang(key, pod_gang), of_base(key, pod_gang)] {
        for pclq in caches.pod_cliques.indexed(&index) {
            to.pod_cliques.wake(namespace, &pclq.name_any());
        }
    }
}

/// Wakes the scaling groups of a PodGang: members of a group that is scaled to 0 are deleted once they have
/// left the PodGang.
pub(super) fn wake_groups(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    for pclq in caches.pod_cliques.indexed(&of_gang(namespace.unwrap_or_default(), pod_gang)) {
        pclq.labels().get(LABEL_SCALING_GROUP).inspect(|group| to.scaling_groups.wake(namespace, group));
    }
}
