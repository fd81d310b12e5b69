use conformance_history::testing::{Story, owned};
use conformance_history::{MarkName, SharedMark};
use serde_json::{Value, json};

use super::*;
use crate::{codes, message, messages};

const MARK: MarkName = MarkName::of_case("m");
const LOST: MarkName = MarkName::of_case("lost");

fn gangs() -> Vec<Gang> {
    let group = |name: &str, min, replicas| conformance_expect::Group {
        clique: name.into(),
        template: name.into(),
        min,
        replicas,
        scaling_group: None,
    };
    vec![
        Gang {
            set: "g".into(),
            replica: 0,
            is_base: true,
            name: "g-0".into(),
            groups: vec![group("a", 2, 3), group("b", 1, 1)],
            joined: None,
        },
        Gang {
            set: "g".into(),
            replica: 0,
            is_base: false,
            name: "g-0-sg-0".into(),
            groups: vec![group("c", 1, 1)],
            joined: None,
        },
    ]
}

fn flat_units() -> Vec<Unit> {
    gangs()[0].units(conformance_contract::target::TARGETS[0])
}

fn pod(name: &str, clique: &str, node: Option<&str>) -> Value {
    let gang = if clique == "c" { "g-0-sg-0" } else { "g-0" };
    let labels = json!({names::POD_GANG: gang, names::POD_CLIQUE: clique, names::POD_INDEX: "0"});
    let group = json!({"podGroupName": clique});
    json!({
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": node, "schedulingGroup": group},
    })
}

fn with_condition(mut object: Value, of_type: &str, reason: &str, message: &str) -> Value {
    object["status"]["conditions"] =
        json!([{"type": of_type, "status": "False", "reason": reason, "message": message}]);
    object
}

fn bound(cliques: &[&str]) -> Story {
    let pods = [("a0", "a"), ("a1", "a"), ("a2", "a"), ("b0", "b"), ("c0", "c")];
    let pending = Story::flat().all_added(pods.map(|(name, clique)| pod(name, clique, None)));
    let mut free = pods.to_vec();
    cliques.iter().fold(pending, |story, clique| {
        let next = free.iter().position(|(_, of)| of == clique).expect("enough pods");
        story.modified(pod(free.remove(next).0, clique, Some("n")))
    })
}

fn is_not_reached(ruling: &Ruling) -> bool {
    matches!(ruling, Err(Broken::NotReached(_)))
}

#[test]
fn a_unit_below_its_minimum_is_not_fully_bound() {
    assert_eq!(whole(&bound(&["a", "a", "b"]).end().end(), &flat_units()), Ok(()));
    insta::assert_snapshot!(
        messages(whole(&bound(&["a"]).end().end(), &flat_units())).join("\n"),
        @r"
    the unit of PodGang g-0 (2 pods of a) is not fully bound: PodClique a has 1 pod bound, want 2
    the unit of PodGang g-0 (1 pod of b) is not fully bound: PodClique b has 0 pods bound, want 1
    "
    );
}

#[test]
fn a_terminating_pod_is_not_bound() {
    let mut terminating = pod("b0", "b", Some("n"));
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let history = bound(&["a", "a", "b"]).modified(terminating).end();
    assert!(whole(&history.end(), &flat_units()).is_err());
}

#[test]
fn a_gang_with_an_unbound_surplus_pod_is_not_completely_bound() {
    assert!(all(&bound(&["a", "a", "b"]).end().end(), &gangs()[..1]).is_err());
    assert_eq!(all(&bound(&["a", "a", "a", "b"]).end().end(), &gangs()[..1]), Ok(()));
}

#[test]
fn a_binding_before_the_mark_counts_even_if_the_pod_was_deleted() {
    let early = bound(&["a"]).deleted(pod("a0", "a", Some("n"))).mark(MARK, Value::Null).end();
    let (mark, _) = early.reached(MARK).expect("marked");
    insta::assert_snapshot!(
        message(never(&early, &flat_units(), Some(mark))),
        @"the unit of PodGang g-0 (2 pods of a) had 1 pod bound, want 0 because the pods did not all fit"
    );
    let late = bound(&[]).mark(MARK, Value::Null).modified(pod("a0", "a", Some("n"))).end();
    let (mark, _) = late.reached(MARK).expect("marked");
    assert_eq!(never(&late, &flat_units(), Some(mark)), Ok(()));
    assert!(never(&late, &flat_units(), None).is_err());
    assert!(is_not_reached(&never(&Story::flat().end(), &flat_units(), None)));
    let created_late = Story::flat().mark(MARK, Value::Null).added(pod("a0", "a", None)).end();
    assert!(is_not_reached(&never(&created_late, &flat_units()[..1], Some(0))), "no pod before the mark");
}

#[test]
fn a_binding_counts_until_a_mark_that_must_be_reached() {
    let until_mark = |story: Story| never_until(&story.end(), &flat_units(), MARK);
    assert_eq!(until_mark(bound(&[]).mark(MARK, Value::Null)), Ok(()));
    let late = bound(&[]).mark(MARK, Value::Null).modified(pod("a0", "a", Some("n")));
    assert_eq!(until_mark(late), Ok(()), "bound after the mark");
    assert!(is_not_reached(&until_mark(bound(&[]))));
    assert_eq!(codes(until_mark(bound(&["a"]))), ["bound-in-part"], "the mark is missing");
}

#[rstest::rstest]
#[case::of_1_36("PodGroupScheduled")]
#[case::of_1_37("PodGroupInitiallyScheduled")]
fn a_condition_of_a_pod_or_a_pod_group_reports_why_a_gang_is_pending(#[case] condition: &str) {
    let unschedulable = with_condition(pod("a0", "a", None), "PodScheduled", "Unschedulable", "no room");
    assert_eq!(reports_why_pending(&Story::flat().added(unschedulable).end(), &gangs()[0]), Ok(()));
    let silent = with_condition(pod("a0", "a", None), "PodScheduled", "Unschedulable", "");
    assert!(reports_why_pending(&Story::flat().added(silent).end(), &gangs()[0]).is_err(), "no message");
    let gated = with_condition(pod("a0", "a", None), "PodScheduled", "SchedulingGated", "gated");
    assert_eq!(
        message(reports_why_pending(&Story::flat().added(gated).end(), &gangs()[0])),
        "no condition of a pod or gang resource reported why PodGang g-0 is not bound"
    );
    let group = owned(json!({"kind": "PodGroup", "metadata": {"name": "g-0-a"}}), "PodGang", "g-0");
    let group = with_condition(group, condition, "Unschedulable", "no room");
    let by_group = Story::flat().added(group).end();
    assert_eq!(reports_why_pending(&by_group, &gangs()[0]), Ok(()));
    assert!(reports_why_pending(&by_group, &gangs()[1]).is_err());
}

#[test]
fn of_two_gangs_one_is_bound_and_the_other_has_no_bound_pod() {
    let [a, b] = [vec![flat_units()[0].clone()], vec![flat_units()[1].clone()]];
    let rivals = [a, b];
    assert_eq!(some_whole_others_never(&bound(&["a", "a"]).end(), &rivals, 1, None), Ok(()));
    insta::assert_snapshot!(
        message(some_whole_others_never(&bound(&["a", "b"]).end(), &rivals, 1, None)),
        @"the unit of PodGang g-0 (2 pods of a) had 1 pod bound, want 0 because the pods did not all fit"
    );
    insta::assert_snapshot!(
        message(some_whole_others_never(&bound(&["a", "a", "b"]).end(), &rivals, 1, None)),
        @"2 of 2 gangs are fully bound, want 1"
    );
    let then = bound(&["a", "a"]).mark(MARK, Value::Null).modified(pod("b0", "b", Some("n"))).end();
    let (mark, _) = then.reached(MARK).expect("marked");
    assert_eq!(some_whole_others_never(&then, &rivals, 1, Some(mark)), Ok(()), "b was bound later");
}

#[test]
fn a_scaled_pod_bound_before_the_base_is_a_violation() {
    assert_eq!(base_first(&bound(&["a", "a", "b", "c"]).end(), &gangs()), Ok(()));
    insta::assert_snapshot!(
        message(base_first(&bound(&["a", "b", "c", "a"]).end(), &gangs())),
        @"Pod c0 of scaled PodGang g-0-sg-0 was bound before PodClique a of base PodGang g-0 had 2 bound pods"
    );
    assert!(
        message(base_first(&bound(&["a", "a", "c"]).end(), &gangs())).contains("before PodClique b of base"),
        "every podgroup of the base counts"
    );
}

#[rstest::rstest]
#[case::of_another_replica(|base: &mut Gang| base.replica = 1, true)]
#[case::of_another_set(|base: &mut Gang| base.set = "h".into(), true)]
#[case::of_its_replica(|_: &mut Gang| {}, false)]
fn a_scaled_pod_waits_only_for_the_base_of_its_replica(
    #[case] change: fn(&mut Gang),
    #[case] is_satisfied: bool,
) {
    let mut all = gangs();
    change(&mut all[0]);
    assert_eq!(base_first(&bound(&["c"]).end(), &all).is_ok(), is_satisfied);
}

#[test]
fn a_partly_bound_unit_is_a_violation() {
    assert_eq!(all_or_nothing(&bound(&["b", "a", "a", "a"]).end(), &flat_units()), Ok(()));
    assert_eq!(all_or_nothing(&bound(&["b"]).end(), &flat_units()), Ok(()), "no pod of a is bound");
    let deleted = bound(&["a"]).deleted(pod("a0", "a", Some("n"))).end();
    assert!(all_or_nothing(&deleted, &flat_units()).is_err());
    let whole_gang = [hard_gang(&gangs()[0])];
    assert!(all_or_nothing(&bound(&["b"]).end(), &whole_gang).is_err(), "b is bound without a");
}

#[test]
fn a_wrong_number_of_bound_pods_is_a_violation() {
    let end = bound(&["a", "a"]).end().end();
    assert_eq!(exactly(&end, "a", 2), Ok(()));
    insta::assert_snapshot!(message(exactly(&end, "a", 3)), @"PodClique a has 2 pods bound, want 3");
}

#[test]
fn the_loss_of_a_pod_affects_no_other_pod() {
    let running = bound(&["a", "a", "b"]).mark(LOST, Value::Null).deleted(pod("a0", "a", Some("n")));
    let history = running.end();
    let (mark, _) = history.reached(LOST).expect("marked");
    assert_eq!(others_untouched(&history, mark, &["a0"]), Ok(()));
    insta::assert_snapshot!(
        message(others_untouched(&history, mark, &[])),
        @"Pod a0 was deleted, want it unaffected by the loss of other pods"
    );
    let moved = bound(&["b"]).mark(LOST, Value::Null).modified(pod("b0", "b", Some("other"))).end();
    let (mark, _) = moved.reached(LOST).expect("marked");
    insta::assert_snapshot!(
        message(others_untouched(&moved, mark, &[])),
        @"Pod b0 was bound to another node, want it unaffected by the loss of other pods"
    );
    let mut terminating = pod("b0", "b", Some("n"));
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let before = bound(&["b"]).modified(terminating.clone()).mark(LOST, Value::Null);
    let ended = before.deleted(terminating).deleted(pod("a0", "a", None)).end();
    let (mark, _) = ended.reached(LOST).expect("marked");
    assert_eq!(others_untouched(&ended, mark, &[]), Ok(()), "one was terminating, and one not bound");
}

#[test]
fn a_replacement_is_in_the_gang_of_the_lost_pod() {
    let lost = || bound(&["b"]).mark(LOST, Value::Null).deleted(pod("b0", "b", Some("n")));
    let check = |story: Story| {
        let history = story.end();
        let (mark, _) = history.reached(LOST).expect("marked");
        replaced(&history, mark, "b0")
    };
    assert_eq!(check(lost().added(pod("b1", "b", Some("n")))), Ok(()));
    insta::assert_snapshot!(message(check(lost())), @"Pod b0 was not replaced in its gang");
    insta::assert_snapshot!(
        message(check(lost().added(pod("b1", "b", None)))),
        @"Pod b1 replaces Pod b0 but is not bound"
    );
    let mut other_group = pod("b1", "b", Some("n"));
    other_group["spec"]["schedulingGroup"]["podGroupName"] = "another".into();
    assert!(check(lost().added(other_group.clone())).is_err());
    let two = lost().added(pod("b1", "b", None)).added(pod("b2", "b", Some("n")));
    assert_eq!(check(two), Ok(()), "the second one is bound");
    let twin = bound(&["b"]).added(pod("b1", "b", Some("n"))).mark(LOST, Value::Null);
    assert!(
        message(check(twin.deleted(pod("b0", "b", Some("n"))))).contains("Pod b0 was not replaced"),
        "the other pod existed before the loss"
    );
    let mut other_index = pod("b1", "b", None);
    other_index["metadata"]["labels"][names::POD_INDEX] = "7".into();
    let with_other_index = || lost().added(other_index.clone());
    insta::assert_snapshot!(message(check(with_other_index())), @"Pod b0 was not replaced in its gang");
    let at_mark = |story: Story, check: fn(&History, usize, &str) -> Ruling| {
        let history = story.end();
        let (mark, _) = history.reached(LOST).expect("marked");
        check(&history, mark, "b0")
    };
    insta::assert_snapshot!(
        message(at_mark(with_other_index(), replaced_in_gang)),
        @"Pod b1 replaces Pod b0 but is not bound"
    );
    assert_eq!(at_mark(with_other_index(), rejoined), Ok(()));
    assert!(at_mark(lost().added(other_group), rejoined).is_err());
    assert!(is_not_reached(&replaced(&bound(&[]).end(), 0, "b0")));
}

#[test]
fn a_pod_on_a_node_outside_the_pool_is_a_violation() {
    let node =
        |name: &str, labels: Value| json!({"kind": "Node", "metadata": {"name": name, "labels": labels}});
    let own = bound(&["a"]).added(node("n", json!({names::POOL: "ns"}))).end();
    assert_eq!(on_own_nodes(&own), Ok(()));
    let foreign =
        bound(&["a"]).added(node("n", json!({}))).added(node("own", json!({names::POOL: "ns"}))).end();
    insta::assert_snapshot!(
        message(on_own_nodes(&foreign)),
        @"Pod a0 was bound to a node outside the node pool of its case"
    );
    assert_eq!(on_own_nodes(&bound(&["a"]).end()), Ok(()), "the history contains no nodes");
}

#[test]
fn a_pending_unit_has_no_bound_pod_after_a_scheduler_pass() {
    let check = |story: Story| {
        let history = story.mark(SharedMark::Deleted, Value::Null).added(pod("b0", "b", Some("n"))).end();
        let (mark, _) = history.reached(SharedMark::Deleted).expect("marked");
        was_pending(&history, &flat_units(), mark)
    };
    let passed = |story: Story| story.mark(SharedMark::SchedulerPassed, Value::Null);
    assert_eq!(check(passed(bound(&[]))), Ok(()));
    assert!(is_not_reached(&check(bound(&[]))), "the scheduler had not completed a full pass");
    let late = passed(bound(&[]).mark(SharedMark::Deleted, Value::Null)).end();
    let (mark, _) = late.reached(SharedMark::Deleted).expect("marked");
    assert!(is_not_reached(&was_pending(&late, &flat_units(), mark)), "it completed the pass later");
    let ruling = check(passed(bound(&["a"])));
    let Err(Broken::Precondition { clause, violations }) = ruling else {
        panic!("{ruling:?}: a part was bound")
    };
    assert_eq!((clause, violations.len()), ("AON-02", 1));
}
