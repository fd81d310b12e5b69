use conformance_history::testing::{Story, object};
use serde_json::json;

use super::super::fixture::{
    all_replaced, changed, changed_on_delete, clique, deleted, ended_status, on_delete, pcs, pod, replaced,
    updating,
};
use super::*;
use crate::message;

#[test]
fn the_end_is_reported_when_every_pod_is_new_and_ready() {
    let correct = all_replaced().modified(pcs(1, "2", ended_status(1))).end();
    assert_eq!((ended(&correct, "w"), never_ended_early(&correct, "w")), (Ok(()), Ok(())));
    let early = changed().modified(pcs(1, "2", ended_status(0))).end();
    assert!(message(never_ended_early(&early, "w")).contains("Pod 0a0 has an old template"));
    assert!(message(ended(&early, "w")).contains("Pod 0a0 has an old template"));
    let below = replaced(replaced(changed(), "0a0"), "0g0");
    let below = replaced(deleted(below, "0a1"), "0g1").modified(pod("0a0-new", "2", false));
    let below = below.modified(pcs(1, "2", ended_status(0))).end();
    assert!(message(never_ended_early(&below, "w")).contains("PodClique w-0-a is below its minAvailable"));
    let miscounted = all_replaced().modified(pcs(1, "2", ended_status(0))).end();
    assert!(message(ended(&miscounted, "w")).contains("updatedReplicas is 0, want 1"));
    let mut same = ended_status(1);
    same["currentGenerationHash"] = json!("1");
    assert!(
        message(ended(&all_replaced().modified(pcs(1, "2", same)).end(), "w"))
            .contains("currentGenerationHash of the PodCliqueSet did not change")
    );
    let unchanged = Story::flat().added(pcs(1, "1", ended_status(1))).added(pod("0a0", "1", false)).end();
    assert!(matches!(ended(&unchanged, "w"), Err(Broken::NotReached(_))), "the templates never changed");
}

#[test]
fn an_update_is_incomplete_only_after_a_change_of_templates() {
    let complete = |story: Story| {
        let history = story.end();
        is_complete(&history, history.entries.len(), "w")
    };
    assert_eq!(complete(all_replaced().modified(pcs(1, "2", ended_status(1)))), Ok(()));
    let old = complete(replaced(changed(), "0a0"));
    assert!(message(old).contains("is not complete: Pod 0a1 has an old template"));
    let before = Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", false));
    assert!(matches!(complete(before), Err(Broken::NotReached(_))), "the pod waits for another reason");
}

#[rstest::rstest]
#[case::requested("0a1", true)]
#[case::third_pod_of_the_clique("0a2", false)]
#[case::group_replica("0g2", false)]
#[case::replica_of_the_set("1a0", false)]
fn a_pod_beyond_the_requested_replicas_is_a_violation(#[case] name: &str, #[case] is_requested: bool) {
    let mut group = object("PodCliqueScalingGroup", "w-0-g");
    group["spec"]["replicas"] = json!(2);
    let story = Story::flat().added(pcs(1, "2", Value::Null)).added(clique(0, Value::Null)).added(group);
    let pods = ["0a0", "0a1", "0g0", "0g1"].into_iter().filter(|pod| *pod != name).chain([name]);
    let live = pods.fold(story, |story, name| story.added(pod(name, "2", true))).end().end();
    assert_eq!(none_beyond(&live, "w").is_ok(), is_requested);
}

#[test]
fn an_update_ends_at_once_with_on_delete() {
    assert_eq!(ended_at_once(&changed_on_delete(ended_status(0)).end(), "w"), Ok(()));
    let open = changed_on_delete(updating(0)).end();
    assert!(message(ended_at_once(&open, "w")).contains("did not report the end of the update within"));
    let late = changed_on_delete(updating(0)).later(6).modified(on_delete("2", ended_status(0))).end();
    assert!(message(ended_at_once(&late, "w")).contains("did not report the end of the update within"));
}

#[test]
fn a_refused_update_is_reported_as_not_asked() {
    let refused = Story::flat().mark(SharedMark::UpdateRefused, json!({"message": "not yet"})).end();
    assert!(matches!(are_admitted(&refused), Err(Broken::NotAsked(why)) if why.contains("not yet")));
    assert_eq!(are_admitted(&Story::flat().end()), Ok(()));
}
