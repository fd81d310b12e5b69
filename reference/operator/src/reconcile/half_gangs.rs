//! Finds PodGangs that are only partially bound. Either their scheduler binds podgroups one by one (TERM-17),
//! or a pod waits for its volume after all pods have got nodes (TERM-21).
//!
//! Such a gang is not breached, because some of its podgroups were never bound. Two partially bound gangs may
//! each hold nodes that the other gang needs. So a partially bound gang is terminated after the termination
//! delay.
//!
//! A scaling group replica in a base PodGang may be terminated alone, and then only partially bound. The rest
//! of the PodGang is not affected, so only this replica is terminated again.
//!
//! PodGangs and replicas that wait for the same room are terminated one per delay, the youngest first
//! (TERM-33). If several were terminated at once, each could bind the same pods again. After a termination, the
//! others keep what they have for a whole delay. A PodGang that waits for a volume has room, so it is terminated
//! after one delay. A PodGang waits only for younger ones that were created before its own delay ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{
    CONDITION_POD_GANG_SCHEDULED, LABEL_SCALING_GROUP, LABEL_SCALING_GROUP_REPLICA_INDEX,
    LABEL_SCHEDULER_NAME,
};
use grove_api::{PodClique, PodGang};
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::cache::caches::Caches;
use crate::cache::gang_view::GangView;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::{bound_since, refusal};
use crate::context::Context;
use crate::context::releases::{GroupReplica, Part};
use crate::faults::fault;
use crate::status::held::held_since;

/// How long a scheduler may take to bind all pods of a gang, even if the termination delay is shorter.
const MIN_BINDING_TIME: Duration = Duration::from_secs(6);

struct PodGroupBinding {
    minimum: Option<Timestamp>,
    first_pod: Option<Timestamp>,
    newest_pod: Option<Timestamp>,
}

struct HalfBound {
    since: Timestamp,
    /// Whether a scheduler refuses a pod of the PodGang.
    waits_for_room: bool,
}

/// A gang that was fully bound and has lost a pod is breached, which `gang_termination` handles. `replica`
/// limits the PodGang to the podgroups of this replica.
fn find_half_bound(caches: &Caches, pod_gang: &PodGang, replica: Option<&GroupReplica>) -> Option<HalfBound> {
    let pcs = caches.pod_clique_set_of(pod_gang)?;
    let mut view = GangView::of(caches, pod_gang);
    if replica.is_some() {
        let members = members(caches, pod_gang).into_iter();
        let own = members.filter(|member| group_replica(member).as_ref() == replica);
        let names: BTreeSet<_> = own.map(|member| member.name_any()).collect();
        view.podgroups.retain(|podgroup| names.contains(&podgroup.name));
    }
    view.unbound_minimum()?;
    let bindings = view.podgroups.iter().filter(|podgroup| podgroup.min_replicas > 0).map(|podgroup| {
        let member = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name);
        let minimum = member.and_then(|member| {
            held_since(&member.status.as_ref()?.conditions, caches.generation_of(&pcs, &member))
        });
        let created = |pod: &Arc<Pod>| Some(pod.metadata.creation_timestamp.as_ref()?.0);
        PodGroupBinding {
            minimum,
            first_pod: podgroup.pods.iter().filter_map(|pod| bound_since(pod)).min(),
            newest_pod: podgroup.pods.iter().filter_map(created).max(),
        }
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
    // The condition may be written after the first binding of recreated pods. These existed before the binding,
    // unlike the pods of a replica that was recreated alone.
    let mut waiting = bindings.iter().filter(|podgroup| podgroup.minimum.is_none());
    let are_as_old = waiting.all(|podgroup| podgroup.newest_pod.is_some_and(|newest| newest <= since));
    let was_unscheduled = scheduled.last_transition_time.0 <= since || are_as_old;
    (scheduled.status == "False" && was_unscheduled).then_some(since)
}

fn members(caches: &Caches, pod_gang: &PodGang) -> Vec<Arc<PodClique>> {
    let (namespace, podgroups) = (pod_gang.namespace(), pod_gang.spec.podgroups.iter());
    podgroups.filter_map(|podgroup| caches.pod_cliques.get(namespace.as_deref(), &podgroup.name)).collect()
}

fn group_replica(pclq: &PodClique) -> Option<GroupReplica> {
    let index = pclq.labels().get(LABEL_SCALING_GROUP_REPLICA_INDEX)?.parse().ok()?;
    Some(GroupReplica { index, group: pclq.labels().get(LABEL_SCALING_GROUP)?.clone() })
}

fn part(pod_gang: &PodGang, replica: Option<GroupReplica>) -> Part {
    Part {
        created: pod_gang.metadata.creation_timestamp.as_ref().map(|created| created.0),
        pod_gang: pod_gang.uid().unwrap_or_default(),
        replica,
    }
}

/// The PodGang if it waits for room, otherwise those of its scaling group replicas that do.
fn parts_without_room(caches: &Caches, pod_gang: &PodGang) -> BTreeSet<Part> {
    let waits_for_room = |replica: Option<&GroupReplica>| {
        find_half_bound(caches, pod_gang, replica).is_some_and(|found| found.waits_for_room)
    };
    if waits_for_room(None) {
        return BTreeSet::from([part(pod_gang, None)]);
    }
    let replicas: BTreeSet<_> =
        members(caches, pod_gang).iter().filter_map(|member| group_replica(member)).collect();
    let waiting = replicas.into_iter().filter(|replica| waits_for_room(Some(replica)));
    waiting.map(|replica| part(pod_gang, Some(replica))).collect()
}

/// The PodGangs that may wait for the same room as this one, which is one of them.
fn competing(caches: &Caches, pod_gang: &PodGang) -> Vec<Arc<PodGang>> {
    let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME);
    let own = members(caches, pod_gang);
    let mut all = caches.pod_gangs.store.state();
    all.retain(|other| {
        other.labels().get(LABEL_SCHEDULER_NAME) == scheduler
            && may_share_nodes(&own, &members(caches, other))
    });
    all
}

/// Whether the node selectors of a PodClique of each gang may match one node. Affinities are not compared.
fn may_share_nodes(one: &[Arc<PodClique>], other: &[Arc<PodClique>]) -> bool {
    let may_share = |one: &PodClique, other: &PodClique| {
        may_match(&one.spec.pod_spec.0["nodeSelector"], &other.spec.pod_spec.0["nodeSelector"])
    };
    one.iter().any(|one| other.iter().any(|other| may_share(one, other)))
}

fn may_match(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return true };
    one.iter().all(|(label, value)| other.get(label).is_none_or(|other| other == value))
}

/// Returns the time until this part is terminated if it is partially bound. At zero, the caller must terminate it.
pub(super) fn release(
    context: &Context,
    pod_gang: &PodGang,
    replica: Option<GroupReplica>,
    delay: Duration,
    now: Timestamp,
) -> Option<Duration> {
    let HalfBound { since, waits_for_room } = find_half_bound(&context.caches, pod_gang, replica.as_ref())?;
    if fault!("blocked-gangs-released-together") {
        let together = Timestamp::from_second(since.as_second() / 10 * 10).unwrap_or(since);
        return Some(time_left((together, 1), delay, now));
    }
    let own_delay = time_left((since, 1), delay, now);
    // The other parts are many in a large cluster, so they are read only once the part may be terminated.
    if !waits_for_room || !own_delay.is_zero() {
        return Some(own_delay);
    }
    let part = part(pod_gang, replica);
    Some(context.releases.release(&part, now, |released| {
        let competing = competing(&context.caches, pod_gang);
        // Otherwise a steady supply of new gangs could hold this one back indefinitely.
        let is_in_time = |other: &Part| {
            other.created.is_none_or(|created| !time_left((since, 1), delay, created).is_zero())
        };
        let waiting = competing.iter().flat_map(|other| parts_without_room(&context.caches, other));
        let waiting: Vec<_> = waiting.filter(is_in_time).collect();
        let younger = waiting.iter().filter(|other| **other > part).count();
        let competes =
            |other: &Part| competing.iter().any(|gang| gang.uid().as_ref() == Some(&other.pod_gang));
        let others = released.iter().filter(|(other, _)| **other != part && competes(other));
        let last = others.map(|(_, at)| *at).max();
        time_left_among_others(since, (younger, waiting.len()), last, delay, now)
    }))
}

/// One delay for each younger part and this one, and at least one since the last termination of another part.
/// The latter adds at most one delay for each waiting part, because parts with a shorter delay may be terminated
/// more often.
fn time_left_among_others(
    since: Timestamp,
    (younger, waiting): (usize, usize),
    last: Option<Timestamp>,
    delay: Duration,
    now: Timestamp,
) -> Duration {
    let after = |delays: usize| time_left((since, u32::try_from(delays).unwrap_or(u32::MAX)), delay, now);
    let after_last = last.map_or(Duration::ZERO, |last| time_left((last, 1), delay, now));
    after(younger + 1).max(after_last).min(after(younger + 1 + waiting))
}

fn time_left((since, delays): (Timestamp, u32), delay: Duration, now: Timestamp) -> Duration {
    let elapsed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    delay.max(MIN_BINDING_TIME).saturating_mul(delays).saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use grove_api::names::CONDITION_MIN_AVAILABLE_HELD;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::test_api::{World, owned_by, set_without_cliques};

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
            newest_pod: None,
        };
        let bindings: Vec<_> = bindings.iter().map(binding).collect();
        assert_eq!(half_bound_since(&pod_gang(scheduled.0, scheduled.1), &bindings), since.map(at));
    }

    /// The pods of the former generation were bound until second 4, and the condition was written at second 9.
    #[rstest::rstest]
    #[case::whole_gang(4, Some(5))]
    #[case::in_the_second_of_the_first_binding(5, Some(5))]
    #[case::only_a_part_of_it(6, None)]
    fn a_late_condition_does_not_hide_that_a_recreated_gang_is_half_bound(
        #[case] created: i64,
        #[case] since: Option<i64>,
    ) {
        let bound = PodGroupBinding { minimum: Some(at(5)), first_pod: Some(at(5)), newest_pod: Some(at(4)) };
        let waiting = PodGroupBinding { minimum: None, first_pod: None, newest_pod: Some(at(created)) };
        assert_eq!(half_bound_since(&pod_gang("False", 9), &[bound, waiting]), since.map(at));
    }

    fn owned(kind: &str, name: &str, owner: (&str, &str)) -> Value {
        let metadata = json!({"name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "labels": {},
                              "ownerReferences": owned_by(owner.0, owner.1)});
        json!({"kind": kind, "metadata": metadata})
    }

    /// A PodClique of one pod, which waits for room if it is not bound. The name shows the scaling group replica.
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
        } else {
            let refused = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
            pod["status"] = json!({"conditions": [refused]});
        }
        let mut pclq = owned("PodClique", name, ("PodCliqueSet", "wl"));
        if let Some((group, rest)) = name.split_once("-sg-") {
            let index = &rest[..1];
            pclq["metadata"]["labels"] =
                json!({LABEL_SCALING_GROUP: format!("{group}-sg"), LABEL_SCALING_GROUP_REPLICA_INDEX: index});
        }
        pclq["spec"] = json!({"podSpec": {}, "replicas": 1, "minAvailable": 1});
        pclq["status"] = json!({"conditions": [held]});
        world.feeds.pod_cliques.apply(pclq);
        world.feeds.pods.apply(pod);
    }

    /// A world with the PodCliqueSet `wl`, and a PodGang of these cliques that is not bound since `since`.
    fn add_gang(
        world: &mut World,
        (name, created): (&str, i64),
        cliques: &[(&str, Option<i64>)],
        since: i64,
    ) -> PodGang {
        world.feeds.pod_clique_sets.apply(set_without_cliques());
        for (name, bound) in cliques {
            add_clique_with_pod(world, name, *bound);
        }
        let mut gang = owned("PodGang", name, ("PodCliqueSet", "wl"));
        gang["metadata"]["creationTimestamp"] = json!(at(created));
        gang["metadata"]["labels"] = json!({LABEL_SCHEDULER_NAME: "default-scheduler"});
        let podgroup =
            |(name, _): &(&str, Option<i64>)| json!({"name": name, "minReplicas": 1, "podReferences": []});
        gang["spec"] = json!({"podgroups": cliques.iter().map(podgroup).collect::<Vec<_>>()});
        gang["status"] = json!(pod_gang("False", since).status);
        world.feeds.pod_gangs.apply(gang.clone());
        serde_json::from_value(gang).unwrap()
    }

    fn replica(index: i32) -> Option<GroupReplica> {
        Some(GroupReplica { index, group: "wl-0-sg".to_owned() })
    }

    /// The PodGang was bound until its scaling group replica was terminated at second 9. A part of the replica
    /// is bound again since second 12.
    #[tokio::test]
    async fn a_replica_that_was_terminated_alone_is_half_bound_alone() {
        let mut world = World::new();
        let cliques = [
            ("wl-0-a", Some(5)),
            ("wl-0-sg-0-b", Some(12)),
            ("wl-0-sg-0-c", None),
            ("wl-0-sg-1-b", Some(5)),
            ("wl-0-sg-2-b", None),
        ];
        let gang = add_gang(&mut world, ("wl-0", 1), &cliques, 9);
        let since = |replica: Option<GroupReplica>| {
            find_half_bound(&world.context.caches, &gang, replica.as_ref()).map(|found| found.since)
        };
        assert_eq!((since(None), since(replica(0))), (None, Some(at(12))));
        assert_eq!(since(replica(1)), None, "this replica is bound");
        assert_eq!(since(replica(2)), None, "no pod of this replica is bound");
    }

    const DELAY: Duration = Duration::from_secs(10);

    fn left(world: &World, gang: &PodGang, replica: Option<GroupReplica>, now: i64) -> Option<u64> {
        release(&world.context, gang, replica, DELAY, at(now)).map(|left| left.as_secs())
    }

    /// Two replicas were terminated at second 9. Each of them is partially bound again since second 12.
    #[tokio::test]
    async fn of_two_replicas_that_wait_for_room_one_is_terminated_per_delay() {
        let mut world = World::new();
        let cliques = [
            ("wl-0-sg-0-b", Some(12)),
            ("wl-0-sg-0-c", None),
            ("wl-0-sg-1-b", Some(12)),
            ("wl-0-sg-1-c", None),
            ("wl-0-sg-2-b", Some(5)),
        ];
        let gang = add_gang(&mut world, ("wl-0", 1), &cliques, 9);
        assert_eq!(left(&world, &gang, replica(1), 20), Some(2));
        assert_eq!(left(&world, &gang, replica(0), 20), Some(2), "the other parts are not read yet");
        assert_eq!(left(&world, &gang, replica(1), 22), Some(0), "the last replica is the youngest");
        assert_eq!(left(&world, &gang, replica(0), 22), Some(10));
        add_clique_with_pod(&mut world, "wl-0-sg-1-b", None);
        assert_eq!(left(&world, &gang, replica(0), 23), Some(9), "replica 1 has just made room");
        assert_eq!(left(&world, &gang, replica(0), 32), Some(0), "replica 1 made room a delay ago");
        add_clique_with_pod(&mut world, "wl-0-sg-1-b", Some(23));
        assert_eq!(left(&world, &gang, replica(1), 33), Some(9), "replica 0 has just made room");
        assert_eq!(left(&world, &gang, replica(1), 42), Some(0));
    }

    #[tokio::test]
    async fn a_replica_and_a_younger_gang_wait_for_each_other() {
        let mut world = World::new();
        let replicas = [("wl-0-sg-0-b", Some(12)), ("wl-0-sg-0-c", None), ("wl-0-sg-1-b", Some(5))];
        let older = add_gang(&mut world, ("wl-0", 1), &replicas, 9);
        let younger = add_gang(&mut world, ("wl-1", 2), &[("wl-1-a", Some(12)), ("wl-1-b", None)], 9);
        assert_eq!(left(&world, &older, replica(0), 22), Some(10));
        assert_eq!(left(&world, &younger, None, 22), Some(0));
        assert_eq!(left(&world, &older, replica(0), 22), Some(10));
        world.context.releases.forget("uid-of-wl-1");
        add_clique_with_pod(&mut world, "wl-1-b", Some(22));
        assert_eq!(left(&world, &older, replica(0), 22), Some(0), "no other part waits");
    }

    /// The older gang is partially bound since second 12, so its delay ends in second 22.
    #[rstest::rstest]
    #[case::created_before_the_delay_ended(21, 2)]
    #[case::created_later(22, 0)]
    #[tokio::test]
    async fn a_gang_does_not_wait_for_all_younger_ones(#[case] created: i64, #[case] seconds: u64) {
        let mut world = World::new();
        let older = add_gang(&mut world, ("wl-0", 1), &[("wl-0-a", Some(12)), ("wl-0-b", None)], 9);
        add_gang(&mut world, ("wl-1", created), &[("wl-1-a", Some(25)), ("wl-1-b", None)], created);
        assert_eq!(left(&world, &older, None, 30), Some(seconds));
    }

    #[rstest::rstest]
    #[case::none(json!({}), json!({}), true)]
    #[case::one_has_none(json!({"nodeSelector": {"rack": "a"}}), json!({}), true)]
    #[case::of_other_labels(json!({"nodeSelector": {"rack": "a"}}), json!({"nodeSelector": {"zone": "b"}}), true)]
    #[case::of_one_rack(json!({"nodeSelector": {"rack": "a", "x": "y"}}), json!({"nodeSelector": {"rack": "a"}}), true)]
    #[case::of_two_racks(json!({"nodeSelector": {"rack": "a"}}), json!({"nodeSelector": {"rack": "b"}}), false)]
    fn only_gangs_that_may_use_the_same_nodes_wait_for_each_other(
        #[case] one: Value,
        #[case] other: Value,
        #[case] wanted: bool,
    ) {
        let pclq = |pod_spec: Value| -> Arc<PodClique> {
            let object = json!({"metadata": {"name": "c"}, "spec": {"podSpec": pod_spec, "replicas": 1}});
            serde_json::from_value(object).map(Arc::new).unwrap()
        };
        assert_eq!(may_share_nodes(&[pclq(one)], &[pclq(other)]), wanted);
    }

    /// The current time is second 40, and the delay is 10 s.
    #[rstest::rstest]
    #[case::alone((35, 0, 1, None), 5)]
    #[case::due((25, 0, 1, None), 0)]
    #[case::after_a_younger_one((25, 1, 2, None), 5)]
    #[case::after_the_last_termination((25, 0, 2, Some(34)), 4)]
    #[case::an_earlier_termination((25, 0, 2, Some(30)), 0)]
    #[case::the_youngest_of_three_after_the_oldest((20, 0, 3, Some(39)), 9)]
    #[case::one_more_delay_for_each_at_most((15, 0, 2, Some(39)), 5)]
    fn others_are_terminated_first(#[case] state: (i64, usize, usize, Option<i64>), #[case] seconds: u64) {
        let (since, younger, waiting, last) = state;
        let found = time_left_among_others(at(since), (younger, waiting), last.map(at), DELAY, at(40));
        assert_eq!(found, Duration::from_secs(seconds));
    }

    #[rstest::rstest]
    #[case::not_yet(5, 8, 7)]
    #[case::due(1, 5, 1)]
    #[case::a_scheduler_needs_longer(5, 1, 5)]
    fn a_gang_is_terminated_after_its_delay(#[case] since: i64, #[case] delay: u64, #[case] seconds: u64) {
        assert_eq!(
            time_left((at(since), 1), Duration::from_secs(delay), at(6)),
            Duration::from_secs(seconds)
        );
    }
}
