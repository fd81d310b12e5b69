use conformance_facts::testing::{pair, pod, running, scope, terminating_pod};
use conformance_history::SharedMark;
use conformance_history::testing::{Story, object};
use jiff::Timestamp;
use serde_json::json;

use super::super::nothing_else_deleted;
use super::*;
use crate::message;

/// One of two pods is lost. After this many seconds the other one is deleted, and both are created again.
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
    let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
    let waits = lost.later(20).added(object("Event", "e"));
    assert!(message(check(waits)).contains("was breached for 20 s but was not gang-terminated"));
}

#[test]
fn a_termination_without_a_breach_is_a_violation() {
    let story = running()
        .later(5)
        .modified(terminating_pod("a"))
        .modified(terminating_pod("b"))
        .added(pod("c", None));
    assert!(message(check(story)).contains("minAvailable was not breached"));
    assert!(message(times(&terminated_after(2).end(), &pair(), &scope(), 0)).contains("1 times, want 0"));
    let one = running().modified(terminating_pod("a")).added(pod("c", Some("n")));
    assert!(message(check(one)).contains("was deleted without a gang termination of"));
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
    assert!(message(missed).contains("was breached for 20 s but was not gang-terminated"));
}
