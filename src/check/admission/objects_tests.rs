use conformance_history::MarkName;
use conformance_history::testing::{Story, object};
use serde_json::json;

use super::super::fixture::{ATTEMPTS, replied, required_replies};
use super::*;
use crate::messages;

const START: MarkName = MarkName::of_case("begin");

#[rstest::rstest]
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
    let others = [object("Event", "pcs-x-0.17"), object("Node", "pcs-x-1"), object("PodGang", "pcs-xy-0")];
    let nothing_left = nothing_left.all_added(others).modified(object("PodGang", "pcs-x-0"));
    let object_left = replied(&replies).added(left.clone()).deleted(left);
    assert_eq!(left_nothing(&nothing_left.end(), ATTEMPTS), Ok(()));
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
    let changed_before = Story::flat().added(pcs(2, "b")).modified(pcs(1, "a"));
    changed_before.added(gang(1)).mark(START, Value::Null)
}

#[rstest::rstest]
#[case::status(|story: Story| {
    let mut pcs = pcs(1, "a");
    pcs["status"] = json!({"replicas": 1});
    story.modified(pcs).added(object("PodGang", "other-0")).added(object("Event", "pcs-0.1"))
}, true)]
#[case::spec_for_a_moment(|story: Story| story.modified(pcs(2, "a")).modified(pcs(1, "a")), false)]
#[case::label(|story: Story| story.modified(pcs(1, "b")), false)]
#[case::object_changed(|story: Story| story.modified(gang(2)), false)]
#[case::object_deleted(|story: Story| story.deleted(gang(1)), false)]
#[case::annotation(|story: Story| {
    let mut pcs = pcs(1, "a");
    pcs["metadata"]["annotations"] = json!({"team": "b"});
    story.modified(pcs)
}, false)]
#[case::generation(|story: Story| {
    let mut pcs = pcs(1, "a");
    pcs["metadata"]["generation"] = json!(2);
    story.modified(pcs)
}, false)]
#[case::object_recreated(|story: Story| story.deleted(gang(1)).added(created_again(gang(1))), false)]
#[case::object_new(|story: Story| story.added(object("PodGang", "pcs-1")), false)]
fn a_refused_update_changes_nothing(#[case] then: fn(Story) -> Story, #[case] is_right: bool) {
    let history = then(stored()).end();
    let (start, _) = history.reached(START).unwrap();
    let ruling = unchanged(&history, "pcs", start);
    assert_eq!(ruling.is_ok(), is_right, "{ruling:?}");
    assert!(matches!(unchanged(&history, "missing", start), Err(Broken::NotReached(_))));
}

fn created_again(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!("another");
    object
}

#[rstest::rstest]
#[case::changed(|story: Story| story.modified(gang(2)), true)]
#[case::pod(|story: Story| story.deleted(object("Pod", "pcs-0-a-x")), false)]
#[case::pod_recreated(|story: Story| {
    let pod = object("Pod", "pcs-0-a-x");
    story.deleted(pod.clone()).added(created_again(pod))
}, false)]
#[case::pod_clique(|story: Story| story.deleted(object("PodClique", "pcs-0-a")), false)]
#[case::scaling_group(|story: Story| story.deleted(object("PodCliqueScalingGroup", "pcs-0-sg")), false)]
#[case::pod_gang(|story: Story| story.deleted(gang(1)), false)]
#[case::gang_resource(|story: Story| story.deleted(object("Workload", "pcs-0")), false)]
#[case::service(|story: Story| story.deleted(object("Service", "pcs-0")), true)]
#[case::of_another_set(|story: Story| story.deleted(object("Pod", "other-0-a-x")), true)]
fn an_object_that_is_deleted_or_recreated_is_a_violation(
    #[case] then: fn(Story) -> Story,
    #[case] is_right: bool,
) {
    let objects = [
        ("PodClique", "pcs-0-a"),
        ("PodCliqueScalingGroup", "pcs-0-sg"),
        ("Workload", "pcs-0"),
        ("Service", "pcs-0"),
        ("Pod", "other-0-a-x"),
        ("Pod", "pcs-0-a-x"),
    ];
    let created = Story::flat().added(gang(1)).all_added(objects.map(|(kind, name)| object(kind, name)));
    let history = then(created.mark(START, Value::Null)).end();
    let (start, _) = history.reached(START).unwrap();
    let ruling = nothing_recreated(&history, "pcs", start);
    assert_eq!(ruling.is_ok(), is_right, "{ruling:?}");
    let without_pod = nothing_recreated(&history, "pcs", objects.len());
    assert!(matches!(without_pod, Err(Broken::NotReached(_))), "only another set had a pod");
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
