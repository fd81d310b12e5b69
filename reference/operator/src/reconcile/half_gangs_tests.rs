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

/// The replica was terminated at second 9. One of its podgroups is bound again since second 12.
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
async fn one_replica_that_waits_for_room_is_terminated_per_delay() {
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
fn other_parts_extend_the_delay(#[case] state: (i64, usize, usize, Option<i64>), #[case] seconds: u64) {
    let (since, younger, waiting, last) = state;
    let found = time_left_among_others(at(since), (younger, waiting), last.map(at), DELAY, at(40));
    assert_eq!(found, Duration::from_secs(seconds));
}

#[rstest::rstest]
#[case::not_yet(5, 8, 7)]
#[case::due(1, 5, 1)]
#[case::a_scheduler_needs_longer(5, 1, 5)]
fn a_gang_is_terminated_after_its_delay(#[case] since: i64, #[case] delay: u64, #[case] seconds: u64) {
    assert_eq!(time_left((at(since), 1), Duration::from_secs(delay), at(6)), Duration::from_secs(seconds));
}
