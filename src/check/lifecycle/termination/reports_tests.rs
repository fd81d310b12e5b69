use conformance_contract::names;
use conformance_expect::scopes::replicas;
use conformance_facts::generations::terminations;
use conformance_facts::testing::{pair, pod, running, terminating_pod};
use conformance_history::testing::{Story, object};
use serde_json::{Value, json};

use super::*;
use crate::{codes, message};

#[test]
fn an_event_reports_the_loss_of_all_pods_of_a_clique() {
    let event = |reason: &str, about: &str| {
        let mut event = object("Event", "e");
        event["type"] = json!("Warning");
        event["reason"] = json!(reason);
        event["involvedObject"] = json!({"kind": "PodClique", "name": about});
        event
    };
    let clique = "w-0-a";
    let one = running().deleted(pod("a", Some("n")));
    assert!(matches!(loss_of_all_pods_reported(&one.end(), clique), Err(Broken::NotReached(_))));
    let all = || running().deleted(pod("a", Some("n"))).deleted(pod("b", Some("n"))).added(pod("c", None));
    assert_eq!(
        loss_of_all_pods_reported(&all().added(event("AllScheduledReplicasLost", clique)).end(), clique),
        Ok(())
    );
    let late = all().later(11).added(event("AllScheduledReplicasLost", clique)).end();
    assert!(message(loss_of_all_pods_reported(&late, clique)).contains("lost its last bound pod"));
    let mut normal = event("AllScheduledReplicasLost", clique);
    normal["type"] = json!("Normal");
    for wrong in [event("Lost", clique), event("AllScheduledReplicasLost", "w-0-b"), normal] {
        assert!(
            message(loss_of_all_pods_reported(&all().added(wrong).end(), clique))
                .contains("lost its last bound pod")
        );
    }
}

#[test]
fn events_and_statuses_report_a_termination() {
    let reported = |history: &History| {
        reported_by_events(history, &pair())?;
        shown_in_statuses(history, &pair())
    };
    let event_of = |kind: &str, note: &str| {
        let mut event = object("Event", "e");
        event["type"] = json!("Normal");
        event["involvedObject"] = json!({"kind": kind, "name": "w"});
        event["message"] = json!(note);
        event
    };
    let pcs = |available: usize| {
        let mut pcs = object("PodCliqueSet", "w");
        pcs["status"]["availableReplicas"] = json!(available);
        pcs
    };
    let story_of = |event: Value, available: usize| {
        let before = Story::flat().added(pcs(1)).added(pod("a", Some("n"))).added(pod("b", Some("n")));
        let deleted = before
            .added(event)
            .modified(terminating_pod("a"))
            .modified(terminating_pod("b"))
            .added(pod("c", None));
        deleted.modified(pcs(available)).end()
    };
    let story = |note: &str, available: usize| story_of(event_of("PodCliqueSet", note), available);
    assert_eq!(reported(&story("replica 0 terminated", 0)), Ok(()));
    let bound = event_of("Pod", "Successfully assigned w-0-a to node-0");
    assert!(message(reported(&story_of(bound, 0))).contains("no Normal event"));
    let unreported = story("replica 10 terminated", 0);
    assert!(message(reported(&unreported)).contains("no Normal event"));
    assert_eq!(shown_in_statuses(&unreported, &pair()), Ok(()));
    let available = story("replica 0 terminated", 1);
    assert!(message(reported(&available)).contains("reported 1 available replicas"));
    assert_eq!(reported_by_events(&available, &pair()), Ok(()));
    let breached = Story::flat().added(pcs(1)).added(pod("a", Some("n"))).added(pod("b", Some("n")));
    let terminated =
        breached.modified(pcs(0)).later(20).added(event_of("PodCliqueSet", "replica 0 terminated"));
    let deleted = terminated
        .modified(terminating_pod("a"))
        .modified(terminating_pod("b"))
        .added(pod("c", None))
        .modified(pcs(1));
    assert_eq!(reported(&deleted.end()), Ok(()), "the status was lower since the breach");
}

fn grouped() -> SetReplica {
    let group = json!({"name": "sg", "replicas": 1, "minAvailable": 1, "cliqueNames": ["b"]});
    let template = json!({"cliques": [{"name": "b", "spec": {}}], "podCliqueScalingGroups": [group]});
    let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": template}});
    replicas(&pcs).remove(0)
}

fn member(mut pod: Value) -> Value {
    let labels = &mut pod["metadata"]["labels"];
    labels[names::POD_CLIQUE] = json!("w-0-sg-0-b");
    labels[names::SCALING_GROUP] = json!("w-0-sg");
    labels[names::SCALING_GROUP_REPLICA_INDEX] = json!("0");
    pod
}

#[test]
fn the_condition_ends_when_the_whole_group_is_healthy() {
    let group = |status: &str| {
        let mut group = object("PodCliqueScalingGroup", "w-0-sg");
        group["status"]["conditions"] = json!([{"type": "GangTerminationInProgress", "status": status}]);
        group
    };
    let terminated = || {
        let deleted = Story::flat().added(member(pod("a", Some("n")))).modified(member(terminating_pod("a")));
        deleted.modified(group("True")).added(member(pod("c", None)))
    };
    let bound = || member(pod("c", Some("n")));
    let check = |story: Story| shown_in_statuses(&story.end(), &grouped());
    assert_eq!(check(terminated().modified(bound()).modified(group("False"))), Ok(()));
    let early = terminated().modified(group("False")).modified(bound());
    assert_eq!(codes(check(early)), ["gang-termination-reported-over-early"]);
}

#[test]
fn a_termination_that_ends_at_once_needs_no_condition() {
    let group = grouped().groups.remove(0);
    let is_wrong = |seconds: i64| {
        let story =
            Story::flat().added(member(pod("a", Some("n")))).later(3).modified(member(terminating_pod("a")));
        let back = story.added(member(pod("c", None))).later(seconds).modified(member(pod("c", Some("n"))));
        let history = back.later(20).added(object("Event", "e")).end();
        let scope = Scope::GroupReplica { group: "w-0-sg".into(), index: 0 };
        let termination = terminations(&history, &scope).remove(0);
        wrong_condition(&history, &group, &termination).is_some()
    };
    assert!(!is_wrong(1) && is_wrong(7));
}
