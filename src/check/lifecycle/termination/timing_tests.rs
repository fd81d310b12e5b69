use conformance_facts::testing::{
    Order, clique, deleting, pair, pod, pods_of, running, running_clique, scope, set, terminating_pod,
};
use conformance_history::SharedMark;
use conformance_history::testing::{Story, object};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::{nothing_else_deleted, recreated};
use super::*;
use crate::message;

fn terminated_after(after: i64) -> Story {
    let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
    lost.later(after).modified(terminating_pod("b")).added(pod("c", None)).added(pod("d", None))
}

fn check(story: Story) -> Ruling {
    let history = story.end();
    nothing_else_deleted(&history, &pair())?;
    after_the_delay(&history, &pair(), &scope(), Duration::from_secs(2))
}

#[test]
fn a_breach_ends_in_a_termination_after_the_delay() {
    assert_eq!(check(terminated_after(2)), Ok(()));
    assert_eq!(check(terminated_after(1)), Ok(()), "API times are rounded to seconds");
    assert_eq!(times(&terminated_after(2).end(), &pair(), &scope(), 1), Ok(()));
}

#[test]
fn events_that_arrive_late_are_in_time() {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let mut lost = pod("a", Some("n"));
    lost["metadata"]["managedFields"] = json!([{"time": at(8)}]);
    lost["status"] = json!({"phase": "Failed"});
    let delivered_at = |second| {
        running().mark(SharedMark::PodLost, json!({"name": "a"})).later(second).modified(lost.clone())
    };
    let terminated_after = |story: Story| {
        let mut terminating = terminating_pod("b");
        terminating["metadata"]["deletionTimestamp"] = json!(at(10));
        story.modified(terminating).added(pod("c", None)).added(pod("d", None))
    };
    assert_eq!(check(terminated_after(delivered_at(10))), Ok(()), "the loss at 8 s arrives at 10 s");
    assert_eq!(
        check(terminated_after(delivered_at(9).later(20))),
        Ok(()),
        "the deletion at 10 s arrives at 29 s"
    );
}

#[test]
fn an_early_late_or_missing_termination_is_a_violation() {
    assert!(message(check(terminated_after(0))).contains("0.0 s after its breach"));
    assert!(message(check(terminated_after(13))).contains("13.0 s after its breach"));
    let early = |story: Story| not_before_the_delay(&story.end(), &pair(), &scope(), Duration::from_secs(2));
    assert!(message(early(terminated_after(0))).contains("0.0 s after its breach"));
    assert_eq!(early(terminated_after(13)), Ok(()), "TERM-02 requires that it is in time");
    let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
    let waits = lost.later(20).added(object("Event", "e"));
    assert!(
        message(check(waits))
            .contains("was not gang-terminated although its minAvailable was breached for 20 s")
    );
}

#[test]
fn a_termination_without_a_breach_is_a_violation() {
    let story = running()
        .later(5)
        .modified(terminating_pod("a"))
        .modified(terminating_pod("b"))
        .added(pod("c", None));
    assert!(message(check(story)).contains("minAvailable was not breached"));
    assert!(message(times(&terminated_after(2).end(), &pair(), &scope(), 0)).contains("once, want 0"));
    let one = running().modified(terminating_pod("a")).added(pod("c", Some("n")));
    assert!(message(check(one)).contains("was deleted without a gang termination of"));
}

#[rstest::rstest]
#[case::for_the_delay(2, true)]
#[case::briefly(0, false)]
fn a_gang_that_was_bound_in_part_may_be_terminated(#[case] seconds: i64, #[case] allowed: bool) {
    let created = Story::flat().added(pod("a", None)).added(pod("b", None)).modified(pod("a", Some("n")));
    let whole = created.later(seconds).modified(pod("b", Some("n")));
    let terminated = whole.modified(terminating_pod("a")).modified(terminating_pod("b"));
    assert_eq!(check(terminated.added(pod("c", None)).added(pod("d", None))).is_ok(), allowed);
}

#[test]
fn a_pod_deleted_by_others_is_no_late_termination() {
    let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
    let evicted = lost.added(pod("c", None)).later(1).modified(terminating_pod("b")).added(pod("d", None));
    let back = evicted.modified(pod("c", Some("n"))).modified(pod("d", Some("n")));
    let history = back.later(20).added(object("Event", "e")).end();
    assert!(
        message(nothing_else_deleted(&history, &pair()))
            .contains("was deleted without a gang termination of")
    );
    assert_eq!(after_the_delay(&history, &pair(), &scope(), Duration::from_secs(2)), Ok(()));
}

#[test]
fn a_second_breach_ends_in_a_second_termination() {
    let back = || {
        let again = terminated_after(2).modified(pod("c", Some("n"))).modified(pod("d", Some("n"))).later(9);
        again.mark(SharedMark::PodLost, json!({"name": "c"})).deleted(pod("c", Some("n")))
    };
    let guarded =
        back().later(2).modified(terminating_pod("d")).added(pod("e", None)).added(pod("f", None)).end();
    let unguarded = back().later(20).added(object("Event", "e")).end();
    assert_eq!(after_the_delay(&guarded, &pair(), &scope(), Duration::from_secs(2)), Ok(()));
    assert_eq!(times(&guarded, &pair(), &scope(), 2), Ok(()));
    assert_eq!(times(&unguarded, &pair(), &scope(), 1), Ok(()), "the first breach only");
    let missed = after_the_delay(&unguarded, &pair(), &scope(), Duration::from_secs(2));
    assert!(
        message(missed).contains("was not gang-terminated although its minAvailable was breached for 20 s")
    );
}

fn breached(is_lost: bool) -> (Story, Vec<Value>) {
    let mut pods = pods_of("first", &["a", "b"], Some("n"));
    let running = running_clique().added(set(1));
    if is_lost {
        let lost = pods.remove(0);
        return (running.mark(SharedMark::PodLost, json!({"name": "a"})).deleted(lost), pods);
    }
    pods[0]["status"]["containerStatuses"] = json!([{"lastState": {"terminated": {"exitCode": 1}}}]);
    (running.modified(pods[0].clone()), pods)
}

fn terminated_in(order: Order, is_lost: bool) -> Story {
    let (story, old) = breached(is_lost);
    order.terminate(story.later(2), ("first", &old), ("second", &pods_of("second", &["c", "d"], None)))
}

fn terminated_again_in(order: Order, story: Story, node: Option<&str>) -> Story {
    let old = pods_of("second", &["c", "d"], node);
    order.terminate(story, ("second", &old), ("third", &pods_of("third", &["e", "f"], None)))
}

#[test]
fn a_breach_ends_in_a_termination_regardless_of_the_order_of_deletions() {
    for (order, is_lost) in Order::ALL.into_iter().flat_map(|order| [(order, true), (order, false)]) {
        let story = terminated_in(order, is_lost).later(20).added(object("Event", "e"));
        let history = story.clone().end();
        assert_eq!(check(story), Ok(()), "{order:?}, lost: {is_lost}");
        assert_eq!(times(&history, &pair(), &scope(), 1), Ok(()), "{order:?}, lost: {is_lost}");
        assert_eq!(recreated(&history, &pair(), &scope()), Ok(()), "{order:?}, lost: {is_lost}");
    }
}

#[test]
fn a_termination_without_a_breach_is_a_violation_in_any_order() {
    for order in Order::ALL {
        let old = pods_of("first", &["a", "b"], Some("n"));
        let new = pods_of("second", &["c", "d"], None);
        let story = order.terminate(running_clique().later(5), ("first", &old), ("second", &new));
        assert!(message(check(story)).contains("minAvailable was not breached"), "{order:?}");
    }
}

#[test]
fn an_early_termination_is_a_violation_in_any_order() {
    for order in Order::ALL {
        let (story, old) = breached(true);
        let story = order.terminate(story, ("first", &old), ("second", &pods_of("second", &["c"], None)));
        assert!(message(check(story)).contains("0.0 s after its breach"), "{order:?}");
    }
    let (story, old) = breached(true);
    let ahead = story.deleted(clique("first", 2)).later(2).modified(deleting(old[0].clone()));
    let ahead = ahead.added(clique("second", 2)).all_added(pods_of("second", &["c", "d"], None));
    assert!(message(check(ahead)).contains("0.0 s after its breach"), "the PodClique was deleted at once");
}

#[test]
fn a_second_termination_for_one_breach_is_a_violation_in_any_order() {
    for order in Order::ALL {
        let twice = terminated_again_in(order, terminated_in(order, true).later(2), None);
        let counted = message(times(&twice.clone().end(), &pair(), &scope(), 1));
        assert!(counted.contains("2 times, want 1"), "{order:?}");
        assert!(message(check(twice)).contains("minAvailable was not breached"), "{order:?}");
    }
}

#[test]
fn a_breach_of_a_recovered_gang_ends_in_a_termination_in_any_order() {
    for order in Order::ALL {
        let new = pods_of("second", &["c", "d"], Some("n"));
        let recovered = new.iter().cloned().fold(terminated_in(order, true), Story::modified).later(9);
        let mut crashed = new[0].clone();
        crashed["status"]["containerStatuses"] = json!([{"lastState": {"terminated": {"exitCode": 1}}}]);
        let again = || recovered.clone().modified(crashed.clone());
        let guarded = terminated_again_in(order, again().later(2), Some("n"));
        assert_eq!(times(&guarded.clone().end(), &pair(), &scope(), 2), Ok(()), "{order:?}");
        assert_eq!(check(guarded), Ok(()), "{order:?}");
        let unguarded = again().later(20).added(object("Event", "e"));
        assert!(message(check(unguarded)).contains("was not gang-terminated"), "{order:?}");
    }
}

#[test]
fn a_termination_without_new_pods_violates_only_the_recreation() {
    for (order, is_lost) in Order::ALL.into_iter().flat_map(|order| [(order, true), (order, false)]) {
        let (story, old) = breached(is_lost);
        let empty = order.terminate(story.later(2), ("first", &old), ("second", &[]));
        let history = |story: Story| story.added(object("Event", "e")).end();
        let later = empty.clone().later(60).added(object("Event", "e"));
        assert_eq!(check(later.clone()), Ok(()), "{order:?}, lost: {is_lost}");
        assert_eq!(times(&later.clone().end(), &pair(), &scope(), 1), Ok(()), "{order:?}, lost: {is_lost}");
        let found = message(recreated(&later.end(), &pair(), &scope()));
        assert_eq!(
            found,
            "PodClique w-0-a got 0 new pods after replica 0 of PodCliqueSet w was gang-terminated, want 2: \
             its spec.replicas is 0",
            "{order:?}, lost: {is_lost}"
        );
        assert_eq!(recreated(&history(empty.clone()), &pair(), &scope()), Ok(()), "there is still time");
        let removed = empty.later(60).modified(set(0));
        assert_eq!(recreated(&history(removed), &pair(), &scope()), Ok(()), "it was scaled in");
    }
}
