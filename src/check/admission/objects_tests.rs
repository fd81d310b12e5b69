use conformance_history::MarkName;
use conformance_history::testing::{Story, object};
use rstest::rstest;
use serde_json::json;

use super::super::fixture::{ATTEMPTS, replied, required_replies};
use super::*;
use crate::messages;

const START: MarkName = MarkName::of_case("begin");

#[rstest]
#[case::itself(object("PodCliqueSet", "pcs-x"))]
#[case::created_for_it(object("PodGang", "pcs-x-0"))]
#[case::labelled(json!({"kind": "Service",
    "metadata": {"name": "s", "labels": {"app.kubernetes.io/part-of": "pcs-x"}}}))]
fn a_refused_create_leaves_nothing(#[case] left: Value) {
    let mut replies = required_replies();
    replies[0].name = "pcs".into();
    replies[2].name = "pcs-other".into();
    let nothing_left =
        replied(&replies).added(object("PodCliqueSet", "pcs")).added(object("PodGang", "pcs-0"));
    let event = nothing_left.added(object("Event", "pcs-x.17"));
    let object_left = replied(&replies).added(left.clone()).deleted(left);
    assert_eq!(left_nothing(&event.end(), ATTEMPTS), Ok(()));
    assert!(!messages(left_nothing(&object_left.end(), ATTEMPTS)).is_empty());
}

#[test]
fn an_attempt_that_was_not_sent_is_not_checked() {
    let history = replied(&required_replies()[..3]).end();
    assert!(matches!(left_nothing(&history, ATTEMPTS), Err(Broken::NotReached(_))));
}

fn pcs(replicas: u32, label: &str) -> Value {
    json!({"kind": "PodCliqueSet",
        "metadata": {"name": "pcs", "labels": {"team": label}}, "spec": {"replicas": replicas}})
}

fn gang(min: u32) -> Value {
    json!({"kind": "PodGang", "metadata": {"name": "pcs-0"}, "spec": {"min": min}})
}

fn stored() -> Story {
    Story::flat().added(pcs(1, "a")).added(gang(1)).mark(START, Value::Null)
}

#[rstest]
#[case::status(|story: Story| {
    let mut pcs = pcs(1, "a");
    pcs["status"] = json!({"replicas": 1});
    story.modified(pcs).added(object("PodGang", "other-0")).added(object("Event", "pcs-0.1"))
}, true)]
#[case::spec_for_a_moment(|story: Story| story.modified(pcs(2, "a")).modified(pcs(1, "a")), false)]
#[case::label(|story: Story| story.modified(pcs(1, "b")), false)]
#[case::object_changed(|story: Story| story.modified(gang(2)), false)]
#[case::object_deleted(|story: Story| story.deleted(gang(1)), false)]
#[case::object_new(|story: Story| story.added(object("PodGang", "pcs-1")), false)]
fn a_refused_update_changes_nothing(#[case] then: fn(Story) -> Story, #[case] is_right: bool) {
    let history = then(stored()).end();
    let (start, _) = history.reached(START).unwrap();
    let ruling = unchanged(&history, "pcs", start);
    assert_eq!(ruling.is_ok(), is_right, "{ruling:?}");
    assert!(matches!(unchanged(&history, "missing", start), Err(Broken::NotReached(_))));
}

#[test]
fn a_deleted_object_no_longer_exists() {
    let existing = Story::flat().added(pcs(1, "a"));
    assert_eq!(messages(deleted(&existing.end(), "PodCliqueSet", "pcs")).len(), 1);
    let story = Story::flat().added(pcs(1, "a")).deleted(pcs(1, "a"));
    assert_eq!(deleted(&story.end(), "PodCliqueSet", "pcs"), Ok(()));
    let never = deleted(&Story::flat().end(), "PodCliqueSet", "pcs");
    assert!(matches!(never, Err(Broken::NotReached(_))));
}
