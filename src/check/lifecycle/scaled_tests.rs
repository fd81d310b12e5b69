use conformance_facts::updates::REVISION;
use conformance_history::testing::{Story, object};
use conformance_history::{MarkName, What};
use serde_json::{Value, json};

use super::*;
use crate::message;

const MARKED: MarkName = MarkName::of_case("read");

/// A live pod of clique `w-0-a`. In `state`, `b` means bound, `r` Ready, and `o` an old template.
fn pod(name: &str, state: &str, second: u32) -> Value {
    let mut pod = object("Pod", name);
    pod["metadata"]["uid"] = json!(name);
    pod["metadata"]["labels"] = json!({names::PART_OF: "w", names::POD_CLIQUE: "w-0-a"});
    pod["spec"] = pod_spec(if state.contains('o') { "1" } else { "2" });
    pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    if state.contains('b') {
        pod["spec"]["nodeName"] = json!("n");
    }
    let ready = if state.contains('r') { "True" } else { "False" };
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
    pod
}

fn pod_spec(revision: &str) -> Value {
    json!({"containers": [{"name": "c", "env": [{"name": REVISION, "value": revision}]}]})
}

fn clique(replicas: usize) -> Value {
    let mut found = object("PodClique", "w-0-a");
    found["spec"] = json!({"replicas": replicas, "podSpec": pod_spec("2")});
    found
}

fn ruling_on(scale: Value) -> Ruling {
    let other = {
        let mut other = pod("x", "br", 0);
        other["metadata"]["labels"][names::POD_CLIQUE] = json!("w-0-a-b");
        other
    };
    let pods = [pod("p", "br", 0), pod("q", "", 0), other];
    let detail = json!({"kind": "PodClique", "name": "w-0-a", "scale": scale});
    let history = Story::flat().added(clique(2)).all_added(pods).mark(MARKED, detail).end();
    let index = history.entries.len() - 1;
    let What::Mark(mark) = &history.entries[index].what else { unreachable!() };
    scale_is_correct(&history, index, mark)
}

#[rstest::rstest]
#[case(2, 2, "grove.io/podclique=w-0-a", None)]
#[case(2, 2, "app.kubernetes.io/part-of=w,grove.io/podclique==w-0-a", None)]
#[case(3, 2, "grove.io/podclique=w-0-a", Some("has spec.replicas"))]
#[case(2, 1, "grove.io/podclique=w-0-a", Some("has"))]
#[case(2, 2, "app.kubernetes.io/part-of=w", Some("selects"))]
#[case(2, 2, "", Some("selects"))]
fn a_wrong_scale_subresource_is_a_violation(
    #[case] spec: usize,
    #[case] status: usize,
    #[case] selector: &str,
    #[case] fault: Option<&str>,
) {
    let scale = json!({"spec": {"replicas": spec}, "status": {"replicas": status, "selector": selector}});
    match fault {
        None => assert_eq!(ruling_on(scale), Ok(())),
        Some(fault) => assert!(message(ruling_on(scale)).contains(fault)),
    }
}

fn below(code: u16, replicas: usize, breached: &str, lost: &[&str]) -> Ruling {
    let mut other = pod("other", "br", 0);
    other["metadata"]["labels"][names::POD_CLIQUE] = json!("w-0-b");
    let detail = json!({"kind": "PodClique", "name": "w-0-a", "replicas": 1, "code": code});
    let mut then = clique(replicas);
    then["status"]["conditions"] = json!([{"type": "MinAvailableBreached", "status": breached}]);
    let pods = [pod("p", "br", 0), pod("q", "br", 0), other];
    let story = Story::flat().added(clique(2)).all_added(pods.clone());
    let story = story.mark(MARKED, detail).modified(then);
    let lost = pods.into_iter().filter(|pod| lost.iter().any(|name| pod["metadata"]["name"] == *name));
    let history = lost.fold(story, Story::deleted).end();
    let (index, mark) = history.marks(MARKED).next().unwrap();
    below_the_minimum(&history, index, mark, history.entries.len())
}

#[test]
fn scaling_below_the_minimum_must_be_refused_or_reported() {
    assert_eq!(below(200, 1, "True", &["p"]), Ok(()));
    assert!(message(below(200, 1, "False", &["p"])).contains("MinAvailableBreached is not True"));
    assert!(message(below(200, 1, "True", &["p", "other"])).contains("Pod other was deleted"));
    assert!(message(below(200, 1, "True", &["p", "q"])).contains("only 0 of 2 pods were kept"));
    assert!(
        message(below(422, 1, "False", &["p"])).contains("the request was refused, but the replicas changed")
    );
    assert!(message(below(422, 2, "False", &["p"])).contains("Pod p was deleted"), "nothing was scaled");
}

#[rstest::rstest]
#[case::the_highest(1, None)]
#[case::the_lowest(0, Some("Pod p0 was deleted"))]
fn a_group_scaled_below_its_minimum_keeps_its_lower_replicas(
    #[case] lost: usize,
    #[case] fault: Option<&str>,
) {
    let detail = json!({"kind": "PodCliqueScalingGroup", "name": "w-0-sg", "replicas": 1, "code": 200});
    let mut then = group(1);
    then["status"]["conditions"] = json!([{"type": "MinAvailableBreached", "status": "True"}]);
    let pods = (0..2).map(|j| member(&format!("p{j}"), j, true));
    let story = Story::flat().added(group(2)).all_added(pods).mark(MARKED, detail).modified(then);
    let history = story.deleted(member(&format!("p{lost}"), lost, true)).end();
    let (index, mark) = history.marks(MARKED).next().unwrap();
    let ruling = below_the_minimum(&history, index, mark, history.entries.len());
    match fault {
        None => assert_eq!(ruling, Ok(())),
        Some(fault) => assert!(message(ruling).contains(fault)),
    }
}

fn scaled_in(pods: &[(&str, &str, u32)], deleted: &[&str]) -> History {
    let pods_created = || pods.iter().map(|(name, state, second)| pod(name, state, *second));
    let left = pods.len() - deleted.len();
    let scaled = json!({"kind": "PodClique", "name": "w-0-a", "replicas": left});
    let story =
        Story::flat().added(clique(pods.len())).all_added(pods_created()).mark(SharedMark::Scaled, scaled);
    let ends = pods_created().filter(|pod| deleted.iter().any(|name| pod["metadata"]["name"] == *name));
    ends.fold(story, Story::deleted).end()
}

#[rstest::rstest]
#[case::unbound(&[("a", "br", 0), ("b", "", 0)], &["b"], true)]
#[case::unbound_kept(&[("a", "br", 0), ("b", "", 0)], &["a"], false)]
#[case::not_ready(&[("a", "br", 1), ("b", "b", 0)], &["b"], true)]
#[case::not_ready_kept(&[("a", "br", 1), ("b", "b", 0)], &["a"], false)]
#[case::old(&[("a", "bro", 0), ("b", "br", 1)], &["a"], true)]
#[case::old_kept(&[("a", "bro", 0), ("b", "br", 1)], &["b"], false)]
#[case::newest(&[("a", "br", 0), ("b", "br", 1)], &["b"], true)]
#[case::newest_kept(&[("a", "br", 0), ("b", "br", 1)], &["a"], false)]
#[case::equals(&[("a", "br", 0), ("b", "br", 0)], &["a"], true)]
#[case::two_of_three(&[("a", "br", 0), ("b", "br", 1), ("c", "", 0)], &["b", "c"], true)]
fn a_deletion_out_of_order_is_a_violation(
    #[case] pods: &[(&str, &str, u32)],
    #[case] deleted: &[&str],
    #[case] fine: bool,
) {
    let ruling = deletion_order_followed(&scaled_in(pods, deleted), "w-0-a");
    assert_eq!(ruling.is_ok(), fine, "{ruling:?}");
}

#[test]
fn a_pod_deleted_after_the_next_scaling_does_not_count() {
    let to = |replicas: usize| json!({"kind": "PodClique", "name": "w-0-a", "replicas": replicas});
    let created = Story::flat().added(clique(3)).all_added([pod("a", "br", 0), pod("b", "br", 1)]);
    let scaled = created.added(pod("c", "br", 2)).mark(SharedMark::Scaled, to(2)).modified(clique(2));
    let in_order = scaled.deleted(pod("c", "br", 2));
    let early = in_order.clone().deleted(pod("a", "br", 0)).end();
    assert!(message(deletion_order_followed(&early, "w-0-a")).contains("want Pod b deleted first"));
    let again = in_order.mark(SharedMark::Scaled, to(3)).modified(clique(3));
    assert_eq!(deletion_order_followed(&again.deleted(pod("a", "br", 0)).end(), "w-0-a"), Ok(()));
}

#[rstest::rstest]
#[case::old_first(&[("a", "bro", 1), ("b", "br", 0)], &["a"], true)]
#[case::new_first(&[("a", "bro", 0), ("b", "br", 1)], &["b"], false)]
#[case::new_and_not_ready(&[("a", "bro", 0), ("b", "b", 1)], &["b"], true)]
#[case::ready_first(&[("a", "br", 0), ("b", "b", 1)], &["a"], true)]
#[case::oldest_first(&[("a", "br", 0), ("b", "br", 1)], &["a"], true)]
fn only_a_new_pod_deleted_before_an_equal_old_one_violates_upd_23(
    #[case] pods: &[(&str, &str, u32)],
    #[case] deleted: &[&str],
    #[case] fine: bool,
) {
    let ruling = old_deleted_before_new(&scaled_in(pods, deleted), "w-0-a");
    assert_eq!(ruling.is_ok(), fine, "{ruling:?}");
}

#[test]
fn a_deleted_member_of_the_hard_gang_is_a_violation() {
    let scaled = json!({"kind": "PodClique", "name": "w-0-a", "replicas": 1});
    let mut member_pod = pod("a", "br", 1);
    member_pod["spec"]["schedulingGroup"] = json!({"podGroupName": "w-0"});
    let surplus = pod("b", "br", 0);
    let story = || {
        let story = Story::whole().added(clique(2)).added(member_pod.clone()).added(surplus.clone());
        story.mark(SharedMark::Scaled, scaled.clone())
    };
    assert_eq!(deletion_order_followed(&story().deleted(surplus.clone()).end(), "w-0-a"), Ok(()));
    assert!(
        message(deletion_order_followed(&story().deleted(member_pod.clone()).end(), "w-0-a"))
            .contains("Pod a was deleted")
    );
    let never = deletion_order_followed(&Story::flat().end(), "w-0-a");
    assert!(matches!(never, Err(Broken::NotReached(_))));
}

fn member(name: &str, index: usize, bound: bool) -> Value {
    let mut pod = pod(name, if bound { "b" } else { "" }, 0);
    pod["metadata"]["labels"] = json!({
        names::PART_OF: "w", names::POD_CLIQUE: format!("w-0-sg-{index}-b"),
        names::SCALING_GROUP: "w-0-sg", names::SCALING_GROUP_REPLICA_INDEX: index.to_string(),
    });
    pod
}

fn group(replicas: usize) -> Value {
    let mut found = object("PodCliqueScalingGroup", "w-0-sg");
    found["spec"]["replicas"] = json!(replicas);
    found
}

#[test]
fn a_scale_in_that_does_not_delete_the_highest_replicas_is_a_violation() {
    let check = |deleted: &[usize]| {
        let story =
            Story::flat().added(group(3)).all_added((0..3).map(|j| member(&format!("p{j}"), j, true)));
        let story = story.mark(MARKED, Value::Null).modified(group(2));
        let ends = deleted.iter().map(|j| member(&format!("p{j}"), *j, true));
        let history = ends.fold(story, Story::deleted).end();
        let (scaled, _) = history.marks(MARKED).next().unwrap();
        highest_replicas_deleted(&history, "w-0-sg", scaled, history.entries.len())
    };
    assert_eq!(check(&[2]), Ok(()));
    assert!(message(check(&[])).contains("Pod p2 exists"));
    assert!(check(&[1]).is_err());
}

/// A group of 4 without replica `out` is scaled to 2. The pods of the replicas in `deleted` are deleted.
fn scaled_in_an_update(out: usize, deleted: &[usize]) -> Story {
    let pod = move |j: usize| member(&format!("p{j}"), j, j != out);
    let story =
        Story::flat().added(group(4)).all_added((0..4).map(pod)).mark(MARKED, Value::Null).modified(group(2));
    deleted.iter().map(|j| pod(*j)).fold(story.later(1), Story::deleted)
}

#[rstest::rstest]
#[case::the_highest(0, &[2, 3], None)]
#[case::another_one_as_well(0, &[1, 2, 3], Some("Pod p1 was deleted"))]
#[case::one_too_few(0, &[3], Some("Pod p2 exists"))]
#[case::the_update_continues_with_another_one(3, &[2, 3, 0], None)]
fn a_scale_in_during_an_update_must_delete_the_highest_replicas(
    #[case] out: usize,
    #[case] deleted: &[usize],
    #[case] fault: Option<&str>,
) {
    let history = scaled_in_an_update(out, deleted).end();
    let (scaled, _) = history.marks(MARKED).next().unwrap();
    let ruling = highest_replicas_stay_deleted(&history, "w-0-sg", scaled, history.entries.len());
    match fault {
        None => assert_eq!(ruling, Ok(())),
        Some(fault) => assert!(message(ruling).contains(fault)),
    }
}

#[test]
fn highest_replicas_that_are_created_again_are_violations() {
    let check = |story: Story, until: usize| highest_replicas_stay_deleted(&story.end(), "w-0-sg", 5, until);
    let late = scaled_in_an_update(0, &[2]).later(6).deleted(member("p3", 3, true));
    let end = late.clone().end().entries.len();
    assert_eq!(check(late, end), Ok(()), "the clause sets no time");
    let deleted = scaled_in_an_update(0, &[2, 3]);
    let end = deleted.clone().end().entries.len();
    let again = check(deleted.added(member("p2-again", 2, false)), end);
    assert!(
        message(again).contains("Pod p2-again was created when scaling group w-0-sg had only 2 replicas")
    );
    let again = |after| {
        let created = scaled_in_an_update(0, &[2, 3]).later(after).added(member("p2-again", 2, false));
        created.deleted(member("p2-again", 2, false))
    };
    let created_again_after = |after| check(again(after), again(after).end().entries.len());
    assert_eq!(created_again_after(3), Ok(()), "the creation may have been in progress");
    assert!(
        message(created_again_after(8))
            .contains("Pod p2-again was created when scaling group w-0-sg had only 2 replicas")
    );
}

#[test]
fn a_pod_bound_for_a_replica_removed_long_before_is_a_violation() {
    let story = |first: usize, seconds: i64, then: usize| {
        let pods_created = Story::flat().added(group(first)).later(seconds).added(member("p", 2, false));
        let story = pods_created.modified(group(then));
        story.modified(member("p", 2, true)).end()
    };
    assert!(
        message(none_bound_for_removed_replica(&story(2, 6, 2), "w-0-sg"))
            .contains("6 s after replica 2 of scaling group w-0-sg")
    );
    assert_eq!(
        none_bound_for_removed_replica(&story(2, 4, 2), "w-0-sg"),
        Ok(()),
        "the operator may not know of the removal yet"
    );
    assert_eq!(
        none_bound_for_removed_replica(&story(3, 6, 2), "w-0-sg"),
        Ok(()),
        "the replica existed when the pod was created"
    );
    assert_eq!(
        none_bound_for_removed_replica(&story(2, 6, 3), "w-0-sg"),
        Ok(()),
        "the replica was added again"
    );
}

#[test]
fn other_replicas_than_requested_are_a_violation() {
    let live = Story::flat().added(clique(2)).end().end();
    assert_eq!(requests_replicas(&live, "PodClique", "w-0-a", 2), Ok(()));
    assert!(
        message(requests_replicas(&live, "PodClique", "w-0-a", 3)).contains("spec.replicas is 2, want 3")
    );
    assert!(message(requests_replicas(&live, "PodClique", "w-0-b", 3)).contains("spec.replicas is none"));
}
