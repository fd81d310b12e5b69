use grove_api::PodCliqueSet;
use grove_api::names::{LABEL_PART_OF, LABEL_SCALING_GROUP};
use kube::ResourceExt;

use super::queues::Queues;
use crate::cache::caches::{Caches, base_key, gang_key, group_key, object_key};
use crate::cache::informer::Change;
use crate::plan::startup_order::has_order;

pub(super) fn wake_for_update(to: &Queues, caches: &Caches, change: &Change<PodCliqueSet>) {
    let Some(pcs) = &change.new else { return };
    let namespace = pcs.namespace();
    let key = object_key(namespace.as_deref().unwrap_or_default(), &pcs.name_any());
    for pclq in caches.pod_cliques.indexed(&key) {
        to.pod_clique_status.wake(namespace.as_deref(), &pclq.name_any());
        to.pod_cliques.wake(namespace.as_deref(), &pclq.name_any());
    }
    for pcsg in caches.scaling_groups.indexed(&key) {
        to.scaling_group_status.wake(namespace.as_deref(), &pcsg.name_any());
        to.scaling_groups.wake(namespace.as_deref(), &pcsg.name_any());
    }
}

/// Wakes the PodCliques that start after `pclq`, because their statuses report the wait and the next pod of
/// an update. `member` is the PodClique or one of its pods.
pub(super) fn wake_followers(to: &Queues, caches: &Caches, member: &impl ResourceExt, pclq: &str) {
    let (namespace, pcs) = (member.namespace(), member.labels().get(LABEL_PART_OF));
    let pcs = pcs.and_then(|pcs| caches.pod_clique_sets.get(namespace.as_deref(), pcs));
    let Some(pcs) = pcs.filter(|pcs| has_order(pcs)) else { return };
    let key = object_key(namespace.as_deref().unwrap_or_default(), &pcs.name_any());
    for follower in caches.pod_cliques.indexed(&key) {
        if follower.spec.starts_after.iter().any(|parent| parent == pclq) {
            to.pod_clique_status.wake(namespace.as_deref(), &follower.name_any());
            let group = follower.labels().get(LABEL_SCALING_GROUP);
            group.inspect(|group| to.scaling_group_status.wake(namespace.as_deref(), group));
        }
    }
}

pub(super) fn wake_statuses(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    let key = namespace.unwrap_or_default();
    for index in [gang_key(key, pod_gang), base_key(key, pod_gang)] {
        for pclq in caches.pod_cliques.indexed(&index) {
            to.pod_clique_status.wake(namespace, &pclq.name_any());
            let group = pclq.labels().get(LABEL_SCALING_GROUP).cloned();
            group.inspect(|group| to.scaling_group_status.wake(namespace, group));
        }
    }
}

/// Wakes all members of the group, because the group stores the generation of their pods.
pub(super) fn wake_members(to: &Queues, caches: &Caches, namespace: Option<&str>, pcsg: &str) {
    for pclq in caches.pod_cliques.indexed(&group_key(namespace.unwrap_or_default(), pcsg)) {
        to.pod_cliques.wake(namespace, &pclq.name_any());
        to.pod_clique_status.wake(namespace, &pclq.name_any());
    }
}

/// Also wakes the PodCliques whose scaled PodGang waits for this PodGang.
pub(super) fn wake_pod_cliques(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    let key = namespace.unwrap_or_default();
    for index in [gang_key(key, pod_gang), base_key(key, pod_gang)] {
        for pclq in caches.pod_cliques.indexed(&index) {
            to.pod_cliques.wake(namespace, &pclq.name_any());
        }
    }
}

/// A group that is scaled to 0 deletes its members once they have left the PodGang.
pub(super) fn wake_groups(to: &Queues, caches: &Caches, namespace: Option<&str>, pod_gang: &str) {
    for pclq in caches.pod_cliques.indexed(&gang_key(namespace.unwrap_or_default(), pod_gang)) {
        pclq.labels().get(LABEL_SCALING_GROUP).inspect(|group| to.scaling_groups.wake(namespace, group));
    }
}
