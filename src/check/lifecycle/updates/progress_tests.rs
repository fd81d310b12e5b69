use conformance_history::testing::{Story, object};
use serde_json::json;

use super::super::fixture::{changed, clique, ended_status, pcs, pod, pod_spec, replaced, updating};
use super::*;
use crate::message;

#[test]
fn a_clique_reports_the_pods_that_were_replaced() {
    let reported = |updated: usize, selected: Value| {
        let progress = json!({"updateStartedAt": "t", "readyPodsSelectedToUpdate": selected});
        clique(0, json!({"updatedReplicas": updated, "updateProgress": progress}))
    };
    let correct = changed().added(reported(0, json!({"current": "0a0"})));
    let correct =
        replaced(correct, "0a0").modified(reported(1, json!({"current": "0a1", "completed": ["0a0"]})));
    assert_eq!(progress_is_correct(&correct.end(), "w"), Ok(()));
    let wrong = |updated: usize, selected: Value| {
        let story =
            replaced(changed().added(reported(0, Value::Null)), "0a0").modified(reported(updated, selected));
        message(progress_is_correct(&story.end(), "w"))
    };
    assert!(wrong(2, Value::Null).contains("updatedReplicas is 2, want at most 1"));
    assert!(wrong(1, json!({"current": "0b7"})).contains("0b7, which never belonged to the PodClique"));
    assert!(
        wrong(1, json!({"current": "0a0", "completed": ["0a1"]})).contains("0a1 is reported as completed")
    );
    let again = |status: Value| {
        let mut third = clique(0, status);
        third["spec"]["podSpec"] = pod_spec("3");
        third
    };
    let former = reported(1, Value::Null)["status"].clone();
    let next = replaced(changed(), "0a0").added(reported(1, Value::Null)).modified(again(former));
    let next = next.modified(again(reported(0, Value::Null)["status"].clone())).end();
    assert_eq!(progress_is_correct(&next, "w"), Ok(()), "another template");
    let set = changed().modified(pcs(1, "2", ended_status(1))).end();
    assert!(message(progress_is_correct(&set, "w")).contains("updatedReplicas is 1, want at most 0"));
}

#[test]
fn a_group_reports_the_update_that_it_has_observed() {
    let reported = |updated: usize, hash: &str, completed: usize| {
        let mut group = object("PodCliqueScalingGroup", "w-0-g");
        group["metadata"]["labels"] = json!({names::PART_OF: "w"});
        group["spec"] = json!({"replicas": 2});
        group["status"] = json!({"updatedReplicas": updated, "updateProgress": {
            "podCliqueSetGenerationHash": hash,
            "readyReplicaIndicesSelectedToUpdate": {"completed": [completed]},
        }});
        group
    };
    let check = |story: Story| progress_is_correct(&story.end(), "w");
    let one_replaced = || replaced(changed(), "0g0");
    assert_eq!(check(one_replaced().added(reported(1, "2", 0))), Ok(()));
    assert!(
        message(check(one_replaced().added(reported(2, "2", 0))))
            .contains("updatedReplicas is 2, want at most 1")
    );
    let wrong = message(check(one_replaced().added(reported(1, "2", 1))));
    assert!(
        wrong.contains("replica 1 is reported as completed but has a pod with an old template"),
        "{wrong}"
    );
    let again = || one_replaced().added(reported(1, "2", 0)).modified(pcs(1, "3", updating(0)));
    assert_eq!(
        check(again().modified(reported(0, "2", 0))),
        Ok(()),
        "it has not observed the third template"
    );
    let wrong = message(check(again().modified(reported(0, "3", 0))));
    assert!(
        wrong.contains("replica 0 is reported as completed but has a pod with an old template"),
        "{wrong}"
    );
}

#[test]
fn statuses_count_all_replicas_as_updated() {
    let reported = |replicas: usize, updated: usize| {
        let of_set = pcs(1, "2", json!({"replicas": 1, "updatedReplicas": 1}));
        let of_clique = clique(0, json!({"replicas": replicas, "updatedReplicas": updated}));
        counted(&Story::flat().added(of_set).added(of_clique).end().end(), "w")
    };
    assert_eq!(reported(2, 2), Ok(()));
    assert!(message(reported(2, 1)).contains("PodClique w-0-a has 2 replicas, but its updatedReplicas is 1"));
    assert!(message(reported(3, 2)).contains("but its replicas is 3"));
}

#[test]
fn a_clique_counts_its_new_pods() {
    let reported = |updated: usize| {
        let story = Story::flat().added(clique(0, json!({"updatedReplicas": updated})));
        let story = story.added(pod("0a0", "1", true)).added(pod("0a1", "2", true));
        counts_new_pods(&story.end().end(), "w-0-a")
    };
    assert_eq!(reported(1), Ok(()));
    assert!(message(reported(2)).contains("updatedReplicas of PodClique w-0-a is 2, want 1"));
}
