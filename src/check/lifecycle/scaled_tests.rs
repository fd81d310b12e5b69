use conformance_facts::updates::REVISION;
use conformance_history::testing::{Story, object};
use conformance_history::{MarkName, What};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::message;

const READ: MarkName = MarkName::of_case("read");

/// A live pod of clique `w-0-a`, created in that second: `b` bound, `r` Ready, `o` of an old template.
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

fn read_of(scale: Value) -> Ruling {
    let other = {
        let mut other = pod("x", "br", 0);
        other["metadata"]["labels"][names::POD_CLIQUE] = json!("w-0-a-b");
        other
    };
    let pods = [pod("p", "br", 0), pod("q", "", 0), other];
    let detail = json!({"kind": "PodClique", "name": "w-0-a", "scale": scale});
    let history = Story::flat().added(clique(2)).all_added(pods).mark(READ, detail).end();
    let index = history.entries.len() - 1;
    let What::Mark(mark) = &history.entries[index].what else { unreachable!() };
    read(&history, index, mark)
}

#[rstest]
#[case(2, 2, "grove.io/podclique=w-0-a", None)]
#[case(2, 2, "app.kubernetes.io/part-of=w,grove.io/podclique==w-0-a", None)]
#[case(3, 2, "grove.io/podclique=w-0-a", Some("has spec.replicas"))]
#[case(2, 1, "grove.io/podclique=w-0-a", Some("has"))]
#[case(2, 2, "app.kubernetes.io/part-of=w", Some("selects"))]
#[case(2, 2, "", Some("selects"))]
fn what_is_read(
    #[case] spec: usize,
    #[case] status: usize,
    #[case] selector: &str,
    #[case] fault: Option<&str>,
) {
    let scale = json!({"spec": {"replicas": spec}, "status": {"replicas": status, "selector": selector}});
    match fault {
        None => assert_eq!(read_of(scale), Ok(())),
        Some(fault) => assert!(message(read_of(scale)).contains(fault)),
    }
}

/// PodClique `w-0-a` is scaled to 1 of 2 with this answer, and a pod of another clique is watched.
fn below(code: u16, replicas: usize, breached: &str, lost: &[&str]) -> Ruling {
    let mut other = pod("other", "br", 0);
    other["metadata"]["labels"][names::POD_CLIQUE] = json!("w-0-b");
    let detail = json!({"kind": "PodClique", "name": "w-0-a", "replicas": 1, "code": code});
    let mut then = clique(replicas);
    then["status"]["conditions"] = json!([{"type": "MinAvailableBreached", "status": breached}]);
    let pods = [pod("p", "br", 0), pod("q", "br", 0), other];
    let story = Story::flat().added(clique(2)).all_added(pods.clone());
    let story = story.mark(READ, detail).modified(then);
    let lost = pods.into_iter().filter(|pod| lost.iter().any(|name| pod["metadata"]["name"] == *name));
    let history = lost.fold(story, Story::deleted).end();
    let (index, mark) = history.marks(READ).next().unwrap();
    below_the_minimum(&history, index, mark, history.entries.len())
}

#[test]
fn refused_or_told() {
    assert_eq!(below(200, 1, "True", &["p"]), Ok(()));
    assert!(message(below(200, 1, "False", &["p"])).contains("MinAvailableBreached is not True"));
    assert!(message(below(200, 1, "True", &["p", "other"])).contains("Pod other was deleted"));
    assert!(message(below(200, 1, "True", &["p", "q"])).contains("only 0 of 2 pods were kept"));
    assert!(
        message(below(422, 1, "False", &["p"])).contains("the request was refused, but the replicas changed")
    );
    assert!(message(below(422, 2, "False", &["p"])).contains("Pod p was deleted"), "nothing was scaled");
}

/// A PodClique with these pods is scaled in, and the pods in `gone` are deleted.
fn scaled_in(pods: &[(&str, &str, u32)], gone: &[&str]) -> Ruling {
    let made = || pods.iter().map(|(name, state, second)| pod(name, state, *second));
    let left = pods.len() - gone.len();
    let scaled = json!({"kind": "PodClique", "name": "w-0-a", "replicas": left});
    let story = Story::flat().added(clique(pods.len())).all_added(made()).mark(SharedMark::Scaled, scaled);
    let ends = made().filter(|pod| gone.iter().any(|name| pod["metadata"]["name"] == *name));
    least_dear_go(&ends.fold(story, Story::deleted).end(), "w-0-a")
}

#[rstest]
#[case::unbound(&[("a", "br", 0), ("b", "", 0)], &["b"], true)]
#[case::unbound_stays(&[("a", "br", 0), ("b", "", 0)], &["a"], false)]
#[case::not_ready(&[("a", "br", 1), ("b", "b", 0)], &["b"], true)]
#[case::not_ready_stays(&[("a", "br", 1), ("b", "b", 0)], &["a"], false)]
#[case::old(&[("a", "bro", 0), ("b", "br", 1)], &["a"], true)]
#[case::old_stays(&[("a", "bro", 0), ("b", "br", 1)], &["b"], false)]
#[case::newest(&[("a", "br", 0), ("b", "br", 1)], &["b"], true)]
#[case::newest_stays(&[("a", "br", 0), ("b", "br", 1)], &["a"], false)]
#[case::equals(&[("a", "br", 0), ("b", "br", 0)], &["a"], true)]
#[case::two_of_three(&[("a", "br", 0), ("b", "br", 1), ("c", "", 0)], &["b", "c"], true)]
fn the_least_dear_go(#[case] pods: &[(&str, &str, u32)], #[case] gone: &[&str], #[case] fine: bool) {
    let ruling = scaled_in(pods, gone);
    assert_eq!(ruling.is_ok(), fine, "{ruling:?}");
}

#[test]
fn places_of_the_hard_gang_are_kept() {
    let scaled = json!({"kind": "PodClique", "name": "w-0-a", "replicas": 1});
    let mut placed = pod("a", "br", 1);
    placed["spec"]["schedulingGroup"] = json!({"podGroupName": "w-0"});
    let free = pod("b", "br", 0);
    let story = || {
        let story = Story::whole().added(clique(2)).added(placed.clone()).added(free.clone());
        story.mark(SharedMark::Scaled, scaled.clone())
    };
    assert_eq!(least_dear_go(&story().deleted(free.clone()).end(), "w-0-a"), Ok(()));
    assert!(
        message(least_dear_go(&story().deleted(placed.clone()).end(), "w-0-a")).contains("Pod a was deleted")
    );
    let never = least_dear_go(&Story::flat().end(), "w-0-a");
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
fn of_a_group_the_highest_go() {
    let judged = |gone: &[usize]| {
        let story =
            Story::flat().added(group(3)).all_added((0..3).map(|j| member(&format!("p{j}"), j, true)));
        let story = story.mark(READ, Value::Null).modified(group(2));
        let ends = gone.iter().map(|j| member(&format!("p{j}"), *j, true));
        let history = ends.fold(story, Story::deleted).end();
        let (scaled, _) = history.marks(READ).next().unwrap();
        highest_go(&history, "w-0-sg", scaled, history.entries.len())
    };
    assert_eq!(judged(&[2]), Ok(()));
    assert!(message(judged(&[])).contains("Pod p2 exists"));
    assert!(judged(&[1]).is_err());
}

/// A group of 4 without replica `out` is scaled to 2, and the pods of the replicas in `gone` are deleted.
fn scaled_in_an_update(out: usize, gone: &[usize]) -> Story {
    let pod = move |j: usize| member(&format!("p{j}"), j, j != out);
    let story =
        Story::flat().added(group(4)).all_added((0..4).map(pod)).mark(READ, Value::Null).modified(group(2));
    gone.iter().map(|j| pod(*j)).fold(story.later(1), Story::deleted)
}

#[rstest]
#[case::the_highest(0, &[2, 3], None)]
#[case::another_in_the_place_of_the_missing_one(0, &[1, 2, 3], Some("Pod p1 was deleted"))]
#[case::one_too_few(0, &[3], Some("p2 was not deleted at once"))]
#[case::the_missing_one_goes_and_another_has_its_turn(3, &[2, 3, 0], None)]
fn of_a_group_in_an_update_the_highest_go(
    #[case] out: usize,
    #[case] gone: &[usize],
    #[case] fault: Option<&str>,
) {
    let history = scaled_in_an_update(out, gone).end();
    let (scaled, _) = history.marks(READ).next().unwrap();
    let ruling = highest_go_at_once(&history, "w-0-sg", scaled, history.entries.len());
    match fault {
        None => assert_eq!(ruling, Ok(())),
        Some(fault) => assert!(message(ruling).contains(fault)),
    }
}

#[test]
fn at_once_and_for_good() {
    let judged = |story: Story, until: usize| highest_go_at_once(&story.end(), "w-0-sg", 5, until);
    let late = scaled_in_an_update(0, &[2]).later(6).deleted(member("p3", 3, true));
    let end = late.clone().end().entries.len();
    assert!(message(judged(late, end)).contains("p3 was not deleted at once"));
    let gone = scaled_in_an_update(0, &[2, 3]);
    let end = gone.clone().end().entries.len();
    let again = judged(gone.added(member("p2-again", 2, false)), end);
    assert!(
        message(again).contains("Pod p2-again was created when scaling group w-0-sg had only 2 replicas")
    );
    let again = |after| scaled_in_an_update(0, &[2, 3]).later(after).added(member("p2-again", 2, false));
    let before_it_is_over = |after| judged(again(after), again(after).end().entries.len());
    assert_eq!(before_it_is_over(3), Ok(()), "it may have been under way");
    assert!(
        message(before_it_is_over(8))
            .contains("Pod p2-again was created when scaling group w-0-sg had only 2 replicas")
    );
}

#[test]
fn what_was_gone_before_it_was_made_is_not_bound() {
    let story = |first: usize, seconds: i64, then: usize| {
        let made = Story::flat().added(group(first)).later(seconds).added(member("p", 2, false));
        let story = made.modified(group(then));
        story.modified(member("p", 2, true)).end()
    };
    assert!(
        message(nothing_bound_in_vain(&story(2, 6, 2), "w-0-sg"))
            .contains("6 s after replica 2 of scaling group w-0-sg")
    );
    assert_eq!(nothing_bound_in_vain(&story(2, 4, 2), "w-0-sg"), Ok(()), "nobody may have heard of it");
    assert_eq!(nothing_bound_in_vain(&story(3, 6, 2), "w-0-sg"), Ok(()), "it was there when it was made");
    assert_eq!(nothing_bound_in_vain(&story(2, 6, 3), "w-0-sg"), Ok(()), "it has come back");
}

#[test]
fn what_is_asked_for() {
    let live = Story::flat().added(clique(2)).end().end();
    assert_eq!(asks_for(&live, "PodClique", "w-0-a", 2), Ok(()));
    assert!(message(asks_for(&live, "PodClique", "w-0-a", 3)).contains("spec.replicas is 2, want 3"));
    assert!(message(asks_for(&live, "PodClique", "w-0-b", 3)).contains("spec.replicas is none"));
}
