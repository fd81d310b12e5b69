use conformance_check::codes;
use conformance_contract::target::Target;
use conformance_history::testing::{Story, one_clique, worker};
use serde_json::json;

use super::*;

#[rstest::rstest]
#[case::pending(0, &[])]
#[case::in_part(1, &["not-bound-whole"])]
#[case::whole(2, &["bound-without-capacity"])]
fn a_workload_that_is_one_pod_short_is_pending(#[case] bound: usize, #[case] wanted: &[&str]) {
    let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, bound);
    let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
    let found = check(&history).into_iter().find(|finding| finding.clause == "AON-02");
    assert_eq!(codes(found.expect("the check decides AON-02").ruling), wanted);
}

fn ruling(history: &History, clause: &str) -> Ruling {
    let found = check(history).into_iter().find(|finding| finding.clause == clause);
    found.expect("the check decides the clause").ruling
}

fn timed_out(story: Story) -> Story {
    let waited = story.mark(SharedMark::WaitTimedOut, json!({"condition": "every hard gang bound"}));
    waited.mark(SharedMark::Stopped, json!({"wait": true}))
}

#[test]
fn a_case_that_times_out_with_room_has_not_reached_the_deletion() {
    let passed = || {
        let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, 0);
        story.mark(SharedMark::SchedulerPassed, Value::Null)
    };
    let with_room = timed_out(passed().mark(ROOM_FOR_ALL, Value::Null)).end();
    for clause in ["AON-01", "AON-03"] {
        assert_eq!(codes(ruling(&with_room, clause)), ["not-bound-whole"], "{clause}");
    }
    assert!(matches!(ruling(&with_room, "DEL-01"), Err(Broken::NotReached(_))));
    let without_room = timed_out(passed()).end();
    for clause in ["GANG-01", "GANG-02", "GANG-03", "AON-01", "AON-03", "DEL-01"] {
        assert!(matches!(ruling(&without_room, clause), Err(Broken::NotReached(_))), "{clause}");
    }
}

#[rstest::rstest]
#[case::pending(0, None)]
#[case::in_part(1, Some("not-bound-whole"))]
fn pending_pods_prove_nothing_if_only_a_scheduler_knows_whether_they_fit(
    #[case] bound: usize,
    #[case] wanted: Option<&str>,
) {
    let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, bound);
    let story = story.mark(SharedMark::SchedulerPassed, Value::Null).mark(ROOM_FOR_ALL, Value::Null);
    let story = story.mark(UNDECIDED, json!(["affinity"]));
    let history = story.mark(SharedMark::Deleted, json!({"kind": "PodCliqueSet", "name": "w"})).end();
    for clause in ["AON-01", "AON-03"] {
        match (ruling(&history, clause), wanted) {
            (Err(Broken::NotAsked(why)), None) => assert!(why.contains("affinity"), "{why}"),
            (found, Some(wanted)) => assert_eq!(codes(found), [wanted], "{clause}"),
            (found, None) => panic!("{clause}: {found:?}"),
        }
    }
}

#[rstest::rstest]
#[case::one_pending(2, 0, &[])]
#[case::one_in_part(2, 1, &["not-bound-whole"])]
#[case::the_other_in_part(1, 2, &["not-bound-whole"])]
#[case::both_whole(2, 2, &["bound-without-capacity"])]
fn each_of_several_pod_clique_sets_is_checked(
    #[case] first: usize,
    #[case] second: usize,
    #[case] wanted: &[&str],
) {
    let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, first);
    let story = story.submitted(one_clique("x", 2)).workers("x", 2, second);
    let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
    assert_eq!(codes(ruling(&history, "AON-02")), wanted);
}

#[test]
fn every_pod_clique_set_must_be_bound_when_the_nodes_have_room() {
    let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, 2);
    let story = story.submitted(one_clique("x", 2)).workers("x", 2, 0);
    let story = story.mark(SharedMark::SchedulerPassed, Value::Null).mark(ROOM_FOR_ALL, Value::Null);
    let history = timed_out(story).end();
    for clause in ["AON-01", "AON-03"] {
        assert_eq!(codes(ruling(&history, clause)), ["not-bound-whole"], "{clause}");
    }
    assert!(ruling(&history, "GANG-01").is_err());
}

/// One of two pods is bound. The other one was bound too and then deleted with this condition, or never bound.
fn bound_in_part(story: Story, condition: Option<&str>) -> Story {
    let Some(condition) = condition else { return story.workers("w", 2, 1) };
    let mut deleted = worker("w", 1, Some("n"));
    deleted["status"] = json!({"conditions": [{"type": condition, "status": "True"}]});
    let lost = story.workers("w", 2, 2).modified(deleted.clone()).deleted(deleted);
    lost.added(worker("w", 1, None))
}

const EVICTED: Option<&str> = Some("DisruptionTarget");
const DELETED: Option<&str> = Some("Ready");

#[rstest::rstest]
#[case::for_another_set(Target::KUBE_POD_GROUP, Some("high"), EVICTED, true)]
#[case::without_an_eviction(Target::KUBE_POD_GROUP, Some("high"), None, false)]
#[case::deleted_without_a_cause(Target::KUBE_POD_GROUP, Some("high"), DELETED, false)]
#[case::kai_names_no_cause(Target::KAI, Some("high"), DELETED, true)]
#[case::kai_evicted_nothing(Target::KAI, Some("high"), None, false)]
#[case::without_priorities(Target::KUBE_POD_GROUP, None, EVICTED, false)]
fn a_pod_clique_set_may_be_bound_in_part_only_where_another_one_preempts(
    #[case] target: Target,
    #[case] class: Option<&str>,
    #[case] lost: Option<&str>,
    #[case] is_excused: bool,
) {
    let mut preempting = one_clique("x", 2);
    if let Some(class) = class {
        preempting["spec"]["template"]["priorityClassName"] = class.into();
    }
    let story = bound_in_part(Story::on(target).submitted(one_clique("w", 2)), lost);
    let story = story.submitted(preempting).workers("x", 2, 2);
    let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
    match ruling(&history, "AON-02") {
        Err(Broken::NotAsked(why)) => assert!(is_excused && why.contains("higher priority"), "{why}"),
        found => assert_eq!((codes(found), is_excused), (vec!["not-bound-whole".to_owned()], false)),
    }
}

/// With PodGroup scope each clique is a unit, with PodGang scope both cliques are one.
#[rstest::rstest]
#[case::another_unit(Story::flat(), Some("high"), EVICTED, true)]
#[case::without_an_eviction(Story::flat(), Some("high"), None, false)]
#[case::same_unit(Story::whole(), Some("high"), EVICTED, false)]
#[case::without_priorities(Story::flat(), None, EVICTED, false)]
fn a_clique_may_be_bound_in_part_only_where_another_unit_preempts(
    #[case] story: Story,
    #[case] class: Option<&str>,
    #[case] lost: Option<&str>,
    #[case] is_excused: bool,
) {
    let mut set = one_clique("w", 2);
    let mut other = json!({"name": "other", "spec": {"replicas": 2, "podSpec": {}}});
    if let Some(class) = class {
        other["spec"]["podSpec"]["priorityClassName"] = class.into();
    }
    let mut cliques = set["spec"]["template"]["cliques"].take();
    cliques.as_array_mut().unwrap().push(other);
    set["spec"]["template"]["cliques"] = cliques;
    let story = bound_in_part(story.submitted(set), lost);
    let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
    match ruling(&history, "AON-02") {
        Err(Broken::NotAsked(why)) => assert!(is_excused && why.contains("higher priority"), "{why}"),
        found => {
            let found = codes(found);
            assert!(!is_excused && !found.is_empty(), "{found:?}");
            assert!(found.iter().all(|code| code == "not-bound-whole"), "{found:?}");
        }
    }
}
