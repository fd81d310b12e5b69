use std::sync::Arc;
use std::time::Duration;

use grove_api::PodClique;
use jiff::Timestamp;
use kube::ResourceExt;

use super::caches::{Caches, object_key};
use super::generation;
use super::observed_pod::{Pod, PodCondition};
use super::ownership::{is_controlled_by, is_of_namesake};
use crate::faults::fault;

pub(crate) fn is_former(pod: &Pod, current: u64) -> bool {
    generation::of_pod(pod) < current
}

pub(crate) fn own_pods(caches: &Caches, pclq: &PodClique) -> Vec<Arc<Pod>> {
    let is_own = |pod: &Pod| is_controlled_by(pod, pclq) || fault!("foreign-pods-count");
    named_pods(caches, pclq).into_iter().filter(|pod| is_own(pod)).collect()
}

/// Whether live pods of a deleted PodClique of the same name remain. New pods cannot use their indexes yet.
pub(crate) fn has_earlier_pods(caches: &Caches, pclq: &PodClique) -> bool {
    named_pods(caches, pclq).iter().any(|pod| is_earlier(pod, pclq))
}

/// A pod of another owner does not count, even if it has these labels (STAT-19).
fn is_earlier(pod: &Pod, pclq: &PodClique) -> bool {
    is_live(pod) && is_of_namesake(pod, pclq) && !is_controlled_by(pod, pclq)
}

/// Pods of the PodClique, and of a deleted PodClique of the same name.
pub(crate) fn pods_of_name(caches: &Caches, pclq: &PodClique) -> Vec<Arc<Pod>> {
    named_pods(caches, pclq).into_iter().filter(|pod| is_of_namesake(&**pod, pclq)).collect()
}

fn named_pods(caches: &Caches, pclq: &PodClique) -> Vec<Arc<Pod>> {
    caches.pods.indexed(&object_key(&pclq.namespace().unwrap_or_default(), &pclq.name_any()))
}

pub(crate) fn is_live(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none() && !is_finished(pod)
}

pub(crate) fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

pub(crate) fn has_condition(pod: &Pod, type_: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// kube-scheduler and Volcano set this condition, and KAI with the flag `--update-pod-eviction-condition`.
pub(crate) fn is_preempted(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| {
        condition.type_ == "DisruptionTarget"
            && condition.status == "True"
            && condition.reason.as_deref() == Some("PreemptionByScheduler")
    })
}

/// Whether the pod has left the gang. A scheduler may still count such a pod.
pub(crate) fn has_left(pod: &Pod, generation: u64) -> bool {
    is_former(pod, generation) || (is_preempted(pod) && !is_live(pod))
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    is_bound(pod) && has_condition(pod, "Ready")
}

/// The age from which a released pod without a node waits for room. A refusal is no earlier sign: the
/// replaced pod may still have its node. Koordinator reports none (observation `waits/too-few-pods-on-pods`).
pub(crate) const ROOM_WAIT: Duration = Duration::from_secs(10);

pub(crate) fn waits_for_room(pod: &Pod, now: Timestamp) -> bool {
    let created = pod.metadata.creation_timestamp.as_ref();
    let age = created.and_then(|created| Duration::try_from(now.duration_since(created.0)).ok());
    !is_bound(pod) && pod.gates().next().is_none() && age.is_some_and(|age| age >= ROOM_WAIT)
}

/// Whether a deleted pod still has its node. On a lost node it would keep it indefinitely, so its grace period
/// limits this. The deletion timestamp is the end of this period.
pub(crate) fn still_has_node(pod: &Pod, now: Timestamp) -> bool {
    let end = pod.metadata.deletion_timestamp.as_ref();
    let late = end.and_then(|end| Duration::try_from(now.duration_since(end.0)).ok());
    is_bound(pod) && end.is_some() && late.is_none_or(|late| late < ROOM_WAIT)
}

/// The API server, not a scheduler, sets the reason `SchedulingGated`.
pub(crate) fn refusal(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().find(|condition| {
        condition.type_ == "PodScheduled"
            && condition.status == "False"
            && condition.reason.as_deref() != Some("SchedulingGated")
            && !is_bound(pod)
    })
}

pub(crate) fn waits_for_a_node(pod: &Pod) -> bool {
    is_live(pod) && !is_bound(pod) && refusal(pod).is_none()
}

pub(crate) fn bound_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled =
        conditions.iter().find(|found| found.type_ == "PodScheduled" && found.status == "True")?;
    Some(scheduled.last_transition_time.as_ref()?.0)
}

pub(crate) fn is_bound(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(spec: &Value, reason: Option<&str>) -> Pod {
        let condition =
            reason.map(|reason| json!({"type": "PodScheduled", "status": "False", "reason": reason}));
        let conditions: Vec<_> = condition.into_iter().collect();
        serde_json::from_value(json!({
            "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": spec,
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::own("PodClique", "w-0-a", "u", false)]
    #[case::of_a_deleted_pod_clique("PodClique", "w-0-a", "former", true)]
    #[case::of_another_pod_clique("PodClique", "w-0-b", "other", false)]
    #[case::of_another_owner("ReplicaSet", "w-0-a", "other", false)]
    fn only_pods_of_a_deleted_pod_clique_of_the_name_are_earlier_pods(
        #[case] kind: &str,
        #[case] name: &str,
        #[case] uid: &str,
        #[case] is_found: bool,
    ) {
        let pclq: PodClique = serde_json::from_value(json!({
            "metadata": {"name": "w-0-a", "uid": "u"}, "spec": {"podSpec": {}, "replicas": 1},
        }))
        .unwrap();
        let owner = json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true});
        let pod: Pod =
            serde_json::from_value(json!({"metadata": {"name": "p", "ownerReferences": [owner]}})).unwrap();
        assert_eq!(is_earlier(&pod, &pclq), is_found);
    }

    #[rstest::rstest]
    #[case::evicted("PreemptionByScheduler", true, true)]
    #[case::marked("PreemptionByScheduler", false, false)]
    #[case::evicted_by_another("EvictionByEvictionAPI", true, false)]
    fn an_evicted_pod_leaves_its_gang_when_it_is_deleted(
        #[case] reason: &str,
        #[case] is_terminating: bool,
        #[case] left: bool,
    ) {
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason});
        let deleted = is_terminating.then_some("2026-01-01T00:00:00Z");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "deletionTimestamp": deleted},
            "spec": {"nodeName": "n"}, "status": {"conditions": [condition]},
        }))
        .unwrap();
        assert_eq!(has_left(&pod.trimmed(), 0), left);
    }

    #[rstest::rstest]
    #[case::refused_at_once(json!({}), Some("Unschedulable"), 1, false)]
    #[case::refused_by_kube_scheduler(json!({}), Some("Unschedulable"), 11, true)]
    #[case::waiting_in_volcano(json!({}), Some("Schedulable"), 11, true)]
    #[case::held_by_koordinator(json!({}), None, 11, true)]
    #[case::gated(json!({"schedulingGates": [{"name": "g"}]}), Some("SchedulingGated"), 11, false)]
    #[case::bound(json!({"nodeName": "n"}), None, 11, false)]
    fn a_released_pod_waits_for_room_once_it_is_old(
        #[case] spec: Value,
        #[case] reason: Option<&str>,
        #[case] age: i64,
        #[case] waits: bool,
    ) {
        let created: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now = created + jiff::SignedDuration::from_secs(age);
        assert_eq!(waits_for_room(&pod(&spec, reason), now), waits);
    }

    #[rstest::rstest]
    #[case::in_its_grace_period(json!({"nodeName": "n"}), Some(-20), true)]
    #[case::just_over(json!({"nodeName": "n"}), Some(9), true)]
    #[case::stuck_on_a_lost_node(json!({"nodeName": "n"}), Some(10), false)]
    #[case::never_bound(json!({}), Some(-20), false)]
    #[case::not_deleted(json!({"nodeName": "n"}), None, false)]
    fn a_deleted_pod_has_its_node_until_its_grace_period_is_over(
        #[case] spec: Value,
        #[case] since_end: Option<i64>,
        #[case] has_room: bool,
    ) {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let mut pod = pod(&spec, None);
        let end = since_end.map(|since| now - jiff::SignedDuration::from_secs(since));
        pod.metadata.deletion_timestamp = end.map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time);
        assert_eq!(still_has_node(&pod, now), has_room);
    }
}
