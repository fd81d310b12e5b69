use conformance_history::testing::Story;

use super::super::fixture::{PODS, deleted, pcs, pod, replaced, updating};
use super::*;
use crate::message;

#[test]
fn replicas_are_updated_one_after_the_other() {
    let second = ["1a0", "1a1", "1g0", "1g1"];
    let of_both = |revision: &str, status: Value| pcs(2, revision, status);
    let with_changed_template = |reported: usize| {
        let story = Story::flat().added(of_both("1", Value::Null));
        let with_pods =
            PODS.iter().chain(&second).fold(story, |story, name| story.added(pod(name, "1", true)));
        with_pods.modified(of_both("2", Value::Null)).modified(of_both("2", updating(reported)))
    };
    let first_replaced = PODS.iter().fold(with_changed_template(0), |story, name| replaced(story, name));
    let next = first_replaced.modified(of_both("2", updating(1)));
    let in_order = second.iter().fold(next, |story, name| replaced(story, name)).end();
    assert_eq!(one_replica_at_a_time(&in_order, "w"), Ok(()));
    assert_eq!(status_names_the_replica(&in_order, "w"), Ok(()));
    assert_eq!(lowest_is_updated_first(&in_order, "w"), Ok(()));
    let early = replaced(with_changed_template(1), "1a0").end();
    let higher = message(lowest_is_updated_first(&early, "w"));
    assert!(higher.contains("before Pod 0a0, which has an old template, in the lower replica 0"), "{higher}");
    assert_eq!(one_replica_at_a_time(&early, "w"), Ok(()), "the order does not matter");
    assert_eq!(status_names_the_replica(&early, "w"), Ok(()));
    let unnamed = replaced(with_changed_template(1), "0a0").end();
    assert!(message(status_names_the_replica(&unnamed, "w")).contains("named replicas [1]"));
    assert_eq!(one_replica_at_a_time(&unnamed, "w"), Ok(()), "the status does not matter");
    let both =
        replaced(replaced(with_changed_template(0), "0a0").modified(of_both("2", updating(1))), "1a0").end();
    assert_eq!(lowest_is_updated_first(&both, "w"), Ok(()), "the update of the lower replica has started");
    assert!(
        message(one_replica_at_a_time(&both, "w"))
            .contains("replica 0 was not complete: Pod 0a1 has an old template")
    );
    let first_replaced = || {
        PODS.iter()
            .fold(with_changed_template(0), |story, name| replaced(story, name))
            .modified(of_both("2", updating(1)))
    };
    let continued = first_replaced().modified(of_both("3", updating(1)));
    let continued = deleted(continued, "1a0").end();
    assert_eq!(one_replica_at_a_time(&continued, "w"), Ok(()), "its update was in progress");
    assert_eq!(lowest_is_updated_first(&continued, "w"), Ok(()), "its update was in progress");
    let incomplete = deleted(first_replaced(), "1a0")
        .modified(of_both("3", updating(1)))
        .modified(of_both("3", updating(0)));
    let wrong = message(one_replica_at_a_time(&deleted(incomplete, "0a0-new").end(), "w"));
    assert!(wrong.contains("replica 1 was not complete: PodClique w-1-a has 1 of 2 pods"), "{wrong}");
}

#[test]
fn replicas_that_are_down_are_updated_first() {
    let with_changed_template = |ready: bool| {
        let with_pods = Story::flat().added(pcs(2, "1", Value::Null));
        let of_first = PODS.iter().fold(with_pods, |story, name| story.added(pod(name, "1", true)));
        let of_both =
            of_first.added(pod("1a0", "1", ready)).added(pod("1g0", "1", true)).added(pod("1g1", "1", true));
        of_both.modified(pcs(2, "2", updating(1)))
    };
    let check = |story: Story| unavailable_are_updated_first(&story.end(), "w");
    assert_eq!(check(replaced(replaced(with_changed_template(false), "1a0"), "0a0")), Ok(()));
    assert_eq!(check(deleted(with_changed_template(true), "0a0")), Ok(()), "none is down");
    let late = message(check(deleted(with_changed_template(false), "0a0")));
    assert!(
        late.contains("Pod 0a0 was deleted before replica 1, which is unavailable, was updated"),
        "{late}"
    );
}
