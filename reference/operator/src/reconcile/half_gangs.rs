//! Finds PodGangs that are only partially bound. Either their scheduler binds podgroups one by one (TERM-17),
//! or a pod waits for its volume after all pods have got nodes (TERM-21).
//!
//! Such a gang is not breached, because some of its podgroups were never bound. Two partially bound gangs may
//! each hold nodes that the other gang needs. So a partially bound gang is terminated after the termination
//! delay.
//!
//! PodGangs that wait for room are terminated one per delay, the youngest first. If all were terminated at
//! once, each could bind the same pods again. A PodGang that waits for a volume has room, so it is terminated
//! after one delay.
//!
//! A scaling group replica in a base PodGang may be terminated alone, and then only partially bound. The rest
//! of the PodGang is not affected, so only this replica is terminated again.

use std::sync::Arc;
use std::time::Duration;

use grove_api::PodGang;
use grove_api::names::{CONDITION_POD_GANG_SCHEDULED, LABEL_SCHEDULER_NAME};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::cache::caches::Caches;
use crate::cache::gang_view::GangView;
use crate::cache::pods::{bound_since, refusal};
use crate::context::Context;
use crate::status::held::held_since;

/// How long a scheduler may take to bind all pods of a gang, even if the termination delay is shorter.
const MIN_BINDING_TIME: Duration = Duration::from_secs(6);

struct PodGroupBinding {
    minimum: Option<Timestamp>,
    first_pod: Option<Timestamp>,
}

struct HalfBound {
    since: Timestamp,
    /// Whether a scheduler refuses a pod of the PodGang.
    waits_for_room: bool,
}

/// A gang that was fully bound and has lost a pod is breached, which `gang_termination` handles. `part` limits
/// the PodGang to the podgroups of these PodCliques.
fn find_half_bound(caches: &Caches, pod_gang: &PodGang, part: Option<&[String]>) -> Option<HalfBound> {
    let pcs = caches.pod_clique_set_of(pod_gang)?;
    let mut view = GangView::of(caches, pod_gang);
    view.podgroups.retain(|podgroup| part.is_none_or(|part| part.contains(&podgroup.name)));
    view.unbound_minimum()?;
    let bindings = view.podgroups.iter().filter(|podgroup| podgroup.min_replicas > 0).map(|podgroup| {
        let member = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name);
        let minimum = member.and_then(|member| {
            held_since(&member.status.as_ref()?.conditions, caches.generation_of(&pcs, &member))
        });
        PodGroupBinding { minimum, first_pod: podgroup.pods.iter().filter_map(|pod| bound_since(pod)).min() }
    });
    let since = half_bound_since(pod_gang, &bindings.collect::<Vec<_>>())?;
    Some(HalfBound { since, waits_for_room: view.pods().iter().any(|pod| refusal(pod).is_some()) })
}

fn half_bound_since(pod_gang: &PodGang, bindings: &[PodGroupBinding]) -> Option<Timestamp> {
    let times = bindings.iter().flat_map(|podgroup| [podgroup.minimum, podgroup.first_pod]);
    let since = times.flatten().min()?;
    if bindings.iter().all(|podgroup| podgroup.minimum.is_some()) {
        return None;
    }
    let mut conditions = pod_gang.status.as_ref()?.conditions.iter();
    let scheduled = conditions.find(|condition| condition.type_ == CONDITION_POD_GANG_SCHEDULED)?;
    (scheduled.status == "False" && scheduled.last_transition_time.0 <= since).then_some(since)
}

/// Returns since when the PodGang, or this part of it, is partially bound, and after how many termination
/// delays it is terminated.
pub(super) fn half_bound(
    context: &Context,
    pod_gang: &PodGang,
    part: Option<&[String]>,
) -> Option<(Timestamp, u32)> {
    let HalfBound { since, waits_for_room } = find_half_bound(&context.caches, pod_gang, part)?;
    if !waits_for_room {
        return Some((since, 1));
    }
    let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME);
    let age = |pod_gang: &PodGang| {
        (pod_gang.metadata.creation_timestamp.as_ref().map(|created| created.0), pod_gang.uid())
    };
    let others = context.caches.pod_gangs.store.state();
    let younger = others.iter().filter(|other: &&Arc<PodGang>| {
        other.labels().get(LABEL_SCHEDULER_NAME) == scheduler
            && age(other) > age(pod_gang)
            && find_half_bound(&context.caches, other, None).is_some_and(|other| other.waits_for_room)
    });
    Some((since, u32::try_from(younger.count()).unwrap_or(u32::MAX).saturating_add(1)))
}

pub(super) fn time_left(half_bound: (Timestamp, u32), delay: Duration, now: Timestamp) -> Duration {
    let (since, delays) = half_bound;
    let elapsed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    delay.max(MIN_BINDING_TIME).saturating_mul(delays).saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use grove_api::names::CONDITION_MIN_AVAILABLE_HELD;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::test_api::World;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod_gang(scheduled: &str, since: i64) -> PodGang {
        let condition = json!({"type": CONDITION_POD_GANG_SCHEDULED, "status": scheduled, "reason": "R", "message": "",
                               "lastTransitionTime": at(since)});
        serde_json::from_value(json!({
            "metadata": {"name": "g"}, "spec": {"podgroups": []},
            "status": {"phase": "Pending", "conditions": [condition]},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::one_of_two(&[(Some(5), Some(5)), (None, None)], ("False", 3), Some(5))]
    #[case::the_first_of_three(&[(Some(7), Some(7)), (None, None), (Some(5), Some(5))], ("False", 3), Some(5))]
    #[case::a_bound_pod_was_replaced(&[(Some(5), Some(8)), (None, None)], ("False", 3), Some(5))]
    #[case::a_part_of_a_podgroup(&[(None, Some(5))], ("False", 3), Some(5))]
    #[case::nothing_bound(&[(None, None), (None, None)], ("False", 3), None)]
    #[case::all_bound(&[(Some(5), Some(5)), (Some(6), Some(6))], ("True", 6), None)]
    #[case::whole_before_a_replica_was_terminated(&[(Some(5), Some(5)), (None, None)], ("False", 9), None)]
    fn a_gang_is_half_bound_since_its_first_binding(
        #[case] bindings: &[(Option<i64>, Option<i64>)],
        #[case] scheduled: (&str, i64),
        #[case] since: Option<i64>,
    ) {
        let binding = |(minimum, first_pod): &(Option<i64>, Option<i64>)| PodGroupBinding {
            minimum: minimum.map(at),
            first_pod: first_pod.map(at),
        };
        let bindings: Vec<_> = bindings.iter().map(binding).collect();
        assert_eq!(half_bound_since(&pod_gang(scheduled.0, scheduled.1), &bindings), since.map(at));
    }

    fn owned(kind: &str, name: &str, owner: (&str, &str)) -> Value {
        let owner = json!([{"apiVersion": "grove.io/v1alpha1", "kind": owner.0, "name": owner.1,
                            "uid": format!("uid-of-{}", owner.1), "controller": true}]);
        let metadata = json!({"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "labels": {},
                              "ownerReferences": owner});
        json!({"kind": kind, "metadata": metadata})
    }

    fn add_clique_with_pod(world: &mut World, name: &str, bound: Option<i64>) {
        let mut held = json!({"type": CONDITION_MIN_AVAILABLE_HELD, "reason": "Generation0", "message": "",
                              "status": "False", "lastTransitionTime": at(0)});
        let mut pod = owned("Pod", &format!("{name}-x"), ("PodClique", name));
        pod["metadata"]["labels"] = json!({"grove.io/podclique": name});
        pod["spec"] = json!({});
        if let Some(second) = bound {
            held["status"] = json!("True");
            held["lastTransitionTime"] = json!(at(second));
            pod["spec"]["nodeName"] = json!("n");
        }
        let mut pclq = owned("PodClique", name, ("PodCliqueSet", "wl"));
        pclq["spec"] = json!({"podSpec": {}, "replicas": 1, "minAvailable": 1});
        pclq["status"] = json!({"conditions": [held]});
        world.feeds.pod_cliques.take(Event::Apply(serde_json::from_value(pclq).unwrap()));
        world.feeds.pods.take(Event::Apply(serde_json::from_value(pod).unwrap()));
    }

    /// The PodGang was bound until its scaling group replica was terminated at second 9. A part of the replica
    /// is bound again since second 12.
    #[tokio::test]
    async fn a_replica_that_was_terminated_alone_is_half_bound_alone() {
        let mut world = World::new();
        let pcs = json!({
            "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"},
            "spec": {"replicas": 1, "template": {"cliques": []}},
        });
        world.feeds.pod_clique_sets.take(Event::Apply(serde_json::from_value(pcs).unwrap()));
        let cliques = [("wl-0-a", Some(5)), ("wl-0-sg-0-b", Some(12)), ("wl-0-sg-0-c", None)];
        for (name, bound) in cliques {
            add_clique_with_pod(&mut world, name, bound);
        }
        let mut gang = owned("PodGang", "wl-0", ("PodCliqueSet", "wl"));
        let podgroups = cliques.map(|(name, _)| json!({"name": name, "minReplicas": 1, "podReferences": []}));
        gang["spec"] = json!({"podgroups": podgroups});
        gang["status"] = json!(pod_gang("False", 9).status);
        let gang: PodGang = serde_json::from_value(gang).unwrap();
        let since = |part: Option<&[String]>| {
            find_half_bound(&world.context.caches, &gang, part).map(|found| found.since)
        };
        let replica = ["wl-0-sg-0-b", "wl-0-sg-0-c"].map(str::to_owned);
        assert_eq!((since(None), since(Some(&replica[..]))), (None, Some(at(12))));
        assert_eq!(since(Some(&replica[..1])), None, "this part is bound");
        assert_eq!(since(Some(&replica[1..])), None, "no pod of this part is bound");
    }

    #[rstest::rstest]
    #[case::not_yet((at(5), 1), 8, 7)]
    #[case::after_a_younger_one((at(5), 2), 8, 15)]
    #[case::due((at(1), 1), 5, 1)]
    #[case::a_scheduler_needs_longer((at(5), 1), 1, 5)]
    fn the_youngest_gang_is_terminated_first(
        #[case] half_bound: (Timestamp, u32),
        #[case] delay: u64,
        #[case] seconds: u64,
    ) {
        assert_eq!(time_left(half_bound, Duration::from_secs(delay), at(6)), Duration::from_secs(seconds));
    }
}
