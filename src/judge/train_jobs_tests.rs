//! TrainJobs in hand-written histories.

use conformance_contract::target::Target;
use conformance_history::SharedMark;
use conformance_history::testing::Story;
use serde_json::json;

use super::*;
use crate::messages;

/// A TrainJob with 3 pods of `node`, plus one leader pod if `with_leader`.
fn story(target: Target, with_leader: bool) -> Story {
    let trainer = json!({"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"metadata": {"labels": {"team": "red"}}, "spec": {"schedulerName": "s",
            "containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}}}});
    let mut jobs = vec![json!({"name": "node", "template": trainer})];
    if with_leader {
        jobs.insert(0, json!({"name": "leader", "template": {}}));
    }
    let runtime = json!({"metadata": {"name": "runtime r"},
        "spec": {"mlPolicy": {"numNodes": 3}, "template": {"spec": {"replicatedJobs": jobs}}}});
    let train_job = json!({"metadata": {"name": "t"}, "spec": {"runtimeRef": {"name": "r"}}});
    Story::on(target).submitted(runtime).submitted(train_job)
}

fn pod(job: &str, index: usize, node: Option<&str>) -> Value {
    json!({"kind": "Pod",
        "metadata": {"name": format!("t-{job}-0-{index}"), "labels": {JOB_SET: "t", REPLICATED_JOB: job, "team": "red"}},
        "spec": {"nodeName": node, "schedulerName": "s"}})
}

fn pods(bound: usize) -> impl Iterator<Item = Value> {
    (0..3).map(move |index| pod("node", index, (index < bound).then_some("n")))
}

fn said(ruling: Ruling) -> Vec<String> {
    messages(ruling)
}

#[test]
fn a_unit_is_bound_whole_or_not() {
    let at_end = |bound| {
        let history = story(Target::TRAINJOB_KAI, false).all_added(pods(bound)).end();
        whole(&history.end(), &units(&history, "t").unwrap())
    };
    assert!(at_end(3).is_ok());
    assert_eq!(said(at_end(2)), ["TrainJob t (3 pods of node) is not fully bound: 2 of 3 pods are bound"]);
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
    assert_eq!(said(ever(story().all_added(pods(1)))).len(), 1);
}

#[test]
fn units_are_what_the_column_declares() {
    let history = |target| story(target, true).end();
    assert_eq!(units(&history(Target::TRAINJOB_KAI), "t").unwrap().len(), 1);
    assert_eq!(units(&history(Target::TRAINJOB_KUBE), "t").unwrap().len(), 2);
}

#[test]
fn after_a_pass_a_unit_is_whole_or_not_bound() {
    let passed = |bound| {
        let story = story(Target::TRAINJOB_VOLCANO, false).all_added(pods(bound));
        whole_or_nothing(&story.mark(SharedMark::SchedulerPassed, Value::Null).end())
    };
    assert!(passed(0).is_ok() && passed(3).is_ok());
    assert_eq!(said(passed(2)).len(), 1);
}

#[test]
fn the_stages_of_a_train_job_are_units_of_their_own() {
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
    assert!(passed(0, true).is_ok(), "the second stage is still to come");
    assert_eq!(said(passed(2, true)).len(), 1);
    assert_eq!(said(passed(0, false)).len(), 1);
}

#[test]
fn a_pod_that_runs_is_not_evicted() {
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
    let told = said(ends("Running", true));
    assert_eq!(told, ["Pod t-node-0-0 was deleted before it had ended: gang is stale"]);
    assert!(matches!(ends("Pending", false), Err(Broken::NotReached(_))));
}

#[test]
fn pods_of_a_train_job_that_stay() {
    const AWAY: conformance_history::MarkName = conformance_history::MarkName::of_case("away");
    let later = |change: fn(Story) -> Story| {
        let story = story(Target::TRAINJOB_KAI, false).all_added(pods(0)).mark(AWAY, Value::Null);
        let history = change(story).end();
        let (away, _) = history.reached(AWAY).unwrap();
        has_the_same_pods(&history, "t", away, history.entries.len())
    };
    assert!(later(|story| story.modified(pod("node", 0, Some("n")))).is_ok());
    assert_eq!(
        said(later(|story| story.deleted(pod("node", 1, None)))),
        ["Pod t-node-0-1 was deleted, want it kept"]
    );
    let none = story(Target::TRAINJOB_KAI, false).end();
    assert!(matches!(has_the_same_pods(&none, "t", 0, 0), Err(Broken::NotReached(_))));
}

#[test]
fn a_pending_train_job_says_why() {
    let condition = |message: &str| {
        let mut pod = pod("node", 0, None);
        pod["status"] = json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]});
        says_why(&story(Target::TRAINJOB_KUBE, false).added(pod).end(), "t")
    };
    assert!(condition("no room").is_ok());
    assert_eq!(said(condition("")).len(), 1);
}

#[test]
fn the_queue_is_on_every_pod_and_nothing_else_changes() {
    let with = |edit: fn(&mut Value), queue| {
        let mut all: Vec<_> = pods(0).collect();
        for pod in &mut all {
            pod["metadata"]["labels"][QUEUE] = "team-a".into();
        }
        edit(&mut all[1]);
        let history = story(Target::TRAINJOB_KAI, false).all_added(all).end();
        [queue_is(&history, "t", queue), nothing_but_the_queue(&history, "t")].map(|ruling| match ruling {
            Ok(()) => 0,
            broken => said(broken).len(),
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
fn of_two_train_jobs_one_wins_and_the_other_is_not_touched() {
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
        said(at_end(None)),
        ["TrainJob t (1 pods of leader) is not fully bound: 0 of 1 pods are bound"]
    );
}

#[test]
fn a_gang_that_the_trainer_made_is_a_breach_of_the_policy() {
    let group = json!({"kind": "PodGroup.scheduling.run.ai", "metadata": {"name": "t", "managedFields": [{"manager": "trainer"}]}});
    let mut all: Vec<_> = pods(0).collect();
    all.push(group);
    let history = story(Target::TRAINJOB_KAI, false).all_added(all).end();
    assert!(queue_is(&history, "t", None).is_ok());
    assert_eq!(
        said(nothing_but_the_queue(&history, "t")),
        ["PodGroup.scheduling.run.ai t was created by the trainer or its plugin"]
    );
}

#[test]
fn the_pod_group_stays_in_the_queue_that_counts() {
    let group = |queue: &str| {
        json!({"kind": "PodGroup.scheduling.run.ai", "spec": {"queue": queue},
            "metadata": {"name": "pg-t", "ownerReferences": [{"kind": "JobSet", "name": "t"}]}})
    };
    let ruling = |story: Story| pod_group_is_in(&story.end(), "t", "team-a");
    let made = || story(Target::TRAINJOB_KAI, false).added(group("team-a"));
    assert!(ruling(made()).is_ok());
    assert_eq!(
        said(ruling(made().modified(group("later")))),
        ["PodGroup pg-t is in queue \"later\", want team-a"]
    );
}

#[test]
fn each_replicated_job_has_a_rack_of_its_own_and_a_train_job_one_for_all() {
    let rack = |rack: &str| json!({"kind": "Node", "metadata": {"name": rack, "labels": {"topology.kubernetes.io/rack": rack}}});
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

/// The PodGroup that KAI 0.16 and later create for it.
fn tree() -> Value {
    json!({"kind": "PodGroup.scheduling.run.ai",
        "metadata": {"name": "pg-t-u", "ownerReferences": [{"kind": "JobSet", "name": "t", "uid": "u"}]},
        "spec": {"minSubGroup": 1, "subGroups": [
            {"name": "node", "minSubGroup": 1}, {"name": "node-replica-0", "parent": "node", "minMember": 3}]}})
}

#[test]
fn kais_tree_has_a_leaf_per_job() {
    let with = |edit: fn(&mut Value, &mut Vec<Value>)| {
        let (mut group, mut all) = (tree(), pods(3).collect::<Vec<_>>());
        for pod in &mut all {
            pod["metadata"]["annotations"] = json!({"pod-group-name": "pg-t-u"});
        }
        edit(&mut group, &mut all);
        let job_set = json!({"kind": "JobSet", "metadata": {"name": "t", "uid": "u"}});
        is_one_tree(&story(Target::TRAINJOB_KAI, false).added(job_set).added(group).all_added(all).end(), "t")
    };
    assert!(with(|_, _| {}).is_ok());
    // KAI 0.15.
    assert_eq!(said(with(|group, _| group["spec"] = json!({"minMember": 1}))).len(), 1);
    assert_eq!(said(with(|group, _| group["spec"]["subGroups"][1]["minMember"] = 1.into())).len(), 1);
    assert_eq!(
        said(with(|group, _| group["metadata"]["ownerReferences"][0]["kind"] = "TrainJob".into())).len(),
        1
    );
    assert_eq!(said(with(|_, pods| pods[0]["metadata"]["annotations"] = Value::Null)).len(), 1);
}

#[test]
fn the_trainers_pod_group_counts_all_pods() {
    let with = |edit: fn(&mut Value, &mut Vec<Value>)| {
        let owner = json!({"kind": "TrainJob", "name": "t", "controller": true});
        let mut group = json!({"kind": "PodGroup.scheduling.volcano.sh",
            "metadata": {"name": "t", "ownerReferences": [owner]},
            "spec": {"minMember": 3, "minResources": {"nvidia.com/gpu": "24"}}});
        let mut all: Vec<_> = pods(3).collect();
        for pod in &mut all {
            pod["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "t"});
        }
        edit(&mut group, &mut all);
        is_one_pod_group(&story(Target::TRAINJOB_VOLCANO, false).added(group).all_added(all).end(), "t")
    };
    assert!(with(|_, _| {}).is_ok());
    assert_eq!(said(with(|group, _| group["spec"]["minMember"] = 1.into())).len(), 1);
    assert_eq!(said(with(|group, _| group["spec"]["minResources"]["nvidia.com/gpu"] = "8".into())).len(), 1);
    assert_eq!(
        said(with(|group, _| group["metadata"]["ownerReferences"][0]["controller"] = false.into())).len(),
        1
    );
    assert_eq!(said(with(|_, pods| pods[0]["metadata"]["annotations"] = Value::Null)).len(), 1);
}

#[test]
fn for_coscheduling_it_has_the_time_of_the_policy_and_pods_join_by_label() {
    let with = |edit: fn(&mut Value, &mut Vec<Value>)| {
        let owner = json!({"kind": "TrainJob", "name": "t", "controller": true});
        let mut group = json!({"kind": "PodGroup.scheduling.x-k8s.io",
            "metadata": {"name": "t", "ownerReferences": [owner]},
            "spec": {"minMember": 3, "minResources": {"nvidia.com/gpu": "24"}, "scheduleTimeoutSeconds": 15}});
        let mut all: Vec<_> = pods(3).collect();
        for pod in &mut all {
            pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "t".into();
        }
        edit(&mut group, &mut all);
        let mut history = story(Target::TRAINJOB_COSCHEDULING, false).added(group).all_added(all).end();
        if let Some(runtime) = history.header.submitted.get_mut("runtime r") {
            runtime["spec"]["podGroupPolicy"] = json!({"coscheduling": {"scheduleTimeoutSeconds": 15}});
        }
        is_one_pod_group(&history, "t")
    };
    assert!(with(|_, _| {}).is_ok());
    assert_eq!(said(with(|group, _| group["spec"]["scheduleTimeoutSeconds"] = 60.into())).len(), 1);
    assert_eq!(said(with(|_, pods| pods[0]["metadata"]["labels"] = json!({JOB_SET: "t"}))).len(), 1);
}

#[test]
fn every_job_is_a_gang_from_the_creation_of_its_pods() {
    let with = |edit: fn(&mut Value, &mut Vec<Value>)| {
        let owners = json!([{"kind": "Job", "name": "t-node-0", "controller": true}]);
        let workload = json!({"kind": "Workload", "metadata": {"name": "w", "ownerReferences": owners}});
        let mut group = json!({"kind": "PodGroup", "metadata": {"name": "g", "ownerReferences": owners},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}});
        let mut all: Vec<_> = pods(3).collect();
        for pod in &mut all {
            pod["metadata"]["labels"]["job-name"] = "t-node-0".into();
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": "g"});
        }
        edit(&mut group, &mut all);
        let story = story(Target::TRAINJOB_KUBE, false).added(workload).added(group).all_added(all);
        each_job_is_a_gang(&story.end(), "t")
    };
    assert!(with(|_, _| {}).is_ok());
    assert_eq!(said(with(|group, _| group["metadata"]["ownerReferences"] = json!([]))).len(), 1);
    assert_eq!(
        said(with(|group, _| group["spec"]["schedulingPolicy"]["gang"]["minCount"] = 1.into())).len(),
        1
    );
    assert_eq!(said(with(|_, pods| pods[0]["spec"]["schedulingGroup"] = Value::Null)).len(), 1);
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
    assert_eq!(said(after(None, Some("n"))).len(), 1);
    assert_eq!(said(after(Some(new), Some("m"))).len(), 1);
}

#[test]
fn what_was_refused_for_want_of_rights_is_told() {
    assert!(nothing_forbidden(&json!([])).is_ok());
    let told = said(nothing_forbidden(&json!([{"user": "trainer", "action": "list jobsets"}])));
    assert_eq!(told, ["trainer was denied permission to list jobsets"]);
}
