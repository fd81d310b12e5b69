//! Hand-written updates; each is correct except for one fault.

use conformance_history::testing::{Story, object};

use super::*;
use crate::message;

fn pcs(replicas: usize, revision: &str, status: Value) -> Value {
    let spec = json!({"replicas": 2, "minAvailable": 1, "podSpec": pod_spec(revision)});
    let unit = json!({"replicas": 1, "podSpec": pod_spec(revision)});
    let mut pcs = object("PodCliqueSet", "w");
    pcs["spec"] = json!({"replicas": replicas, "template": {
        "cliques": [{"name": "a", "spec": spec}, {"name": "u", "spec": unit}],
        "podCliqueScalingGroups": [{"name": "g", "replicas": 2, "minAvailable": 1, "cliqueNames": ["u"]}],
    }});
    pcs["status"] = status;
    pcs
}

fn pod_spec(revision: &str) -> Value {
    json!({"containers": [{"name": "c", "env": [{"name": REVISION, "value": revision}]}]})
}

/// A pod, by name: `0a1` is pod 1 of clique `a` in replica 0, `0g1` is the pod of group replica 1 in replica
/// 0. A suffix distinguishes replacements.
fn pod(name: &str, revision: &str, ready: bool) -> Value {
    let (replica, of, index) = (&name[..1], &name[1..2], &name[2..3]);
    let mut pod = object("Pod", name);
    let clique = if of == "a" { format!("w-{replica}-a") } else { format!("w-{replica}-g-{index}-u") };
    pod["metadata"]["labels"] = json!({
        names::PART_OF: "w", names::REPLICA_INDEX: replica, names::POD_CLIQUE: clique,
        names::POD_GANG: format!("w-{replica}"), names::POD_INDEX: if of == "a" { index } else { "0" },
    });
    if of == "g" {
        pod["metadata"]["labels"][names::SCALING_GROUP] = json!(format!("w-{replica}-g"));
        pod["metadata"]["labels"][names::SCALING_GROUP_REPLICA_INDEX] = json!(index);
    }
    pod["spec"] = pod_spec(revision);
    pod["spec"]["nodeName"] = json!("n");
    pod["status"] =
        json!({"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]});
    pod
}

fn clique(replica: usize, status: Value) -> Value {
    let mut pclq = object("PodClique", &format!("w-{replica}-a"));
    pclq["metadata"]["labels"] = json!({names::PART_OF: "w"});
    pclq["spec"] = json!({"replicas": 2, "podSpec": pod_spec("2")});
    pclq["status"] = status;
    pclq
}

fn turn(replica: usize) -> Value {
    json!({"updateProgress": {"updateStartedAt": "t", "currentlyUpdating": [{"replicaIndex": replica}]}})
}

const PODS: [&str; 4] = ["0a0", "0a1", "0g0", "0g1"];

/// A running replica whose templates have changed.
fn changed() -> Story {
    let story = Story::flat().added(pcs(1, "1", json!({"currentGenerationHash": "1"})));
    let made = PODS.iter().fold(story, |story, name| story.added(pod(name, "1", true)));
    made.modified(pcs(1, "2", json!({"currentGenerationHash": "1"}))).modified(pcs(1, "2", turn(0)))
}

fn gone(story: Story, name: &str) -> Story {
    story.deleted(pod(name, "1", true))
}

/// Deletes a pod and adds its replacement.
fn replaced(story: Story, name: &str) -> Story {
    gone(story, name).added(pod(&format!("{name}-new"), "2", true))
}

fn all_replaced() -> Story {
    PODS.iter().fold(changed(), |story, name| replaced(story, name))
}

fn over(replicas: usize) -> Value {
    json!({"currentGenerationHash": "2", "updatedReplicas": replicas,
        "updateProgress": {"updateStartedAt": "t", "updateEndedAt": "u"}})
}

#[test]
fn turn_by_turn() {
    let right = all_replaced().end();
    assert_eq!(one_turn_at_a_time(&right, "w"), Ok(()));
    assert_eq!(only_old_is_taken(&right, "w"), Ok(()));
    let two = gone(gone(changed(), "0a0"), "0a1").end();
    assert!(message(one_turn_at_a_time(&two, "w")).contains("left 0 of w-0-a available, want at least 1"));
    let both = gone(gone(changed(), "0g0"), "0g1").end();
    assert!(message(one_turn_at_a_time(&both, "w")).contains("left 0 of w-0-g available, want at least 1"));
    let last = gone(changed().modified(pod("0a1", "1", false)), "0a0").end();
    assert!(message(minimum_stays(&last, "w")).contains("left 0 of w-0-a available, want at least 1"));
    assert_eq!(steps_do_not_overlap(&last, "w"), Ok(()), "it is the first step");
    let unready =
        gone(changed(), "0a0").added(pod("0a0-new", "2", false)).deleted(pod("0a0-new", "2", false));
    assert_eq!(one_turn_at_a_time(&unready.end(), "w"), Ok(()), "what is not Ready may go");
    let again = replaced(changed(), "0a0").deleted(pod("0a0-new", "2", true)).end();
    assert!(
        message(only_old_is_taken(&again, "w"))
            .contains("Pod 0a0-new was deleted although it has the current template")
    );
}

#[test]
fn a_turn_waits_for_the_one_before() {
    let mut big = pcs(1, "1", Value::Null);
    big["spec"]["template"]["cliques"][0]["spec"]["replicas"] = json!(4);
    let mut changed = big.clone();
    changed["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = pod_spec("2");
    let pods = ["0a0", "0a1", "0a2", "0a3"];
    let story = pods.iter().fold(Story::flat().added(big), |story, name| story.added(pod(name, "1", true)));
    let two = gone(gone(story.modified(changed), "0a0"), "0a1").end();
    let early = message(steps_do_not_overlap(&two, "w"));
    assert!(early.contains("when 0 of the 1 earlier deleted units of w-0-a were replaced"), "{early}");
    assert_eq!(minimum_stays(&two, "w"), Ok(()), "two of four stay, and one is needed");
}

/// The scaling group's clique starts after the standalone one, of which one pod is needed.
#[test]
fn a_turn_waits_for_those_that_come_before_it() {
    let in_order = || {
        let mut set = pcs(1, "1", Value::Null);
        set["spec"]["template"]["cliqueStartupType"] = json!("CliqueStartupTypeInOrder");
        changed().submitted(set)
    };
    let last = |story: Story, ready: bool| {
        gone(story, "0a0").modified(pod("0a1", "1", ready)).deleted(pod("0g0", "1", true)).end()
    };
    assert_eq!(parents_stand(&last(in_order(), true), "w"), Ok(()));
    let early = parents_stand(&last(in_order(), false), "w");
    assert!(message(early).contains(
        "replica 0 of scaling group w-0-g was deleted when 0 of 1 pods of parent PodClique w-0-a \
                 were Ready",
    ));
    let unready = in_order().modified(pod("0g0", "1", false)).modified(pod("0g1", "1", false));
    assert_eq!(parents_stand(&last(unready, false), "w"), Ok(()), "what is not up may go");
    let own = gone(gone(in_order(), "0a0"), "0a1").end();
    assert_eq!(parents_stand(&own, "w"), Ok(()), "it starts after nothing");
}

#[test]
fn nothing_without_an_update() {
    let story = || Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", true));
    assert_eq!(nothing_is_taken(&story().end(), "w"), Ok(()));
    assert!(message(nothing_is_taken(&gone(story(), "0a0").end(), "w")).contains("no update requires it"));
    let by_hand = story().mark(SharedMark::PodLost, json!({"name": "0a0"}));
    assert_eq!(nothing_is_taken(&gone(by_hand, "0a0").end(), "w"), Ok(()));
    let scaled_in = story().modified(pcs(0, "1", Value::Null));
    assert_eq!(nothing_is_taken(&gone(scaled_in, "0a0").end(), "w"), Ok(()));
}

#[test]
fn one_replica_after_the_other() {
    let second = ["1a0", "1a1", "1g0", "1g1"];
    let of_both = |revision: &str, status: Value| pcs(2, revision, status);
    let begin = |told: usize| {
        let story = Story::flat().added(of_both("1", Value::Null));
        let made = PODS.iter().chain(&second).fold(story, |story, name| story.added(pod(name, "1", true)));
        made.modified(of_both("2", Value::Null)).modified(of_both("2", turn(told)))
    };
    let through = PODS.iter().fold(begin(0), |story, name| replaced(story, name));
    let next = through.modified(of_both("2", turn(1)));
    let right = second.iter().fold(next, |story, name| replaced(story, name)).end();
    assert_eq!(one_replica_at_a_time(&right, "w"), Ok(()));
    assert_eq!(status_names_the_replica(&right, "w"), Ok(()));
    assert_eq!(lowest_goes_first(&right, "w"), Ok(()));
    let early = replaced(begin(1), "1a0").end();
    let higher = message(lowest_goes_first(&early, "w"));
    assert!(
        higher.contains("before the update of the lower replica 0 was complete: Pod 0a0 has an old template"),
        "{higher}"
    );
    assert_eq!(one_replica_at_a_time(&early, "w"), Ok(()), "in whatever order");
    assert_eq!(status_names_the_replica(&early, "w"), Ok(()));
    let unnamed = replaced(begin(1), "0a0").end();
    assert!(message(status_names_the_replica(&unnamed, "w")).contains("named replicas [1]"));
    assert_eq!(one_replica_at_a_time(&unnamed, "w"), Ok(()), "whatever the status says");
    let both = replaced(replaced(begin(0), "0a0").modified(of_both("2", turn(1))), "1a0").end();
    assert!(
        message(one_replica_at_a_time(&both, "w"))
            .contains("replica 0 was not complete: Pod 0a1 has an old template")
    );
    let through =
        || PODS.iter().fold(begin(0), |story, name| replaced(story, name)).modified(of_both("2", turn(1)));
    let goes_on = through().modified(of_both("3", turn(1)));
    let goes_on = gone(goes_on, "1a0").end();
    assert_eq!(one_replica_at_a_time(&goes_on, "w"), Ok(()), "it was in its turn already");
    assert_eq!(lowest_goes_first(&goes_on, "w"), Ok(()), "it was in its turn already");
    let left = gone(through(), "1a0").modified(of_both("3", turn(1))).modified(of_both("3", turn(0)));
    let left = message(one_replica_at_a_time(&gone(left, "0a0-new").end(), "w"));
    assert!(left.contains("replica 1 was not complete: PodClique w-1-a has 1 of 2 pods"), "{left}");
}

#[test]
fn what_is_down_goes_first() {
    let begin = |ready: bool| {
        let made = Story::flat().added(pcs(2, "1", Value::Null));
        let of_first = PODS.iter().fold(made, |story, name| story.added(pod(name, "1", true)));
        let of_both =
            of_first.added(pod("1a0", "1", ready)).added(pod("1g0", "1", true)).added(pod("1g1", "1", true));
        of_both.modified(pcs(2, "2", turn(1)))
    };
    let judge = |story: Story| down_go_first(&story.end(), "w");
    assert_eq!(judge(replaced(replaced(begin(false), "1a0"), "0a0")), Ok(()));
    assert_eq!(judge(gone(begin(true), "0a0")), Ok(()), "none is down");
    let late = message(judge(gone(begin(false), "0a0")));
    assert!(
        late.contains("Pod 0a0 was deleted before replica 1, which is unavailable, was updated"),
        "{late}"
    );
}

#[test]
fn an_end_that_is_one() {
    let right = all_replaced().modified(pcs(1, "2", over(1))).end();
    assert_eq!((ended(&right, "w"), never_ended_early(&right, "w")), (Ok(()), Ok(())));
    let early = changed().modified(pcs(1, "2", over(0))).end();
    assert!(message(never_ended_early(&early, "w")).contains("Pod 0a0 has an old template"));
    assert!(message(ended(&early, "w")).contains("Pod 0a0 has an old template"));
    let below = replaced(replaced(changed(), "0a0"), "0g0");
    let below = replaced(gone(below, "0a1"), "0g1").modified(pod("0a0-new", "2", false));
    let below = below.modified(pcs(1, "2", over(0))).end();
    assert!(message(never_ended_early(&below, "w")).contains("PodClique w-0-a is below its minAvailable"));
    let miscounted = all_replaced().modified(pcs(1, "2", over(0))).end();
    assert!(message(ended(&miscounted, "w")).contains("updatedReplicas is 0, want 1"));
    let mut same = over(1);
    same["currentGenerationHash"] = json!("1");
    assert!(
        message(ended(&all_replaced().modified(pcs(1, "2", same)).end(), "w"))
            .contains("currentGenerationHash did not change")
    );
    let crashed = Story::flat().added(pcs(1, "1", over(1))).added(pod("0a0", "1", false)).end();
    assert!(matches!(ended(&crashed, "w"), Err(Broken::NotReached(_))), "no update began");
}

#[test]
fn progress_as_it_is() {
    let said = |updated: usize, selected: Value| {
        let progress = json!({"updateStartedAt": "t", "readyPodsSelectedToUpdate": selected});
        clique(0, json!({"updatedReplicas": updated, "updateProgress": progress}))
    };
    let right = changed().added(said(0, json!({"current": "0a0"})));
    let right = replaced(right, "0a0").modified(said(1, json!({"current": "0a1", "completed": ["0a0"]})));
    assert_eq!(progress_is_true(&right.end(), "w"), Ok(()));
    let wrong = |updated: usize, selected: Value| {
        let story = replaced(changed().added(said(0, Value::Null)), "0a0").modified(said(updated, selected));
        message(progress_is_true(&story.end(), "w"))
    };
    assert!(wrong(2, Value::Null).contains("updatedReplicas is 2, want at most 1"));
    assert!(wrong(1, json!({"current": "0b7"})).contains("0b7, which was never one of its pods"));
    assert!(
        wrong(1, json!({"current": "0a0", "completed": ["0a1"]})).contains("0a1 is reported as completed")
    );
    let again = |status: Value| {
        let mut third = clique(0, status);
        third["spec"]["podSpec"] = pod_spec("3");
        third
    };
    let said_before = said(1, Value::Null)["status"].clone();
    let anew = replaced(changed(), "0a0").added(said(1, Value::Null)).modified(again(said_before));
    let anew = anew.modified(again(said(0, Value::Null)["status"].clone())).end();
    assert_eq!(progress_is_true(&anew, "w"), Ok(()), "another template");
    let set = changed().modified(pcs(1, "2", over(1))).end();
    assert!(message(progress_is_true(&set, "w")).contains("updatedReplicas is 1, want at most 0"));
}

#[test]
fn what_a_group_says_is_of_the_update_that_it_knows() {
    let said = |updated: usize, hash: &str, completed: usize| {
        let mut group = object("PodCliqueScalingGroup", "w-0-g");
        group["metadata"]["labels"] = json!({names::PART_OF: "w"});
        group["spec"] = json!({"replicas": 2});
        group["status"] = json!({"updatedReplicas": updated, "updateProgress": {
            "podCliqueSetGenerationHash": hash, "readyReplicaIndicesSelectedToUpdate": {"completed": [completed]},
        }});
        group
    };
    let judged = |story: Story| progress_is_true(&story.end(), "w");
    let begun = || replaced(changed(), "0g0");
    assert_eq!(judged(begun().added(said(1, "2", 0))), Ok(()));
    assert!(message(judged(begun().added(said(2, "2", 0)))).contains("updatedReplicas is 2, want at most 1"));
    let wrong = message(judged(begun().added(said(1, "2", 1))));
    assert!(
        wrong.contains("replica 1 is reported as completed but has a pod with an old template"),
        "{wrong}"
    );
    let again = || begun().added(said(1, "2", 0)).modified(pcs(1, "3", turn(0)));
    assert_eq!(judged(again().modified(said(0, "2", 0))), Ok(()), "it has not heard of the third template");
    let wrong = message(judged(again().modified(said(0, "3", 0))));
    assert!(
        wrong.contains("replica 0 is reported as completed but has a pod with an old template"),
        "{wrong}"
    );
}

fn gang(uid: &str, min: usize, references: &[&str]) -> Value {
    let references: Vec<_> = references.iter().map(|name| json!({"name": name})).collect();
    let mut gang = object("PodGang", "w-0");
    gang["metadata"]["uid"] = json!(uid);
    gang["metadata"]["labels"] = json!({names::PART_OF: "w"});
    gang["spec"]["podgroups"] = json!([{"name": "w-0-a", "minReplicas": min, "podReferences": references}]);
    gang
}

#[test]
fn gangs_as_they_were() {
    let begun = || {
        let story = Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", true));
        let made = story.added(pod("0a1", "1", true)).added(gang("g", 1, &["0a0", "0a1"]));
        replaced(made.modified(pcs(1, "2", Value::Null)), "0a0")
    };
    let right = begun().modified(gang("g", 1, &["0a0-new", "0a1"])).end();
    assert_eq!(gangs_stay(&right, "w"), Ok(()));
    assert_eq!(references_follow_the_pods(&right, "w"), Ok(()));
    assert_eq!(names_what_there_is(&right.end(), "w"), Ok(()));
    let stale = begun().modified(gang("g", 1, &["0a0", "0a0-new", "0a1"])).end();
    assert!(message(names_what_there_is(&stale.end(), "w")).contains("0a0, which does not exist"));
    let unnamed = begun().modified(gang("g", 1, &["0a1"])).end();
    assert!(message(names_what_there_is(&unnamed.end(), "w")).contains("no PodGang refers to Pod 0a0-new"));
    let wrong = |story: Story| message(gangs_stay(&story.end(), "w"));
    assert!(wrong(begun().modified(gang("h", 1, &["0a1"]))).contains("was deleted or created again"));
    assert!(wrong(begun().modified(gang("g", 2, &["0a1"]))).contains("has other minReplicas"));
    let wrong = |story: Story| message(references_follow_the_pods(&story.end(), "w"));
    assert!(wrong(begun().modified(gang("g", 1, &["0a7", "0a1"]))).contains("0a7 before it existed"));
    let late = || begun().later(6).modified(gang("g", 1, &["0a1", "0a0-new"]));
    assert!(wrong(late()).contains("0a0 long after it was deleted"));
    assert_eq!(gangs_stay(&late().end(), "w"), Ok(()), "it is the same gang");
    let mut on_a_slow_machine = late().end();
    on_a_slow_machine.header.slowness = Some(1.5);
    assert_eq!(references_follow_the_pods(&on_a_slow_machine, "w"), Ok(()));
}

#[test]
fn members_as_they_were() {
    let gated = |name: &str, gates: Value| {
        let mut pod = pod(name, "2", true);
        pod["spec"]["schedulingGates"] = gates;
        pod
    };
    let gate = || json!([{"name": names::GATE}]);
    let begun = || {
        let story = Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", true));
        let made = story.added(pod("0a1", "1", true)).added(gang("g", 1, &["0a0", "0a1"]));
        gone(made.modified(pcs(1, "2", Value::Null)), "0a0").added(gated("0a0-new", gate()))
    };
    let named = begun().modified(gang("g", 1, &["0a0-new", "0a1"])).modified(gated("0a0-new", json!([])));
    assert_eq!(replacements_are_members(&named.end(), "w"), Ok(()));
    let unnamed = begun().modified(gated("0a0-new", json!([]))).end();
    assert!(message(replacements_are_members(&unnamed, "w")).contains("before a PodGang referred to it"));
    let mut other = gated("0a0-new", json!([]));
    other["spec"]["schedulingGroup"] = json!({"podGroupName": "loose"});
    let loose = begun().modified(gang("g", 1, &["0a0-new", "0a1"])).modified(other).end();
    assert!(message(replacements_are_members(&loose, "w")).contains("replaced Pod 0a0"));
}

#[test]
fn one_turn_and_no_more() {
    let first = gone(gone(changed(), "0a0"), "0g0").end();
    assert_eq!(stopped_after_the_first_turn(&first, "w", first.entries.len()), Ok(()));
    let none = changed().end();
    assert!(
        message(stopped_after_the_first_turn(&none, "w", none.entries.len()))
            .contains("no pod of PodCliqueSet w was deleted")
    );
    let on = replaced(replaced(changed(), "0a0"), "0a1").end();
    assert!(
        message(stopped_after_the_first_turn(&on, "w", on.entries.len()))
            .contains("the first update step of w-0-a was not")
    );
}

/// Replica 0 is being updated, replica 1 waits for its update step. A pod of one of them is lost and
/// replaced.
#[rstest::rstest]
#[case::as_it_was("1a0", "1", 0, "Ok(())")]
#[case::new(
    "1a0",
    "2",
    0,
    "Pod 1a0-new replaced Pod 1a0 before the update step of its replica, want the old template"
)]
#[case::in_its_turn("0a0", "2", 0, "no pod was lost before the update step of its replica")]
#[case::nothing_is_under_way("1a0", "2", 1, "no pod was lost before the update step of its replica")]
fn restored(#[case] lost: &str, #[case] revision: &str, #[case] turn_of: usize, #[case] ruled: &str) {
    let story = Story::flat().added(pcs(2, "1", json!({"currentGenerationHash": "1"})));
    let made =
        ["0a0", "0a1", "1a0", "1a1"].iter().fold(story, |story, name| story.added(pod(name, "1", true)));
    let begun = made.modified(pcs(2, "2", turn(turn_of))).later(30);
    let marked = begun.mark(SharedMark::PodLost, json!({"name": lost}));
    let history = gone(marked, lost).added(pod(&format!("{lost}-new"), revision, true)).end();
    let ruling = format!("{:?}", restored_as_it_was(&history, "w"));
    assert!(ruling.contains(ruled), "{ruling}");
    assert_eq!(made_later_is_new_or_restored(&history, "w"), Ok(()));
}

/// A pod of the old template that replaces no lost pod, or that replaces a pod taken by an update.
#[test]
fn what_is_made_late_is_new_or_as_it_was() {
    let late = || changed().later(30);
    let extra = late().added(pod("0a2", "1", true)).end();
    assert!(message(made_later_is_new_or_restored(&extra, "w")).contains("created from an old template"));
    let taken = gone(late(), "0a0").added(pod("0a0-new", "1", true)).end();
    assert!(message(made_later_is_new_or_restored(&taken, "w")).contains("created from an old template"));
}

fn on_delete(revision: &str, status: Value) -> Value {
    let mut pcs = pcs(1, revision, status);
    pcs["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    pcs
}

#[test]
fn by_hand_only() {
    let begun = |status: Value| {
        let story = Story::flat().added(on_delete("1", json!({"currentGenerationHash": "1"})));
        let made = story.added(pod("0a0", "1", true)).added(pod("0a1", "1", true));
        made.modified(on_delete("2", json!({"currentGenerationHash": "1"})))
            .later(1)
            .modified(on_delete("2", status))
    };
    let right = begun(over(0)).mark(SharedMark::PodLost, json!({"name": "0a0"}));
    let right = replaced(right, "0a0").end();
    assert_eq!(ended_at_once(&right, "w"), Ok(()));
    assert_eq!(nothing_is_taken_on_delete(&right, "w"), Ok(()));
    assert_eq!(made_later_is_new(&right, "w"), Ok(()));
    let deleted = gone(begun(over(0)), "0a0").end();
    assert!(message(nothing_is_taken_on_delete(&deleted, "w")).contains("Pod 0a0 was deleted"));
    let old = begun(over(0)).added(pod("0a0-new", "1", true)).end();
    assert!(message(made_later_is_new(&old, "w")).contains("created from an old template"));
    let open = begun(turn(0)).end();
    assert!(message(ended_at_once(&open, "w")).contains("not reported as ended at once"));
}

#[test]
fn the_turn_in_hand_ends() {
    let story = || gone(changed(), "0a0").modified(on_delete("2", turn(0)));
    assert_eq!(nothing_is_taken_on_delete(&gone(story(), "0g0").end(), "w"), Ok(()));
    let two = gone(gone(story(), "0g0"), "0a1").end();
    assert!(message(nothing_is_taken_on_delete(&two, "w")).contains("Pod 0a1 was deleted"));
}

#[test]
fn a_pod_too_many() {
    let story = || Story::flat().added(pcs(1, "1", Value::Null)).added(clique(0, Value::Null));
    let two = || story().added(pod("0a0", "1", true)).added(pod("0a1", "1", true));
    assert_eq!(nothing_is_made_twice(&two().end(), "w"), Ok(()));
    let three = two().added(pod("0a1-new", "1", true)).end();
    assert!(message(nothing_is_made_twice(&three, "w")).contains("one of 3 pods of PodClique w-0-a, want 2"));
}

#[test]
fn a_pod_that_nobody_knew_to_be_too_many_is_none() {
    let sized = |replicas: usize| {
        let mut clique = clique(0, Value::Null);
        clique["spec"]["replicas"] = json!(replicas);
        clique
    };
    let scaled_in = || {
        let story =
            Story::flat().added(pcs(1, "1", Value::Null)).added(sized(2)).added(pod("0a0", "1", true));
        story.modified(sized(1))
    };
    assert_eq!(nothing_is_made_twice(&scaled_in().added(pod("0a1", "1", true)).end(), "w"), Ok(()));
    let late = scaled_in().later(6).added(pod("0a1", "1", true)).end();
    assert!(message(nothing_is_made_twice(&late, "w")).contains("one of 2 pods of PodClique w-0-a, want 1"));
}

#[test]
fn what_is_added_in_an_update_is_new() {
    let began = replaced(changed(), "0a0");
    let since = began.clone().end().entries.len();
    let judge = |story: Story| made_since_is_new(&story.end(), "w", since, |pod| pod.name() != "0g7");
    assert_eq!(judge(began.clone().added(pod("0a7", "2", true)).added(pod("0g7", "1", true))), Ok(()));
    assert_eq!(judge(began.clone().modified(pod("0a1", "1", false))), Ok(()), "it was there before");
    let old = judge(began.clone().added(pod("0a7", "1", true)));
    assert!(message(old).contains("Pod 0a7 was created from an old template during an update"));
    let next =
        began.added(pod("0a7", "2", true)).modified(pcs(1, "3", Value::Null)).added(pod("0a8", "2", true));
    assert_eq!(judge(next), Ok(()), "the next update has not begun yet");
}

#[test]
fn all_is_counted() {
    let said = |replicas: usize, updated: usize| {
        let of_set = pcs(1, "2", json!({"replicas": 1, "updatedReplicas": 1}));
        let of_clique = clique(0, json!({"replicas": replicas, "updatedReplicas": updated}));
        counted(&Story::flat().added(of_set).added(of_clique).end().end(), "w")
    };
    assert_eq!(said(2, 2), Ok(()));
    assert!(message(said(2, 1)).contains("PodClique w-0-a has 2 replicas, but its updatedReplicas is 1"));
    assert!(message(said(3, 2)).contains("but its replicas is 3"));
}

#[test]
fn the_new_are_counted() {
    let said = |updated: usize| {
        let story = Story::flat().added(clique(0, json!({"updatedReplicas": updated})));
        let story = story.added(pod("0a0", "1", true)).added(pod("0a1", "2", true));
        counts_the_new(&story.end().end(), "w-0-a")
    };
    assert_eq!(said(1), Ok(()));
    assert!(message(said(2)).contains("updatedReplicas of PodClique w-0-a is 2, want 1"));
}

#[test]
fn a_refusal_is_no_breach() {
    let refused = Story::flat().mark(SharedMark::UpdateRefused, json!({"message": "not yet"})).end();
    assert!(matches!(are_admitted(&refused), Err(Broken::NotAsked(why)) if why.contains("not yet")));
    assert_eq!(are_admitted(&Story::flat().end()), Ok(()));
}

#[test]
fn a_scope_of_one_revision() {
    let first = Scope::Replica { set: "w".into(), index: 0 };
    let judged = |story: Story| all_of_revision(&story.end(), &first, "2");
    assert_eq!(judged(Story::flat().added(pod("0a0", "2", true)).added(pod("1a0", "1", true))), Ok(()));
    let mixed = judged(Story::flat().added(pod("0a0", "2", true)).added(pod("0a1", "1", true)));
    assert!(message(mixed).contains("Pod 0a1 was not created from template revision 2"));
    assert!(matches!(judged(Story::flat()), Err(Broken::NotReached(_))));
}
