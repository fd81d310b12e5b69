use conformance_check::{message, messages};
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::testing::Story;
use serde_json::{Value, json};

use super::*;

fn story(gangs: &[(&str, usize)]) -> Story {
    gangs.iter().fold(Story::on(Target::AI_CONFORMANCE_VOLCANO), |story, (name, pods)| {
        let size = json!({names::GANG_SIZE: pods.to_string()});
        story.submitted(json!({"kind": "Pod", "metadata": {"name": name, "annotations": size}}))
    })
}

fn pod(gang: &str, index: usize, node: Option<&str>, ready: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"name": format!("{gang}-{index}"), "labels": {names::GANG: gang}},
        "spec": {"nodeName": node},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn waiting(gang: &str, pods: usize) -> impl Iterator<Item = Value> {
    (0..pods).map(move |index| pod(gang, index, None, "False"))
}

fn run(story: Story, gang: &str, pods: usize) -> Story {
    (0..pods).fold(story, |story, index| story.modified(pod(gang, index, Some("n"), "True")))
}

fn passed(story: Story) -> Story {
    story.mark(SharedMark::SchedulerPassed, Value::Null)
}

fn is_not_reached(ruling: &Ruling) -> bool {
    matches!(ruling, Err(Broken::NotReached(_)))
}

#[test]
fn a_gang_that_is_partly_bound_or_unready_is_a_violation() {
    let after = |edit: fn(Story) -> Story| {
        let history = edit(story(&[("g", 3)]).all_added(waiting("g", 3))).end();
        runs(&history.end(), &gang(&history, "g").unwrap())
    };
    assert_eq!(after(|story| run(story, "g", 3)), Ok(()));
    assert_eq!(
        message(after(|story| run(story, "g", 2))),
        "gang g (3 pods) is not fully bound: 2 of 3 pods are bound"
    );
    assert_eq!(message(after(|story| story)), "gang g (3 pods) is not fully bound: 0 of 3 pods are bound");
    let unready = after(|story| run(story, "g", 2).modified(pod("g", 2, Some("n"), "False")));
    assert_eq!(message(unready), "gang g (3 pods) is fully bound, but Pod g-2 is not Ready");
    assert!(is_not_reached(&gang(&story(&[]).end(), "g").map(drop)));
}

/// A gang of 3 pods. The first `before` pods run before room is available, and the first `afterwards` pods
/// run after that. Returns the rulings on its wait and on its run.
fn rulings_after(before: usize, afterwards: usize) -> (Ruling, Ruling) {
    let short = run(story(&[("g", 3)]).all_added(waiting("g", 3)), "g", before);
    let room = passed(short).mark(SharedMark::RoomAvailable, Value::Null);
    let history = run(room, "g", afterwards).end();
    (waits(&history, "g"), runs_in_new_capacity(&history, "g"))
}

#[test]
fn a_pod_bound_before_capacity_is_available_is_a_violation() {
    assert_eq!(rulings_after(0, 3).0, Ok(()));
    assert_eq!(
        message(rulings_after(2, 3).0),
        "gang g (3 pods) had 2 pods bound, want 0 because the pods did not all fit"
    );
    assert_eq!(
        message(rulings_after(3, 3).0),
        "gang g (3 pods) had 3 pods bound, want 0 because the pods did not all fit",
        "before capacity was added"
    );
    assert_eq!(rulings_after(0, 0).0, Ok(()), "another clause covers what follows");
}

#[test]
fn a_gang_that_does_not_run_in_new_capacity_is_a_violation() {
    assert_eq!(rulings_after(0, 3).1, Ok(()));
    assert_eq!(message(rulings_after(0, 0).1), "gang g (3 pods) is not fully bound: 0 of 3 pods are bound");
    assert_eq!(message(rulings_after(0, 2).1), "gang g (3 pods) is not fully bound: 2 of 3 pods are bound");
    assert!(matches!(rulings_after(2, 3).1, Err(Broken::Precondition { clause: "AIC-02", .. })));
    let short = passed(story(&[("g", 3)]).all_added(waiting("g", 3))).end();
    assert!(is_not_reached(&runs_in_new_capacity(&short, "g")), "no capacity was added");
}

#[test]
fn without_pods_or_a_scheduler_pass_the_rulings_are_undecided() {
    let room = |story: Story| story.mark(SharedMark::RoomAvailable, Value::Null);
    let unseen = run(room(passed(story(&[("g", 3)]))), "g", 3).end();
    let all = || story(&[("g", 3)]).all_added(waiting("g", 3));
    let without_pass = run(room(all()), "g", 3).end();
    let late_pass = passed(run(room(all()), "g", 3)).end();
    for history in [unseen, without_pass, late_pass] {
        assert!(is_not_reached(&waits(&history, "g")));
        assert!(is_not_reached(&runs_in_new_capacity(&history, "g")));
    }
}

/// Gangs a and b of 2 pods each. Before the scheduler's pass, `first` pods of a and `second` pods of b run.
fn two(first: usize, second: usize) -> Story {
    let both = story(&[("a", 2), ("b", 2)]).all_added(waiting("a", 2)).all_added(waiting("b", 2));
    passed(run(run(both, "a", first), "b", second))
}

fn deleted(story: Story, pods: usize) -> Story {
    let marked = story.mark(SharedMark::Deleted, json!({"kind": "Pod", "name": "a-0"}));
    (0..pods).fold(marked, |story, index| story.deleted(pod("a", index, Some("n"), "True")))
}

#[test]
fn none_or_two_running_gangs_are_a_violation() {
    let check = |story: Story| one_of(&story.end(), &["a", "b"]);
    let next = |story: Story, pods| run(story, "b", pods);
    assert_eq!(check(next(deleted(two(2, 0), 2), 2)), Ok(()));
    assert_eq!(
        message(check(next(deleted(two(2, 1), 2), 2))),
        "gang b (2 pods) had 1 pod bound, want 0 because the pods did not all fit"
    );
    assert_eq!(messages(check(two(1, 1))).len(), 1, "each in part");
    assert_eq!(message(check(two(0, 0))), "0 of 2 gangs are running, want 1");
    assert_eq!(message(check(deleted(two(2, 2), 2))), "2 of 2 gangs are running, want 1");
    assert_eq!(check(deleted(two(2, 0), 2)), Ok(()), "another clause covers what follows");
}

#[test]
fn after_the_deletion_of_the_running_gang_another_must_run() {
    let check = |story: Story| another_runs_in_freed_capacity(&story.end(), &["a", "b"]);
    let next = |story: Story, pods| run(story, "b", pods);
    assert_eq!(check(next(deleted(two(2, 0), 2), 2)), Ok(()));
    for pods in [0, 1] {
        assert_eq!(
            message(check(next(deleted(two(2, 0), 2), pods))),
            "gang a (2 pods) was deleted, but no other gang is running in the freed room"
        );
    }
    assert!(is_not_reached(&check(next(deleted(two(2, 0), 1), 2))), "a pod still exists");
    assert!(is_not_reached(&check(two(2, 0))), "nothing was deleted");
    let broken = check(next(deleted(two(2, 1), 2), 2));
    assert!(matches!(broken, Err(Broken::Precondition { clause: "AIC-03", .. })));
}

#[test]
fn a_gang_partly_bound_after_a_pass_is_a_violation() {
    let check = |pods| whole_or_nothing(&passed(run(story(&[("g", 3)]), "g", pods)).end());
    assert_eq!((check(0), check(3)), (Ok(()), Ok(())));
    assert_eq!(
        message(check(2)),
        "gang g (3 pods) has only 2 pods bound after a full pass of the scheduler, want all or none"
    );
}
