use conformance_check::messages;
use conformance_contract::target::Target;
use conformance_history::testing::Story;
use serde_json::json;

use super::super::fixture::{pods, story};
use super::*;

#[test]
fn every_pod_has_the_queue_label_and_no_other_change() {
    let with = |edit: fn(&mut Value), queue| {
        let mut all: Vec<_> = pods(0).collect();
        for pod in &mut all {
            pod["metadata"]["labels"][QUEUE] = "team-a".into();
        }
        edit(&mut all[1]);
        let history = story(Target::TRAINJOB_KAI, false).all_added(all).end();
        [queue_is(&history, "t", queue), nothing_but_the_queue(&history, "t")].map(|ruling| match ruling {
            Ok(()) => 0,
            broken => messages(broken).len(),
        })
    };
    assert_eq!(with(|_| {}, Some("team-a")), [0, 0]);
    assert_eq!(with(|_| {}, None), [3, 0]);
    assert_eq!(with(|pod| pod["metadata"]["labels"][QUEUE] = Value::Null, Some("team-a")), [1, 0]);
    assert_eq!(with(|pod| pod["spec"]["schedulerName"] = "other".into(), Some("team-a")), [0, 1]);
    assert_eq!(with(|pod| pod["metadata"]["labels"]["team"] = Value::Null, Some("team-a")), [0, 1]);
    let empty = story(Target::TRAINJOB_KAI, false).end();
    assert!(matches!(queue_is(&empty, "t", None), Err(Broken::NotReached(_))));
    assert!(matches!(nothing_but_the_queue(&empty, "t"), Err(Broken::NotReached(_))));
}

#[test]
fn the_trainer_creates_no_gang_resource() {
    let group = json!({"kind": "PodGroup.scheduling.run.ai",
        "metadata": {"name": "t", "managedFields": [{"manager": "trainer"}]}});
    let mut all: Vec<_> = pods(0).collect();
    all.push(group);
    let history = story(Target::TRAINJOB_KAI, false).all_added(all).end();
    assert!(queue_is(&history, "t", None).is_ok());
    assert_eq!(
        messages(nothing_but_the_queue(&history, "t")),
        ["PodGroup.scheduling.run.ai t was created by the trainer or its plugin"]
    );
}

#[test]
fn the_pod_group_stays_in_its_queue() {
    let group = |queue: &str| {
        json!({"kind": "PodGroup.scheduling.run.ai", "spec": {"queue": queue},
            "metadata": {"name": "pg-t", "ownerReferences": [{"kind": "JobSet", "name": "t"}]}})
    };
    let ruling = |story: Story| pod_group_is_in(&story.end(), "t", "team-a");
    let with_group = || story(Target::TRAINJOB_KAI, false).added(group("team-a"));
    assert!(ruling(with_group()).is_ok());
    assert_eq!(
        messages(ruling(with_group().modified(group("later")))),
        ["PodGroup pg-t is in queue \"later\", want team-a"]
    );
}

#[test]
fn a_denied_request_is_reported() {
    assert!(nothing_forbidden(&json!([])).is_ok());
    let denied = messages(nothing_forbidden(&json!([{"user": "trainer", "action": "list jobsets"}])));
    assert_eq!(denied, ["trainer was denied permission to list jobsets"]);
}
