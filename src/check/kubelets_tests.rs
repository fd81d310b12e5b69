use conformance_expect as expect;
use conformance_history::MarkName;
use conformance_history::testing::{Story, node, object, running};
use serde_json::json;

use super::*;
use crate::{codes, message, messages};

const SINCE: MarkName = MarkName::of_case("since");
const UNTIL: MarkName = MarkName::of_case("until");

fn gangs() -> Vec<Gang> {
    expect::testing::named_gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"replicas": 2}}, {"name": "b", "spec": {"replicas": 1}}],
        "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["b"]}],
    }}}))
}

fn pods() -> [Value; 4] {
    [
        running("a0", "w-0", "w-0-a", "n"),
        running("a1", "w-0", "w-0-a", "n"),
        running("b0", "w-0", "w-0-sg-0-b", "n"),
        running("b1", "w-0-sg-0", "w-0-sg-1-b", "n"),
    ]
}

fn waiting(mut pod: Value, reason: &str, message: &str) -> Value {
    pod["status"]["phase"] = "Pending".into();
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    pod["status"]["containerStatuses"][0]["state"] =
        json!({"waiting": {"reason": reason, "message": message}});
    pod
}

fn with_status(kind: &str, name: &str, status: Value) -> Value {
    let mut object = object(kind, name);
    object["status"] = status;
    object
}

fn clique(name: &str, ready: u32) -> Value {
    with_status("PodClique", name, json!({"readyReplicas": ready}))
}

fn group_with(available: u32) -> Value {
    with_status("PodCliqueScalingGroup", "w-0-sg", json!({"availableReplicas": available}))
}

fn set_with(available: u32) -> Value {
    with_status("PodCliqueSet", "w", json!({"availableReplicas": available}))
}

fn statuses() -> Vec<Value> {
    vec![clique("w-0-a", 2), clique("w-0-sg-0-b", 1), clique("w-0-sg-1-b", 1), group_with(2), set_with(1)]
}

fn is_not_reached(ruling: &Ruling) -> bool {
    matches!(ruling, Err(Broken::NotReached(_)))
}

#[test]
fn a_pod_with_a_container_that_does_not_run_is_a_violation() {
    let check = |pods: Vec<Value>| all_run(&Story::flat().all_added(pods).end().end(), &gangs());
    assert_eq!(check(pods().to_vec()), Ok(()));
    let mut starting = pods().to_vec();
    starting[0] = waiting(starting[0].clone(), "ContainerCreating", "");
    assert_eq!(
        message(check(starting)),
        "1 of 2 pods of PodClique w-0-a are running, want all; Pod a0: ContainerCreating: "
    );
    let mut half = pods().to_vec();
    half[3]["status"]["containerStatuses"] =
        json!([{"name": "worker", "state": {"running": {}}}, {"name": "side", "state": {"terminated": {}}}]);
    assert_eq!(
        message(check(half)),
        "0 of 1 pods of PodClique w-0-sg-1-b are running, want all; Pod b1: Running"
    );
    assert_eq!(
        message(check(pods()[..3].to_vec())),
        "0 of 1 pods of PodClique w-0-sg-1-b are running, want all"
    );
    let mut terminating = pods().to_vec();
    terminating[2]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(check(terminating).is_err(), "a terminating pod does not count");
}

#[rstest::rstest]
#[case::clique_not_ready(0, "readyReplicas", "PodClique w-0-a: readyReplicas is 0, want 2")]
#[case::scaled_clique(2, "readyReplicas", "PodClique w-0-sg-1-b: readyReplicas is 0, want 1")]
#[case::group(3, "availableReplicas", "PodCliqueScalingGroup w-0-sg: availableReplicas is 0, want 2")]
#[case::set(4, "availableReplicas", "PodCliqueSet w: availableReplicas is 0, want 1")]
fn a_status_that_does_not_count_the_running_pods_is_a_violation(
    #[case] which: usize,
    #[case] field: &str,
    #[case] expected: &str,
) {
    let check =
        |statuses: Vec<Value>| statuses_follow(&Story::flat().all_added(statuses).end().end(), "w", &gangs());
    assert_eq!(check(statuses()), Ok(()));
    let mut behind = statuses();
    behind[which]["status"][field] = Value::Null;
    assert_eq!(message(check(behind)), expected);
}

#[rstest::rstest]
#[case::clique(0)]
#[case::scaled_clique(2)]
#[case::group(3)]
#[case::set(4)]
fn a_missing_object_and_a_wrong_status_are_different_violations(#[case] which: usize) {
    let check = |statuses: Vec<Value>| {
        let live = Story::flat().all_added(statuses).end().end();
        codes(statuses_follow(&live, "w", &gangs()))
    };
    let (mut without, mut empty) = (statuses(), statuses());
    without.remove(which);
    assert_eq!(check(without), ["object-missing"]);
    empty[which]["status"] = Value::Null;
    assert_eq!(check(empty), ["wrong-status"]);
}

fn early(story: Story) -> Ruling {
    ready_count_is_not_early(&story.end(), "w", &gangs())
}

#[test]
fn a_status_that_counts_a_pod_before_it_is_ready_is_a_violation() {
    let [first, second, ..] = pods();
    let one = || Story::flat().added(first.clone()).added(clique("w-0-a", 1));
    assert_eq!(early(one().added(second.clone()).modified(clique("w-0-a", 2))), Ok(()));
    assert_eq!(
        message(early(one().modified(clique("w-0-a", 2)).added(second))),
        "PodClique w-0-a: readyReplicas was 2 when 1 of its pods had been Ready"
    );
    let unready = waiting(first, "ContainerCreating", "");
    assert!(early(Story::flat().added(unready).added(clique("w-0-a", 1))).is_err());
}

#[test]
fn a_status_that_counts_a_replica_before_its_pods_are_ready_is_a_violation() {
    let [a0, a1, b0, b1] = pods();
    let ready = || Story::flat().all_added([a0.clone(), b0.clone()]);
    let base = ready().added(group_with(1)).added(a1.clone()).added(set_with(1));
    assert_eq!(early(base.added(b1.clone()).modified(group_with(2))), Ok(()));
    assert_eq!(
        message(early(ready().added(group_with(2)).added(b1))),
        "PodCliqueScalingGroup w-0-sg: availableReplicas was 2 when 1 of its replicas had been Ready"
    );
    assert_eq!(
        message(early(ready().added(set_with(1)).added(a1))),
        "PodCliqueSet w: availableReplicas was 1 when 0 of its replicas had been Ready"
    );
}

#[test]
fn a_clique_that_counts_as_ready_is_a_violation() {
    let ruling = |ready| {
        let live = Story::flat().added(clique("w-0-a", ready)).end().end();
        clique_is_not_ready(&live, "w-0-a")
    };
    assert_eq!(ruling(0), Ok(()));
    assert_eq!(message(ruling(1)), "PodClique w-0-a: readyReplicas is 1, want 0");
}

#[rstest::rstest]
#[case::refused("ErrImagePull", "no such host", true)]
#[case::backed_off("ImagePullBackOff", "Back-off pulling image", true)]
#[case::not_yet("ContainerCreating", "", false)]
#[case::without_a_message("ErrImagePull", "", false)]
#[case::crashed("CrashLoopBackOff", "back-off restarting", false)]
fn a_pod_that_does_not_report_its_image_failure_violates(
    #[case] reason: &str,
    #[case] message: &str,
    #[case] is_satisfied: bool,
) {
    let [pod, ..] = pods();
    let live = Story::flat().added(waiting(pod, reason, message)).end().end();
    assert_eq!(reports_image_failure(&live, "w-0-a").is_ok(), is_satisfied);
}

#[test]
fn a_pod_that_stops_moves_or_restarts_is_a_violation() {
    let check = |change: Option<fn(&mut Value)>| {
        let mut later = pods();
        later[0]["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
        if let Some(change) = change {
            change(&mut later[0]);
        }
        let [first, ..] = later;
        let story = Story::flat().all_added(pods()).mark(SINCE, Value::Null).modified(first);
        let history = story.modified(pods()[0].clone()).end();
        let (since, _) = history.reached(SINCE).expect("marked");
        kept_running(&history, since, history.entries.len())
    };
    assert_eq!(check(None), Ok(()), "the Ready condition does not matter");
    let unknown_yet: fn(&mut Value) = |pod| pod["status"]["containerStatuses"] = Value::Null;
    assert_eq!(check(Some(unknown_yet)), Ok(()), "a kubelet that starts may not know its containers yet");
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 5] = [
        (
            |pod| pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into(),
            "Pod a0 was deleted, want it to keep running",
        ),
        (|pod| pod["spec"]["nodeName"] = "m".into(), "Pod a0 moved to Node m, want it to keep running"),
        (
            |pod| pod["status"]["phase"] = "Failed".into(),
            "Pod a0 is in phase Failed, want it to keep running",
        ),
        (
            |pod| pod["status"]["containerStatuses"][0]["containerID"] = "c-other".into(),
            "Pod a0 had its container worker restarted, want it to keep running",
        ),
        (
            |pod| pod["status"]["containerStatuses"][0]["restartCount"] = 1.into(),
            "Pod a0 had its container worker restarted, want it to keep running",
        ),
    ];
    for (change, expected) in changes {
        assert_eq!(message(check(Some(change))), expected);
    }
    assert!(is_not_reached(&kept_running(&Story::flat().end(), 0, 0)));
}

#[test]
fn a_disturbance_after_the_period_does_not_count() {
    let story = Story::flat().all_added(pods()).mark(SINCE, Value::Null).mark(UNTIL, Value::Null);
    let history = story.deleted(pods()[0].clone()).end();
    let index = |name: MarkName| history.reached(name).map(|(index, _)| index).expect("marked");
    assert_eq!(kept_running(&history, index(SINCE), index(UNTIL)), Ok(()));
    assert_eq!(
        message(kept_running(&history, index(SINCE), history.entries.len())),
        "Pod a0 was deleted, want it to keep running"
    );
}

#[test]
fn pods_that_were_lost_or_that_did_not_run_need_not_keep_running() {
    let [first, second, ..] = pods();
    let check = |before: &[Value], lost: &[&str]| {
        let story = Story::flat().all_added(before.iter().cloned()).mark(SINCE, Value::Null);
        let history = story.deleted(first.clone()).end();
        let (since, _) = history.reached(SINCE).expect("marked");
        others_kept_running(&history, since, history.entries.len(), lost)
    };
    let both = [first.clone(), second.clone()];
    assert_eq!(check(&both, &["a0"]), Ok(()));
    assert_eq!(message(check(&both, &["a1"])), "Pod a0 was deleted, want it to keep running");
    assert!(is_not_reached(&check(&both, &["a0", "a1"])), "no other pod");
    let starting = [waiting(first.clone(), "ContainerCreating", ""), second];
    assert_eq!(check(&starting, &[]), Ok(()));
}

#[test]
fn a_pod_left_on_a_node_is_a_violation() {
    let [first, second, ..] = pods();
    let mut terminating = first.clone();
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let moved = running("a2", "w-0", "w-0-a", "m");
    let live = Story::flat().all_added([terminating, moved]).end().end();
    assert_eq!(has_no_running_pods(&live, "n"), Ok(()));
    let stuck = Story::flat().all_added([first, second]).end().end();
    assert_eq!(
        messages(has_no_running_pods(&stuck, "n")),
        ["Pod a0 is still on Node n, want it deleted", "Pod a1 is still on Node n, want it deleted"]
    );
}

#[test]
fn a_wrong_number_of_allocatable_gpus_is_a_violation() {
    let live = Story::flat().added(node("n", 6)).end().end();
    assert_eq!(has_gpus(&live, "n", 6), Ok(()));
    assert_eq!(message(has_gpus(&live, "n", 8)), "Node n: 6 GPUs are allocatable, want 8");
    assert!(is_not_reached(&has_gpus(&live, "m", 6)));
}
