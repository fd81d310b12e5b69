//! Histories that satisfy each ruling, and the smallest change that violates it.

use conformance_contract::ruling::Broken;
use conformance_history::testing::{Story, object};
use conformance_history::{MarkName, SharedMark};
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::messages;

const BEGIN: MarkName = MarkName::of_case("begin");

const ATTEMPTS: &[Attempt] = &[
    admitted("sound", |_| {}),
    refused("unsound", &["minAvailable"], |_| {}).silent_about(&["topology"]),
    admitted("odd", |_| {}).with_warning(&["no effect"]),
    admitted("early", |_| {}).whatever_the_answer().silent_about(&["circular"]),
];

fn reply(code: u16, message: &str, warnings: &[&str]) -> Reply {
    Reply {
        name: "pcs-x".into(),
        verb: "create".into(),
        code,
        message: message.into(),
        warnings: warnings.iter().map(|warning| (*warning).to_owned()).collect(),
    }
}

fn sound() -> [Reply; 4] {
    [
        reply(201, "", &["299 - \"of no interest\""]),
        reply(422, "cliques[0].spec.MinAvailable: too high", &[]),
        reply(201, "", &["299 - \"pack.preferred has no effect\""]),
        reply(403, "not supported yet", &[]),
    ]
}

fn told(replies: &[Reply]) -> Story {
    ATTEMPTS.iter().zip(replies).fold(Story::flat(), |story, (attempt, reply)| {
        story.mark(SharedMark::Attempt, json!({"title": attempt.title, "reply": reply}))
    })
}

#[test]
fn answers_as_wanted() {
    assert_eq!(answers(&told(&sound()).end(), ATTEMPTS), Ok(()));
}

#[test]
fn a_wrong_answer_counts_though_others_were_not_given() {
    let history = told(&[reply(422, "no", &[])]).end();
    assert!(matches!(answers(&history, ATTEMPTS), Err(Broken::Violated(_))));
    assert!(matches!(answers(&told(&sound()[..1]).end(), ATTEMPTS), Err(Broken::NotReached(_))));
}

#[rstest]
#[case::refused(0, reply(422, "no", &[]))]
#[case::refused_by_a_failing_webhook(0, reply(500, "failed calling webhook", &[]))]
#[case::admitted(1, reply(201, "", &[]))]
#[case::not_judged(1, reply(500, "failed calling webhook: minAvailable", &[]))]
#[case::for_another_reason(1, reply(422, "replicas", &[]))]
#[case::for_one_reason_too_many(1, reply(422, "minAvailable; Topology", &[]))]
#[case::without_a_warning(2, reply(201, "no effect", &[]))]
#[case::for_a_reason_that_is_none(3, reply(403, "not supported; circular", &[]))]
#[case::with_a_failing_webhook(3, reply(500, "", &[]))]
fn answers_otherwise(#[case] index: usize, #[case] wrong: Reply) {
    let mut replies = sound();
    replies[index] = wrong;
    let violations = messages(answers(&told(&replies).end(), ATTEMPTS));
    assert!(violations.len() == 1 && violations[0].starts_with(ATTEMPTS[index].title), "{violations:?}");
}

#[rstest]
#[case::refused(reply(422, "topology is not for you", &[]), true)]
#[case::warned(reply(201, "", &["299 - \"pack.preferred of rack is ignored\""]), true)]
#[case::in_silence(reply(201, "", &[]), false)]
#[case::warned_of_something_else(reply(201, "", &["299 - \"deprecated\""]), false)]
#[case::by_a_failing_webhook(reply(500, "preferred", &[]), false)]
fn what_has_no_effect_is_refused_or_said_to_have_none(#[case] reply: Reply, #[case] holds: bool) {
    let attempt = refused_or_warned("idle", &["preferred|rack"], |_| {});
    let wrong = attempt.wrong(&reply);
    assert_eq!(wrong.is_none(), holds, "{wrong:?}");
}

#[test]
fn an_attempt_that_was_not_made_says_nothing() {
    let history = told(&sound()[..3]).end();
    assert!(matches!(answers(&history, ATTEMPTS), Err(Broken::NotReached(_))));
    assert!(matches!(left_nothing(&history, ATTEMPTS), Err(Broken::NotReached(_))));
}

#[test]
fn the_last_answer_counts() {
    let [first, ..] = sound();
    let mark = |reply: &Reply| json!({"title": "sound", "reply": reply});
    let story = Story::flat()
        .mark(SharedMark::Attempt, mark(&reply(422, "not yet", &[])))
        .mark(SharedMark::Attempt, mark(&first));
    assert_eq!(answers(&story.end(), &ATTEMPTS[..1]), Ok(()));
}

#[rstest]
#[case::itself(object("PodCliqueSet", "pcs-x"))]
#[case::made_for_it(object("PodGang", "pcs-x-0"))]
#[case::labelled(json!({"kind": "Service", "metadata": {"name": "s", "labels": {"app.kubernetes.io/part-of": "pcs-x"}}}))]
fn a_refused_create_leaves_nothing(#[case] left: Value) {
    let mut replies = sound();
    replies[0].name = "pcs".into();
    replies[2].name = "pcs-odd".into();
    let clean = told(&replies).added(object("PodCliqueSet", "pcs")).added(object("PodGang", "pcs-0"));
    let event = clean.added(object("Event", "pcs-x.17"));
    let dirty = told(&replies).added(left.clone()).deleted(left);
    assert_eq!(left_nothing(&event.end(), ATTEMPTS), Ok(()));
    assert!(!messages(left_nothing(&dirty.end(), ATTEMPTS)).is_empty());
}

fn pcs(replicas: u32, label: &str) -> Value {
    json!({"kind": "PodCliqueSet",
        "metadata": {"name": "pcs", "labels": {"team": label}}, "spec": {"replicas": replicas}})
}

fn gang(min: u32) -> Value {
    json!({"kind": "PodGang", "metadata": {"name": "pcs-0"}, "spec": {"min": min}})
}

fn stored() -> Story {
    Story::flat().added(pcs(1, "a")).added(gang(1)).mark(BEGIN, Value::Null)
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
#[case::object_gone(|story: Story| story.deleted(gang(1)), false)]
#[case::object_new(|story: Story| story.added(object("PodGang", "pcs-1")), false)]
fn a_refused_update_changes_nothing(#[case] then: fn(Story) -> Story, #[case] holds: bool) {
    let history = then(stored()).end();
    let (begin, _) = history.reached(BEGIN).unwrap();
    let ruling = unchanged(&history, "pcs", begin);
    assert_eq!(ruling.is_ok(), holds, "{ruling:?}");
    assert!(matches!(unchanged(&history, "nobody", begin), Err(Broken::NotReached(_))));
}

#[test]
fn what_was_deleted_is_gone() {
    let there = Story::flat().added(pcs(1, "a"));
    assert_eq!(messages(deleted(&there.end(), "PodCliqueSet", "pcs")).len(), 1);
    let gone = Story::flat().added(pcs(1, "a")).deleted(pcs(1, "a"));
    assert_eq!(deleted(&gone.end(), "PodCliqueSet", "pcs"), Ok(()));
    let never = deleted(&Story::flat().end(), "PodCliqueSet", "pcs");
    assert!(matches!(never, Err(Broken::NotReached(_))));
}

fn pod(spec: Value) -> Value {
    let mut pod =
        json!({"kind": "Pod", "metadata": {"name": "pod"}, "spec": {"schedulerName": "default-scheduler"}});
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod
}

#[rstest]
#[case::gated(json!({"schedulingGates": [{"name": names::GATE}]}), true)]
#[case::in_a_group(json!({"schedulingGroup": {"podGroupName": "g"}, "nodeName": "n"}), true)]
#[case::of_another_scheduler(json!({"schedulerName": "another"}), true)]
#[case::released(json!({}), false)]
#[case::bound(json!({"nodeName": "n"}), false)]
fn loose_pods(#[case] spec: Value, #[case] holds: bool) {
    let story =
        Story::flat().added(pod(json!({"schedulingGates": [{"name": names::GATE}]}))).modified(pod(spec));
    let ruling = no_loose_pods(&story.end());
    assert_eq!(ruling.is_ok(), holds, "{ruling:?}");
    assert!(matches!(no_loose_pods(&Story::flat().end()), Err(Broken::NotReached(_))));
}

#[test]
fn one_process_all_along() {
    let look = |story: Story, pid: u32| story.mark(SharedMark::Controller, json!({"pid": pid}));
    assert_eq!(one_process(&look(look(Story::flat(), 7), 7).end()), Ok(()));
    assert_eq!(messages(one_process(&look(look(look(Story::flat(), 7), 7), 8).end())).len(), 1);
    assert!(matches!(one_process(&look(Story::flat(), 7).end()), Err(Broken::NotReached(_))));
}
