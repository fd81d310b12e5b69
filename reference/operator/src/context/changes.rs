use grove_api::PodGang;
use kube::Resource;

use crate::cache::informer::Change;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::refusal;

pub(super) fn before_and_after(change: &Change<Pod>, predicate: fn(&Pod) -> bool) -> [bool; 2] {
    [&change.old, &change.new].map(|pod| pod.as_ref().is_some_and(|pod| predicate(pod)))
}

/// Whether only the scheduler's message about the pod has changed, which may happen many times per second.
pub(super) fn is_scheduler_message_only(change: &Change<Pod>) -> bool {
    let Change { old: Some(old), new: Some(new) } = change else { return false };
    let without_message = |pod: &Pod| {
        let mut status = pod.status.clone().unwrap_or_default();
        status.conditions.get_or_insert_default().retain(|condition| condition.type_ != "PodScheduled");
        status
    };
    let is_refused = |pod: &Pod| refusal(pod).is_some();
    // Binding a pod does not change its generation.
    is_status_only(change)
        && old.spec == new.spec
        && is_refused(old) == is_refused(new)
        && without_message(old) == without_message(new)
}

/// Whether the owner must react. It need not react to a creation, because only the owner creates the object.
pub(super) fn concerns_owner<K: Resource<DynamicType = ()>>(change: &Change<K>) -> bool {
    change.old.is_some() && !is_status_only(change)
}

pub(super) fn is_status_only<K: Resource>(change: &Change<K>) -> bool {
    let Change { old: Some(old), new: Some(new) } = change else { return false };
    old.meta().generation == new.meta().generation && has_same_metadata(&**old, &**new)
}

/// The PodCliqueSet's reconciler does not write pod references.
pub(super) fn is_references_only(change: &Change<PodGang>) -> bool {
    let Change { old: Some(old), new: Some(new) } = change else { return false };
    let shape = |pod_gang: &PodGang| {
        let mut spec = pod_gang.spec.clone();
        spec.podgroups.iter_mut().for_each(|podgroup| podgroup.pod_references.clear());
        spec
    };
    has_same_metadata(&**old, &**new) && shape(old) == shape(new)
}

pub(super) fn has_same_metadata<K: Resource>(old: &K, new: &K) -> bool {
    let (old, new) = (old.meta(), new.meta());
    old.uid == new.uid
        && old.labels == new.labels
        && old.annotations == new.annotations
        && old.owner_references == new.owner_references
        && old.deletion_timestamp == new.deletion_timestamp
}
