use conformance_check::messages;
use conformance_contract::target::Target;
use conformance_history::testing::Story;
use serde_json::json;

use super::super::fixture::{pod, pods, story};
use super::*;

#[test]
fn a_unit_is_whole_when_all_its_pods_are_bound() {
    let at_end = |bound| {
        let history = story(Target::TRAINJOB_KAI, false).all_added(pods(bound)).end();
        whole(&history.end(), &units(&history, "t").unwrap())
    };
    assert!(at_end(3).is_ok());
    assert_eq!(
        messages(at_end(2)),
        ["TrainJob t (3 pods of node) is not fully bound: 2 of 3 pods are bound"]
    );
}

#[test]
fn never_bound_needs_pods_and_no_binding() {
    let ever = |story: Story| {
        let history = story.end();
        never(&history, &units(&history, "t").unwrap(), None)
    };
    let story = || story(Target::TRAINJOB_KAI, false);
    assert!(matches!(ever(story()), Err(Broken::NotReached(_))));
    assert!(ever(story().all_added(pods(0))).is_ok());
    assert_eq!(messages(ever(story().all_added(pods(1)))).len(), 1);
}

#[test]
fn after_a_pass_a_unit_is_whole_or_not_bound() {
    let passed = |bound| {
        let story = story(Target::TRAINJOB_VOLCANO, false).all_added(pods(bound));
        whole_or_nothing(&story.mark(SharedMark::SchedulerPassed, Value::Null).end())
    };
    assert!(passed(0).is_ok() && passed(3).is_ok());
    assert_eq!(messages(passed(2)).len(), 1);
}

#[test]
fn each_stage_of_a_train_job_is_a_unit() {
    let passed = |bound, waits: bool| {
        let mut story = story(Target::TRAINJOB_KAI, true);
        story = story.added(pod("leader", 0, Some("n"))).all_added(pods(bound));
        let mut history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
        if let Some(runtime) = history.header.submitted.get_mut("runtime r").filter(|_| waits) {
            runtime["spec"]["template"]["spec"]["replicatedJobs"][1]["dependsOn"] =
                json!([{"name": "leader", "status": "Complete"}]);
        }
        whole_or_nothing(&history)
    };
    assert!(passed(0, true).is_ok(), "the second stage does not exist yet");
    assert_eq!(messages(passed(2, true)).len(), 1);
    assert_eq!(messages(passed(0, false)).len(), 1);
}

#[test]
fn a_pending_train_job_reports_why() {
    let condition = |message: &str| {
        let mut pod = pod("node", 0, None);
        pod["status"] = json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]});
        reports_why_pending(&story(Target::TRAINJOB_KUBE, false).added(pod).end(), "t")
    };
    assert!(condition("no room").is_ok());
    assert_eq!(messages(condition("")).len(), 1);
}

#[test]
fn one_of_two_train_jobs_is_bound_and_the_other_has_no_bound_pod() {
    let of_other = |bound: usize| {
        pods(bound).map(|mut pod| {
            pod["metadata"]["name"] = format!("u-{}", text(&pod["metadata"]["name"])).into();
            pod["metadata"]["labels"][JOB_SET] = "u".into();
            pod
        })
    };
    let bound = |first, second| {
        let other = json!({"metadata": {"name": "u"}, "spec": {"runtimeRef": {"name": "r"}}});
        let story = story(Target::TRAINJOB_KAI, false).submitted(other);
        let history = story.all_added(pods(first)).all_added(of_other(second)).end();
        [one_is_whole(&history, &["t", "u"]).is_ok(), whole_or_never(&history, &["t", "u"]).is_ok()]
    };
    assert_eq!(bound(3, 0), [true, true]);
    assert_eq!(bound(3, 1), [true, false]);
    assert_eq!(bound(0, 0), [false, true]);
    assert_eq!(bound(3, 3), [false, true]);
}

#[test]
fn the_first_stage_is_bound_without_the_second() {
    let at_end = |node: Option<&str>| {
        let mut history = story(Target::TRAINJOB_KAI, true).added(pod("leader", 0, node)).end();
        if let Some(runtime) = history.header.submitted.get_mut("runtime r") {
            runtime["spec"]["template"]["spec"]["replicatedJobs"][1]["dependsOn"] =
                json!([{"name": "leader", "status": "Complete"}]);
        }
        first_stage_is_whole(&history, &history.end(), "t")
    };
    assert!(at_end(Some("n")).is_ok());
    assert_eq!(
        messages(at_end(None)),
        ["TrainJob t (1 pod of leader) is not fully bound: 0 of 1 pods are bound"]
    );
}

#[test]
fn pods_are_in_one_rack_per_train_job_or_per_replicated_job() {
    let rack = |rack: &str| {
        let labels = json!({"topology.kubernetes.io/rack": rack});
        json!({"kind": "Node", "metadata": {"name": rack, "labels": labels}})
    };
    let placed = |nodes: [&str; 4]| {
        let pods = [("leader", 0), ("node", 0), ("node", 1), ("node", 2)].into_iter().zip(nodes);
        let pods = pods.map(|((job, index), node)| pod(job, index, Some(node)));
        let story = story(Target::TRAINJOB_KAI, true).added(rack("a")).added(rack("b")).all_added(pods);
        let (history, key) = (story.end(), "topology.kubernetes.io/rack");
        [in_one_domain(&history, "t", key), each_job_in_one_domain(&history, "t", key)]
            .map(|ruling| ruling.is_ok())
    };
    assert_eq!(placed(["a", "a", "a", "a"]), [true, true]);
    assert_eq!(placed(["a", "b", "b", "b"]), [false, true]);
    assert_eq!(placed(["a", "b", "b", "a"]), [false, false]);
}
