use conformance_check::messages;
use conformance_contract::target::Target;
use serde_json::json;

use super::super::fixture::{pods, story};
use super::*;

/// The PodGroup that KAI 0.16 and later create for a TrainJob.
fn tree() -> Value {
    json!({"kind": "PodGroup.scheduling.run.ai",
        "metadata": {"name": "pg-t-u", "ownerReferences": [{"kind": "JobSet", "name": "t", "uid": "u"}]},
        "spec": {"minSubGroup": 1, "subGroups": [
            {"name": "node", "minSubGroup": 1},
            {"name": "node-replica-0", "parent": "node", "minMember": 3}]}})
}

#[test]
fn kais_tree_has_a_subgroup_per_job() {
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
    // KAI 0.15 creates a PodGroup without subgroups.
    assert_eq!(messages(with(|group, _| group["spec"] = json!({"minMember": 1}))).len(), 1);
    assert_eq!(messages(with(|group, _| group["spec"]["subGroups"][0]["name"] = "other".into())).len(), 1);
    assert_eq!(
        messages(with(|group, _| group["metadata"]["ownerReferences"][0]["kind"] = "TrainJob".into())).len(),
        1
    );
    assert_eq!(messages(with(|_, pods| pods[0]["metadata"]["annotations"] = Value::Null)).len(), 1);
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
    assert_eq!(messages(with(|group, _| group["spec"]["minMember"] = 1.into())).len(), 1);
    assert_eq!(
        messages(with(|group, _| group["spec"]["minResources"]["nvidia.com/gpu"] = "8".into())).len(),
        1
    );
    assert_eq!(
        messages(with(|group, _| group["metadata"]["ownerReferences"][0]["controller"] = false.into())).len(),
        1
    );
    assert_eq!(messages(with(|_, pods| pods[0]["metadata"]["annotations"] = Value::Null)).len(), 1);
}

#[test]
fn coscheduling_takes_the_timeout_of_the_policy_and_pods_join_by_label() {
    let with = |edit: fn(&mut Value, &mut Vec<Value>)| {
        let owner = json!({"kind": "TrainJob", "name": "t", "controller": true});
        let mut group = json!({"kind": "PodGroup.scheduling.x-k8s.io",
            "metadata": {"name": "t", "ownerReferences": [owner]},
            "spec": {"minMember": 3, "minResources": {"nvidia.com/gpu": "24"},
                "scheduleTimeoutSeconds": 15}});
        let mut all: Vec<_> = pods(3).collect();
        for pod in &mut all {
            pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "t".into();
        }
        edit(&mut group, &mut all);
        let mut history = story(Target::COSCHEDULING, false).added(group).all_added(all).end();
        if let Some(runtime) = history.header.submitted.get_mut("runtime r") {
            runtime["spec"]["podGroupPolicy"] = json!({"coscheduling": {"scheduleTimeoutSeconds": 15}});
        }
        is_one_pod_group(&history, "t")
    };
    assert!(with(|_, _| {}).is_ok());
    assert_eq!(messages(with(|group, _| group["spec"]["scheduleTimeoutSeconds"] = 60.into())).len(), 1);
    assert_eq!(messages(with(|_, pods| pods[0]["metadata"]["labels"] = json!({JOB_SET: "t"}))).len(), 1);
}

#[test]
fn pods_are_created_in_the_gang_of_their_job() {
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
    assert_eq!(messages(with(|group, _| group["metadata"]["ownerReferences"] = json!([]))).len(), 1);
    assert_eq!(
        messages(with(|group, _| group["spec"]["schedulingPolicy"]["gang"]["minCount"] = 1.into())).len(),
        1
    );
    assert_eq!(messages(with(|_, pods| pods[0]["spec"]["schedulingGroup"] = Value::Null)).len(), 1);
}
