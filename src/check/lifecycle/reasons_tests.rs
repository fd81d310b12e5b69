use conformance_history::name;
use conformance_history::testing::{Story, object, one_clique, one_clique_gang, worker};
use serde_json::json;

use super::*;
use crate::message;

const GPUS: &str = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";
const NO_ROOM: &str = "0/3 nodes are available: 3 Insufficient GPUs.";

fn gang() -> Gang {
    let mut gang = conformance_expect::gangs(&one_clique("w", 2)).remove(0);
    gang.name = "w-0".into();
    gang
}

fn pod_gang_reporting(message: &str) -> Value {
    let mut gang = one_clique_gang("w", 2);
    let initialized = json!({"type": "Initialized", "status": "True", "message": "all there"});
    let scheduled = json!({"type": "Any", "status": "False", "message": message});
    gang["status"]["conditions"] = json!([initialized, scheduled]);
    gang
}

fn refused(words: &str) -> Value {
    let mut pod = worker("w", 0, None);
    let scheduled =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words});
    pod["status"]["conditions"] = json!([scheduled]);
    pod
}

#[rstest::rstest]
#[case::in_time(3, &format!("no place for it: {NO_ROOM}"), true)]
#[case::cut_short(3, "0/3 nodes are available", true)]
#[case::late(6, NO_ROOM, false)]
#[case::only_other_words(3, "it waits", false)]
fn a_gang_that_does_not_report_the_schedulers_message_in_time_violates(
    #[case] after: i64,
    #[case] wording: &str,
    #[case] is_satisfied: bool,
) {
    let story = Story::flat().added(pod_gang_reporting("")).added(refused(NO_ROOM)).later(after);
    let history = story.modified(pod_gang_reporting(wording)).later(20).mark_end().end();
    let found = reason_reported(&history, &gang(), &Why::Scheduler);
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    if !is_satisfied {
        assert!(message(found).contains("reported the scheduler's message about the PodGang"));
    }
}

#[test]
fn a_gang_that_does_not_report_its_base_by_name_violates() {
    let why = Why::Base("w-base".into());
    let silent = Story::flat().added(pod_gang_reporting("it waits")).later(9).mark_end().end();
    assert!(message(reason_reported(&silent, &gang(), &why)).contains("waits for its base PodGang w-base"));
    let reported = Story::flat().added(pod_gang_reporting("w-base is not bound")).later(9).mark_end().end();
    assert_eq!(reason_reported(&reported, &gang(), &why), Ok(()));
    let other = Story::flat().added(pod_gang_reporting("w-base-1 waits")).later(9).mark_end().end();
    assert!(reason_reported(&other, &gang(), &why).is_err(), "another name");
    let early = Story::flat().added(pod_gang_reporting("it waits")).end();
    assert!(matches!(reason_reported(&early, &gang(), &why), Err(Broken::NotReached(_))));
}

#[rstest::rstest]
#[case::in_time(3, "no pod: maximum cpu usage per Container is 1", true)]
#[case::late(6, "no pod: maximum cpu usage per Container is 1", false)]
#[case::only_other_words(3, "no pod", false)]
fn a_gang_that_does_not_report_the_refusal_of_its_pods_violates(
    #[case] after: i64,
    #[case] wording: &str,
    #[case] is_satisfied: bool,
) {
    let story = Story::flat().added(pod_gang_reporting("")).added(object("PodClique", "w-0-worker"));
    let history = story.later(after).modified(pod_gang_reporting(wording)).later(20).mark_end().end();
    let found = reason_reported(&history, &gang(), &Why::Refused("maximum cpu usage per Container".into()));
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    if !is_satisfied {
        assert!(message(found).contains("reported that its pods are refused"));
    }
}

#[rstest::rstest]
#[case::the_resource("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", 12, true)]
#[case::late("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", 16, false)]
#[case::another_pods_wait("waiting for minCount pods from a gang to be scheduled", 3, false)]
fn a_gang_that_does_not_report_what_its_pods_lack_violates(
    #[case] wording: &str,
    #[case] after: i64,
    #[case] is_satisfied: bool,
) {
    let story = Story::flat().added(pod_gang_reporting("")).added(refused(GPUS)).later(after);
    let history = story.modified(pod_gang_reporting(wording)).later(20).mark_end().end();
    let found = reason_reported(&history, &gang(), &Why::Lack(&["nvidia.com/gpu"]));
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    let not_known =
        Story::flat().added(pod_gang_reporting("")).added(refused(NO_ROOM)).later(20).mark_end().end();
    let nothing = reason_reported(&not_known, &gang(), &Why::Lack(&["nvidia.com/gpu"]));
    assert!(matches!(nothing, Err(Broken::NotReached(_))), "the scheduler did not report it");
}

#[rstest::rstest]
#[case::both("pod w-0-worker-0 has the scheduling gate example.com/quota", true)]
#[case::among_others("example.com/quota (w-0-worker-0), example.org/review (w-0-worker-1)", true)]
#[case::another_gate("example.org/review (w-0-worker-0)", false)]
#[case::the_gate_alone("a pod has the scheduling gate example.com/quota", false)]
#[case::the_pod_alone("pod w-0-worker-0 waits", false)]
fn a_gang_that_does_not_report_a_gate_and_its_pod_violates(
    #[case] wording: &str,
    #[case] is_satisfied: bool,
) {
    let pod = worker("w", 0, None);
    let gate = Why::Gate { pod: name(&pod).to_owned(), gate: "example.com/quota".into() };
    let wording = wording.replace("w-0-worker-0", name(&pod));
    let story = Story::flat().added(pod_gang_reporting("")).added(pod);
    let history = story.modified(pod_gang_reporting(&wording)).later(20).mark_end().end();
    assert_eq!(reason_reported(&history, &gang(), &gate).is_ok(), is_satisfied);
}

#[rstest::rstest]
#[case::in_time("w-0-worker-1 waits for claim b, w-0-worker-2 for claim data", 12, true)]
#[case::late("w-0-worker-2 waits for claim data", 16, false)]
#[case::another_claim("w-0-worker-2 waits for claim data-2", 12, false)]
#[case::another_pod("w-0-worker-1 waits for claim data", 12, false)]
fn a_gang_that_does_not_report_a_claim_and_its_pod_violates(
    #[case] wording: &str,
    #[case] after: i64,
    #[case] is_satisfied: bool,
) {
    let why = Why::Claim { pod: "w-0-worker-2".into(), claim: "data".into() };
    let story = Story::flat().added(pod_gang_reporting("")).workers("w", 3, 1).later(after);
    let history = story.modified(pod_gang_reporting(wording)).later(20).mark_end().end();
    let found = reason_reported(&history, &gang(), &why);
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
}

#[rstest::rstest]
#[case::in_time("bound", 3, true)]
#[case::late("bound", 6, false)]
#[case::still_reported(NO_ROOM, 3, false)]
fn a_reason_reported_after_the_wait_is_a_violation(
    #[case] wording: &str,
    #[case] after: i64,
    #[case] is_satisfied: bool,
) {
    let waited = Story::flat().added(refused(NO_ROOM)).added(pod_gang_reporting(NO_ROOM));
    let bound = waited.modified(worker("w", 0, Some("n"))).later(after);
    let history = bound.modified(pod_gang_reporting(wording)).later(9).mark_end().end();
    let found = reason_no_longer_reported(&history, &gang(), &Why::Scheduler, 3);
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    if !is_satisfied {
        assert!(message(found).contains("condition Any of PodGang w-0 still reports"));
    }
}

#[rstest::rstest]
#[case::with_its_owner("PodClique w-0-worker of PodCliqueSet v exists", true)]
#[case::without_the_owner("PodClique w-0-worker exists", false)]
#[case::without_the_name("an object of PodCliqueSet v exists", false)]
fn a_taken_name_that_the_pod_clique_set_does_not_report_violates(
    #[case] wording: &str,
    #[case] is_satisfied: bool,
) {
    let why = Why::Taken { name: "w-0-worker".into(), owner: "PodCliqueSet v" };
    let mut reporting = one_clique("w", 2);
    reporting["status"]["conditions"] = json!([{"type": "Any", "status": "False", "message": wording}]);
    let story = Story::flat().added(one_clique("w", 2)).modified(reporting);
    let found = reason_reported(&story.later(9).mark_end().end(), &gang(), &why);
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
}

#[rstest::rstest]
#[case::of_the_gang("w-0", "Warning", "cannot create: not today", true)]
#[case::of_another_set("v-0", "Warning", "cannot create: not today", false)]
#[case::no_warning("w-0", "Normal", "cannot create: not today", false)]
#[case::of_another_failure("w-0", "Warning", "cannot create: not here", false)]
fn only_a_warning_about_the_gang_reports_a_failure(
    #[case] about: &str,
    #[case] of_type: &str,
    #[case] note: &str,
    #[case] counts: bool,
) {
    let mut event = object("Event", "e");
    event["type"] = json!(of_type);
    event["involvedObject"] = json!({"kind": "PodGang", "name": about});
    event["message"] = json!(note);
    assert_eq!(is_warning(&event, &gang(), "not today"), counts);
    event["metadata"]["labels"] = json!({names::CANARY: "true"});
    assert!(!is_warning(&event, &gang(), "not today"), "it is about a canary");
}

#[test]
fn a_failure_without_an_event_or_a_condition_is_a_violation() {
    let event = |kind: &str| {
        let mut event = object("Event", "e");
        event["type"] = json!(kind);
        event["involvedObject"] = json!({"kind": "PodGang", "name": "w-0"});
        event["message"] = json!("cannot create: not today");
        event
    };
    let both = || Story::flat().added(pod_gang_reporting("it fails: not today")).added(event("Warning"));
    assert_eq!(failure_reported(&both().end(), &gang(), "not today"), Ok(()));
    let no_event = Story::flat().added(pod_gang_reporting("not today")).added(event("Normal")).end();
    assert!(message(failure_reported(&no_event, &gang(), "not today")).contains("no Warning event"));
    let no_condition = Story::flat().added(pod_gang_reporting("")).added(event("Warning")).end();
    assert!(message(failure_reported(&no_condition, &gang(), "not today")).contains("no condition"));
    let no_longer_after = |wording: &str| {
        let history = both().modified(pod_gang_reporting(wording)).later(9).mark_end().end();
        failure_no_longer_reported(&history, &gang(), "not today", 2)
    };
    assert_eq!(no_longer_after("created"), Ok(()));
    assert!(message(no_longer_after("not today")).contains("still reports"));
}

#[rstest::rstest]
#[case::doubled(&[0, 50, 150, 350, 750, 1550], true)]
#[case::always_the_same(&[0, 50, 100, 150, 200, 250], false)]
#[case::five_seconds(&[0, 5000, 10_000, 15_000, 20_000, 25_000], false)]
fn pauses_that_do_not_grow_are_a_violation(#[case] milliseconds: &[i64], #[case] grow: bool) {
    let at: Vec<_> = milliseconds.iter().map(|at| Timestamp::from_millisecond(*at).unwrap()).collect();
    assert_eq!(pauses_grow(&at).is_ok(), grow);
    assert!(matches!(pauses_grow(&at[..3]), Err(Broken::NotReached(_))));
}

trait Ended {
    fn mark_end(self) -> Story;
}

impl Ended for Story {
    fn mark_end(self) -> Story {
        self.added(object("Node", "late"))
    }
}
