use conformance_check::{codes, messages};
use conformance_contract::target::Target;
use conformance_history::MarkName;
use conformance_history::testing::Story;
use serde_json::{Value, json};

use super::super::fixture::{pod, pods, story};
use super::*;

#[test]
fn a_running_pod_is_not_evicted() {
    let ends = |phase: &str, bound: bool| {
        let mut pod = pod("node", 0, bound.then_some("n"));
        pod["status"] = json!({"phase": phase,
            "conditions": [{"type": "DisruptionTarget", "status": "True", "message": "gang is stale"}]});
        let story = story(Target::TRAINJOB_KAI, false).added(pod.clone());
        is_not_evicted(&story.deleted(pod).end(), "t")
    };
    let stays = story(Target::TRAINJOB_KAI, false).all_added(pods(3)).end();
    assert!(is_not_evicted(&stays, "t").is_ok());
    assert!(ends("Succeeded", true).is_ok());
    let evicted = messages(ends("Running", true));
    assert_eq!(evicted, ["Pod t-node-0-0 was deleted before it succeeded: gang is stale"]);
    assert!(matches!(ends("Pending", false), Err(Broken::NotReached(_))));
}

#[test]
fn a_train_job_keeps_its_pods() {
    const DISTURBED: MarkName = MarkName::of_case("disturbed");
    let later = |change: fn(Story) -> Story| {
        let story = story(Target::TRAINJOB_KAI, false).all_added(pods(0)).mark(DISTURBED, Value::Null);
        let history = change(story).end();
        let (disturbed, _) = history.reached(DISTURBED).unwrap();
        has_the_same_pods(&history, "t", disturbed, history.entries.len())
    };
    assert!(later(|story| story.modified(pod("node", 0, Some("n")))).is_ok());
    assert_eq!(
        messages(later(|story| story.deleted(pod("node", 1, None)))),
        ["Pod t-node-0-1 was deleted, want it kept"]
    );
    let none = story(Target::TRAINJOB_KAI, false).end();
    assert!(matches!(has_the_same_pods(&none, "t", 0, 0), Err(Broken::NotReached(_))));
}

#[test]
fn a_suspended_train_job_has_no_pods() {
    let story = story(Target::TRAINJOB_KAI, false).added(pod("node", 0, None));
    let ruling = |story: Story| {
        let history = story.end();
        has_no_pods(&history, "t", history.entries.len())
    };
    assert_eq!(codes(ruling(story.clone())), ["pod-while-suspended"]);
    assert_eq!(ruling(story.deleted(pod("node", 0, None))), Ok(()));
}

#[test]
fn a_lost_pod_is_replaced_and_the_others_stay() {
    let after = |new: Option<Value>, other: Option<&str>| {
        let story = story(Target::TRAINJOB_KAI, false).all_added(pods(3));
        let lost =
            story.mark(SharedMark::PodLost, json!({"name": "t-node-0-0"})).deleted(pod("node", 0, Some("n")));
        let moved = lost.modified(pod("node", 1, other));
        is_replaced(&new.into_iter().fold(moved, Story::added).end(), "t")
    };
    let mut new = pod("node", 0, Some("n"));
    new["metadata"]["name"] = "t-node-0-0-new".into();
    assert!(after(Some(new.clone()), Some("n")).is_ok());
    assert_eq!(messages(after(None, Some("n"))).len(), 1);
    assert_eq!(messages(after(Some(new), Some("m"))).len(), 1);
}
