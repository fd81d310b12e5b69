//! Two pods of a gang run when another gang arrives.

use conformance_history::testing::{Story, gated, one_clique_gang, worker};
use conformance_history::{MarkName, SharedMark};
use serde_json::{Value, json};

use super::*;
use crate::codes;

const ARRIVED: MarkName = MarkName::of_case("arrived");

fn arrived() -> Story {
    Story::whole().workers("w", 2, 2).mark(ARRIVED, Value::Null)
}

fn evicted() -> Story {
    (0..2).fold(arrived(), |story, index| story.deleted(worker("w", index, Some("n"))))
}

/// Pods 2 and 3 are created gated, referred to and released.
fn replaced() -> Story {
    let created = (2..4).fold(evicted(), |story, index| story.added(gated(worker("w", index, None))));
    let referred = created.modified(referring(&["w-0-worker-2", "w-0-worker-3"]));
    (2..4).fold(referred, |story, index| story.modified(worker("w", index, None)))
}

fn referring(pods: &[&str]) -> Value {
    let mut gang = one_clique_gang("w", 2);
    let references: Vec<_> = pods.iter().map(|pod| json!({"namespace": "ns", "name": pod})).collect();
    gang["spec"]["podgroups"][0]["podReferences"] = references.into();
    gang
}

fn marked(mut pod: Value, reason: &str) -> Value {
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason});
    pod["status"] = json!({"conditions": [condition]});
    pod
}

fn terminating(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod
}

fn found(story: Story, ruling: impl Fn(&Victim<'_>, usize) -> Ruling) -> Vec<String> {
    let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
    let (since, _) = history.reached(ARRIVED).expect("the mark");
    let units = vec![Unit { gang: "w-0".into(), minimums: vec![("w-0-worker".into(), 2)] }];
    codes(ruling(&Victim::of(&history, units, since), history.entries.len()))
}

#[rstest::rstest]
#[case::nothing_happened(arrived(), &[])]
#[case::a_new_pod_was_deleted(arrived().added(worker("w", 2, None)).deleted(worker("w", 2, None)), &[])]
#[case::another_condition(
    arrived().modified(marked(worker("w", 0, Some("n")), "DeletionByTaintManager")),
    &[]
)]
#[case::marked(
    arrived().modified(marked(worker("w", 0, Some("n")), "PreemptionByScheduler")),
    &["evicted-for-equal-priority"]
)]
#[case::terminating(
    arrived().modified(terminating(worker("w", 0, Some("n")))),
    &["evicted-for-equal-priority"]
)]
#[case::both_deleted(evicted(), &["evicted-for-equal-priority", "evicted-for-equal-priority"])]
fn a_lost_pod_of_the_running_gang_is_a_violation(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.stays(until, &EVICTED_FOR_EQUAL)), wanted);
}

#[rstest::rstest]
#[case::whole(arrived(), &[])]
#[case::gone(evicted(), &[])]
#[case::replaced_and_waiting(replaced(), &[])]
#[case::one_is_left(arrived().deleted(worker("w", 0, Some("n"))), &["preempted-in-part"])]
#[case::one_is_bound_again(replaced().modified(worker("w", 2, Some("n"))), &["preempted-in-part"])]
fn a_gang_below_its_minimum_has_no_bound_pod(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.is_not_in_part(until)), wanted);
}

#[rstest::rstest]
#[case::replaced(replaced(), &[])]
#[case::one_was_not_evicted(
    arrived().deleted(worker("w", 0, Some("n"))).added(gated(worker("w", 2, None))),
    &[]
)]
#[case::not_replaced(evicted(), &["evicted-pod-not-replaced"])]
#[case::one_is_missing(evicted().added(gated(worker("w", 2, None))), &["evicted-pod-not-replaced"])]
#[case::created_ungated(
    replaced().added(worker("w", 4, None)),
    &["replacement-created-ungated"]
)]
#[case::released_before_the_reference(
    replaced().added(gated(worker("w", 4, None))).modified(worker("w", 4, None)),
    &["replacement-released-early"]
)]
fn evicted_pods_are_replaced_gated_and_referred_to(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.is_replaced(until)), wanted);
}

#[rstest::rstest]
#[case::waiting(replaced(), &[])]
#[case::an_evicted_pod_is_seen_again(arrived().modified(worker("w", 0, Some("n"))), &[])]
#[case::bound(replaced().modified(worker("w", 2, Some("n"))), &["replacement-bound-early"])]
fn replacements_wait_for_room(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.waits(until)), wanted);
}

#[rstest::rstest]
#[case::waiting(replaced(), &[])]
#[case::bound_and_deleted(
    replaced().modified(worker("w", 2, Some("n"))).deleted(worker("w", 2, Some("n"))),
    &[]
)]
#[case::deleted(replaced().deleted(worker("w", 2, None)), &["replacement-deleted"])]
#[case::terminating(
    replaced().modified(terminating(worker("w", 2, None))).deleted(terminating(worker("w", 2, None))),
    &["replacement-deleted"]
)]
fn a_waiting_replacement_is_not_deleted(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.replacements_stay(until)), wanted);
}

fn reporting(status: &str) -> Value {
    let mut gang = one_clique_gang("w", 2);
    gang["status"] = json!({"conditions": [{"type": "DisruptionTarget", "status": status}]});
    gang
}

#[rstest::rstest]
#[case::reported(replaced().modified(reporting("True")), &[])]
#[case::not_reported(replaced(), &["eviction-not-reported"])]
#[case::reported_and_taken_back(
    replaced().modified(reporting("True")).modified(reporting("False")),
    &["eviction-not-reported"]
)]
fn an_eviction_is_reported(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.is_reported("w", until)), wanted);
}

#[rstest::rstest]
#[case::never_reported(arrived(), &[])]
#[case::no_longer(replaced().modified(reporting("True")).modified(reporting("False")), &[])]
#[case::still(replaced().modified(reporting("True")), &["eviction-wrongly-reported"])]
fn the_report_ends(#[case] story: Story, #[case] wanted: &[&str]) {
    assert_eq!(found(story, |victim, until| victim.is_not_reported("w", until)), wanted);
}

fn on_two_racks() -> Story {
    let node = |name: &str, rack: &str| {
        let labels = json!({names::RACK: rack});
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
    };
    Story::whole()
        .all_added([node("a", "rack-a"), node("b", "rack-b")])
        .all_added([worker("left", 0, Some("a")), worker("right", 0, Some("b"))])
        .mark(ARRIVED, Value::Null)
}

fn bound_on_a(story: Story) -> Story {
    story.added(worker("high", 0, Some("a")))
}

fn one_pod(set: &str) -> Vec<Unit> {
    vec![Unit { gang: format!("{set}-0"), minimums: vec![(format!("{set}-0-worker"), 1)] }]
}

#[rstest::rstest]
#[case::nobody(bound_on_a(on_two_racks()), &[])]
#[case::in_the_same_rack(bound_on_a(on_two_racks().deleted(worker("left", 0, Some("a")))), &[])]
#[case::in_another_rack(
    bound_on_a(on_two_racks().deleted(worker("right", 0, Some("b")))),
    &["evicted-in-another-domain"]
)]
#[case::in_both(
    bound_on_a(on_two_racks().deleted(worker("left", 0, Some("a"))).deleted(worker("right", 0, Some("b")))),
    &["evicted-in-another-domain"]
)]
#[case::a_part_was_in_the_rack(
    bound_on_a(
        on_two_racks()
            .added(worker("wide", 0, Some("a")))
            .added(worker("wide", 1, Some("b")))
            .mark(ARRIVED, Value::Null)
            .deleted(worker("wide", 1, Some("b")))
    ),
    &[]
)]
fn only_gangs_of_the_rack_are_evicted(#[case] story: Story, #[case] wanted: &[&str]) {
    let history = story.end();
    let (since, _) = history.marks(ARRIVED).last().expect("the mark");
    let victims = ["left", "right", "wide"].map(|set| Victim::of(&history, one_pod(set), since));
    let end = history.entries.len();
    assert_eq!(codes(share_domain(&history, &victims, &one_pod("high"), names::RACK, end)), wanted);
}

#[rstest::rstest]
#[case::nobody(on_two_racks(), &[])]
#[case::as_many_as_needed(on_two_racks().deleted(worker("left", 0, Some("a"))), &[])]
#[case::one_more(
    on_two_racks().deleted(worker("left", 0, Some("a"))).deleted(worker("right", 0, Some("b"))),
    &["evicted-for-surplus"]
)]
fn no_more_gangs_are_evicted_than_a_minimum_needs(#[case] story: Story, #[case] wanted: &[&str]) {
    let history = story.end();
    let (since, _) = history.marks(ARRIVED).last().expect("the mark");
    let victims = ["left", "right"].map(|set| Victim::of(&history, one_pod(set), since));
    assert_eq!(codes(are_spared(&victims, 1, history.entries.len())), wanted);
}

#[test]
fn without_a_bound_preemptor_no_rack_can_be_compared() {
    let history = on_two_racks().deleted(worker("right", 0, Some("b"))).end();
    let ruling = share_domain(&history, &[], &one_pod("high"), names::RACK, history.entries.len());
    assert!(matches!(ruling, Err(Broken::NotReached(_))), "{ruling:?}");
}

#[rstest::rstest]
#[case::bound_before(arrived(), &[])]
#[case::seen_again(arrived().modified(worker("w", 0, Some("n"))), &[])]
#[case::waiting(replaced(), &[])]
#[case::the_preemptor(evicted().added(worker("high", 0, Some("n"))), &[])]
#[case::a_replacement(replaced().modified(worker("w", 2, Some("n"))), &["cleared-room-taken"])]
fn cleared_room_is_not_given_to_lower_gangs(#[case] story: Story, #[case] wanted: &[&str]) {
    let kept = |victim: &Victim<'_>, until| room_is_kept(victim.history, &victim.units, victim.since, until);
    assert_eq!(found(story, kept), wanted);
}
