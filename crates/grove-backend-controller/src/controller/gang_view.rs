//! A PodGang and its pods, as cached.
//!
//! Pods are found through their PodCliques by uid, never by label alone. Right after a PodCliqueSet was
//! recreated, the caches still hold its predecessor's pods, which have the same labels (DEL-08).

use std::sync::Arc;
use std::time::Duration;

use grove_api::{NamespacedName, PodClique, PodGang, PodGroup};
use jiff::Timestamp;
use kube::ResourceExt;

use super::caches::{Caches, of};
use super::ownership::{controller, is_controlled_by};
use super::reconcile_loop::Action;
use crate::backend::generation;
use crate::observed_pod::{Pod, PodCondition};

#[derive(Clone, Debug)]
pub(super) struct PodGroupView {
    pub name: String,
    pub min_replicas: i32,
    /// Desired number of pods; `None` while the PodClique does not exist.
    pub wanted: Option<i32>,
    /// Live pods of the current generation, sorted by name.
    pub pods: Vec<Arc<Pod>>,
    /// Remaining pods of earlier generations.
    pub former: Vec<Arc<Pod>>,
}

impl PodGroupView {
    fn has_minimum(&self) -> bool {
        self.pods.len() >= usize::try_from(self.min_replicas).unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
pub(super) struct GangView {
    pub podgroups: Vec<PodGroupView>,
}

impl GangView {
    pub(super) fn of(caches: &Caches, pod_gang: &PodGang) -> Self {
        let podgroup = |podgroup: &PodGroup| {
            let pclq = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name);
            let pclq = pclq.filter(|pclq| is_part_of(caches, pclq, pod_gang));
            let pods = pclq.as_ref().map(|pclq| own_pods(caches, pclq)).unwrap_or_default();
            let wanted =
                pclq.as_ref().and_then(|pclq| Some(caches.generation_of(&*caches.root_of(pclq)?, pclq)));
            let (former, pods) = pods.into_iter().partition(|pod| is_former(pod, wanted.unwrap_or(0)));
            PodGroupView {
                name: podgroup.name.clone(),
                min_replicas: podgroup.min_replicas,
                wanted: pclq.map(|pclq| pclq.spec.replicas),
                pods: Vec::into_iter(pods).filter(|pod| is_live(pod)).collect(),
                former,
            }
        };
        Self { podgroups: pod_gang.spec.podgroups.iter().map(podgroup).collect() }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.incomplete().is_none()
    }

    /// The podgroups of `pod_gang` with references to the live pods, sorted by name (GANG-20). A podgroup
    /// without references, for example after it was idle, gets none until its minimum exists.
    pub(super) fn referenced(&self, pod_gang: &PodGang) -> Vec<PodGroup> {
        let reference = |pod: &Arc<Pod>| NamespacedName {
            namespace: pod.namespace().unwrap_or_default(),
            name: pod.name_any(),
        };
        let pairs = pod_gang.spec.podgroups.iter().zip(&self.podgroups);
        pairs
            .map(|(podgroup, view)| PodGroup {
                pod_references: match podgroup.pod_references.is_empty() && !view.has_minimum() {
                    true => Vec::new(),
                    false => view.pods.iter().map(reference).collect(),
                },
                ..podgroup.clone()
            })
            .collect()
    }

    /// Why a podgroup's minimum does not count as bound; `None` if all are bound (AON-06).
    pub(super) fn unbound_minimum(&self) -> Option<String> {
        self.short_of(is_bound).map(|(podgroup, bound)| {
            format!("{bound} of at least {} pods of {} are bound", podgroup.min_replicas, podgroup.name)
        })
    }

    /// The first podgroup with fewer matching pods than its minimum, and their number.
    pub(super) fn short_of(&self, holds: fn(&Pod) -> bool) -> Option<(&PodGroupView, usize)> {
        self.podgroups.iter().find_map(|podgroup| {
            let count = podgroup.pods.iter().filter(|pod| holds(pod)).count();
            (count < usize::try_from(podgroup.min_replicas).unwrap_or(0)).then_some((podgroup, count))
        })
    }

    pub(super) fn incomplete(&self) -> Option<&PodGroupView> {
        let is_complete = |podgroup: &&PodGroupView| {
            podgroup.wanted.is_some_and(|wanted| podgroup.pods.len() >= usize::try_from(wanted).unwrap_or(0))
        };
        self.podgroups.iter().find(|podgroup| !is_complete(podgroup))
    }

    pub(super) fn former(&self) -> Vec<Arc<Pod>> {
        self.podgroups.iter().flat_map(|podgroup| podgroup.former.iter().cloned()).collect()
    }

    pub(super) fn pods(&self) -> Vec<Arc<Pod>> {
        self.podgroups.iter().flat_map(|podgroup| podgroup.pods.iter().cloned()).collect()
    }
}

pub(super) fn is_former(pod: &Pod, wanted: u64) -> bool {
    generation::of_pod(pod) < wanted
}

/// Pods that this PodClique controls by uid, sorted by name.
pub(super) fn own_pods(caches: &Caches, pclq: &PodClique) -> Vec<Arc<Pod>> {
    named_pods(caches, pclq).into_iter().filter(|pod| is_controlled_by(&**pod, pclq)).collect()
}

/// Whether a live pod of an earlier PodClique of that name remains. The garbage collector has not deleted it
/// yet, so its index is in use.
pub(super) fn has_earlier_pods(caches: &Caches, pclq: &PodClique) -> bool {
    let is_earlier = |pod: &Pod| is_live(pod) && controller(pod).is_some() && !is_controlled_by(pod, pclq);
    named_pods(caches, pclq).iter().any(|pod| is_earlier(pod))
}

fn named_pods(caches: &Caches, pclq: &PodClique) -> Vec<Arc<Pod>> {
    caches.pods.indexed(&of(&pclq.namespace().unwrap_or_default(), &pclq.name_any()))
}

fn is_part_of(caches: &Caches, pclq: &PodClique, pod_gang: &PodGang) -> bool {
    match (caches.root_of(pclq), controller(pod_gang)) {
        (Some(pcs), Some(_)) => is_controlled_by(pod_gang, &*pcs),
        (root, None) => root.is_some(),
        (None, Some(_)) => false,
    }
}

/// Whether a pod is neither finished nor being deleted.
pub(super) fn is_live(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none() && !is_finished(pod)
}

pub(super) fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

pub(super) fn has_condition(pod: &Pod, type_: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Whether a pod is bound and Ready.
pub(super) fn is_ready(pod: &Pod) -> bool {
    is_bound(pod) && has_condition(pod, "Ready")
}

/// After this time, a released pod without a node and without a condition counts as waiting for room.
/// Koordinator writes no condition for a gang that it holds.
const UNREPORTED_WAIT: Duration = Duration::from_secs(10);

/// When to compute a status again. During an update, elapsed time decides which pods wait for room, and no
/// watch event reports that.
pub(super) fn next_look(is_updating: bool) -> Action {
    if is_updating { Action::requeue(UNREPORTED_WAIT) } else { Action::await_change() }
}

/// Whether a released pod waits for room: it is not bound, and its scheduler reported a reason, or nothing
/// for [`UNREPORTED_WAIT`].
pub(super) fn waits_for_room(pod: &Pod, now: Timestamp) -> bool {
    let is_older = |made: Timestamp| {
        Duration::try_from(now.duration_since(made)).is_ok_and(|age| age >= UNREPORTED_WAIT)
    };
    let is_old = || pod.metadata.creation_timestamp.as_ref().is_some_and(|made| is_older(made.0));
    !is_bound(pod) && pod.gates().next().is_none() && (refusal(pod).is_some() || is_old())
}

/// Why a scheduler has not bound a pod. `SchedulingGated` is not a scheduler's reason.
pub(super) fn refusal(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let mut told = conditions.iter().filter(|told| told.type_ == "PodScheduled" && told.status == "False");
    told.find(|told| !is_bound(pod) && told.reason.as_deref() != Some("SchedulingGated"))
}

/// Whether a live pod is not bound and no scheduler has reported why.
pub(super) fn waits_for_a_node(pod: &Pod) -> bool {
    is_live(pod) && !is_bound(pod) && refusal(pod).is_none()
}

pub(super) fn bound_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled =
        conditions.iter().find(|found| found.type_ == "PodScheduled" && found.status == "True")?;
    Some(scheduled.last_transition_time.as_ref()?.0)
}

pub(super) fn is_bound(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(spec: &Value, told: Option<&str>) -> Pod {
        let condition =
            told.map(|reason| json!({"type": "PodScheduled", "status": "False", "reason": reason}));
        let conditions: Vec<_> = condition.into_iter().collect();
        serde_json::from_value(json!({
            "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": spec,
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::refused_by_kube_scheduler(json!({}), Some("Unschedulable"), 1, true)]
    #[case::of_a_gang_that_waits_in_volcano(json!({}), Some("Schedulable"), 1, true)]
    #[case::just_made(json!({}), None, 1, false)]
    #[case::held_by_koordinator(json!({}), None, 11, true)]
    #[case::released_and_not_tried_yet(json!({}), Some("SchedulingGated"), 1, false)]
    #[case::gated(json!({"schedulingGates": [{"name": "g"}]}), Some("SchedulingGated"), 11, false)]
    #[case::bound(json!({"nodeName": "n"}), None, 11, false)]
    fn what_waits_for_room(
        #[case] spec: Value,
        #[case] told: Option<&str>,
        #[case] second: i64,
        #[case] waits: bool,
    ) {
        let made: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now = made + jiff::SignedDuration::from_secs(second);
        assert_eq!(waits_for_room(&pod(&spec, told), now), waits);
    }
}
