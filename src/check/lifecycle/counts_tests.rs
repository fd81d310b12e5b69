use conformance_history::testing::{Story, object};

use super::*;

fn pod(name: &str, clique: &str, state: &str) -> Value {
    let mut pod = object("Pod", name);
    pod["metadata"]["labels"] = json!({names::POD_CLIQUE: clique, names::POD_TEMPLATE_HASH: "h"});
    match state {
        "gated" => pod["spec"]["schedulingGates"] = json!([{"name": names::GATE}]),
        "pending" => {}
        _ => pod["spec"]["nodeName"] = json!("n"),
    }
    let started = json!([{"started": true, "ready": false}]);
    match state {
        "ready" => pod["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        "broken" => pod["status"] = json!({"containerStatuses": started}),
        "terminating" => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        "old" => pod["metadata"]["labels"][names::POD_TEMPLATE_HASH] = json!("g"),
        _ => {}
    }
    pod
}

fn clique(name: &str, min: usize, replicas: usize) -> Clique {
    Clique { name: name.into(), min, replicas }
}

fn pclq(name: &str, replicas: usize, status: Value) -> Value {
    let mut pclq = object("PodClique", name);
    pclq["metadata"]["labels"] = json!({names::POD_TEMPLATE_HASH: "h"});
    pclq["spec"]["replicas"] = json!(replicas);
    pclq["status"] = status;
    pclq
}

fn live(objects: Vec<Value>) -> Live {
    Story::flat().all_added(objects).end().end()
}

#[test]
fn a_clique_with_wrong_counts_has_a_fault() {
    let states = ["gated", "pending", "bound", "ready", "broken", "terminating", "old"];
    let pods = states.iter().map(|state| pod(state, "c", state));
    let right = json!({"replicas": 6, "scheduledReplicas": 4, "readyReplicas": 1, "scheduleGatedReplicas": 1,
        "updatedReplicas": 5});
    let with = |status| live(pods.clone().chain([pclq("c", 6, status)]).collect());
    assert!(of_clique(&with(right.clone()), &clique("c", 1, 6)).is_empty());
    let mut wrong = right;
    wrong["scheduledReplicas"] = json!(5);
    let faults = of_clique(&with(wrong), &clique("c", 1, 6));
    assert_eq!(faults, ["PodClique c: scheduledReplicas is 5, want 4"]);
}

#[rstest::rstest]
#[case::unbound(&["pending", "ready"], "True", "ScheduledReplicasBelowMinAvailable")]
#[case::unready(&["broken", "ready"], "True", "InsufficientReadyPods")]
#[case::starting(&["bound", "ready"], "False", "SufficientReadyPods")]
#[case::terminating(&["terminating", "ready"], "True", "ScheduledReplicasBelowMinAvailable")]
fn a_wrong_breach_condition_is_a_fault(#[case] states: &[&str], #[case] status: &str, #[case] reason: &str) {
    let faults = |status: &str, reason: &str| {
        let reported = json!({"conditions": [{"type": BREACHED, "status": status, "reason": reason}]});
        let pods = states.iter().map(|state| pod(state, "c", state));
        breach_of_clique(&live(pods.chain([pclq("c", 2, reported)]).collect()), &clique("c", 2, 2))
    };
    assert!(faults(status, reason).is_empty(), "{:?}", faults(status, reason));
    let other = if status == "True" { "False" } else { "True" };
    assert_eq!(faults(other, "Any").len(), 1);
}

/// A PodCliqueSet with a scaling group. Each of its replicas has a pod in one of the states.
fn with_group(states: &[&str], counts: Value, set: Value) -> (Value, Live) {
    let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "b", "spec": {}}],
        "podCliqueScalingGroups": [{"name": "sg", "replicas": states.len(), "cliqueNames": ["b"]}],
    }}});
    let member = |index: usize| format!("w-0-sg-{index}-b");
    let pods =
        states.iter().enumerate().map(|(index, state)| pod(&format!("p{index}"), &member(index), state));
    let pclqs = (0..states.len()).map(|index| pclq(&member(index), 1, Value::Null));
    let mut pcsg = object("PodCliqueScalingGroup", "w-0-sg");
    (pcsg["spec"]["replicas"], pcsg["status"]) = (json!(states.len()), counts);
    let mut found = object("PodCliqueSet", "w");
    (found["spec"]["replicas"], found["status"]) = (json!(1), set);
    (pcs, live(pods.chain(pclqs).chain([pcsg, found]).collect()))
}

fn grouped(states: &[&str], counts: Value, set: Value) -> (Vec<String>, Vec<String>) {
    let (pcs, live) = with_group(states, counts, set);
    (of_group(&live, &replicas(&pcs)[0].groups[0]), of_set(&live, &pcs))
}

#[rstest::rstest]
#[case::too_few(&["broken", "pending"], "True", "InsufficientAvailablePodCliqueScalingGroupReplicas", true)]
#[case::without_a_reason(&["broken", "pending"], "True", "InsufficientReadyPods", false)]
#[case::not_reported(&["broken", "pending"], "False", "Any", false)]
#[case::enough(&["broken", "ready"], "False", "Any", true)]
#[case::wrongly_reported(
    &["broken", "ready"], "True", "InsufficientAvailablePodCliqueScalingGroupReplicas", false
)]
fn a_group_with_a_wrong_breach_condition_has_a_fault(
    #[case] states: &[&str],
    #[case] status: &str,
    #[case] reason: &str,
    #[case] is_right: bool,
) {
    let condition = json!({"type": BREACHED, "status": status, "reason": reason});
    let (pcs, live) = with_group(states, json!({"conditions": [condition]}), Value::Null);
    let faults = breach_of_group(&live, &replicas(&pcs)[0].groups[0]);
    assert_eq!(faults.is_empty(), is_right, "{faults:?}");
}

#[rstest::rstest]
#[case(&["ready", "ready"], [2, 2, 2, 2], [1, 1, 1])]
#[case(&["ready", "bound"], [2, 2, 1, 1], [1, 1, 0])]
#[case(&["bound", "pending"], [2, 1, 0, 0], [1, 0, 0])]
fn scaling_groups_and_pod_clique_sets_with_wrong_counts_have_faults(
    #[case] states: &[&str],
    #[case] group: [usize; 4],
    #[case] set: [usize; 3],
) {
    let fields = ["replicas", "scheduledReplicas", "availableReplicas", "updatedReplicas"];
    let counts: Value = fields
        .iter()
        .zip(group)
        .map(|(field, n)| ((*field).to_owned(), json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let of_set = json!({"replicas": set[0], "availableReplicas": set[1], "updatedReplicas": set[2]});
    let (group, set) = grouped(states, counts, of_set);
    assert!(group.is_empty() && set.is_empty(), "{group:?} {set:?}");
    let (group, set) = grouped(states, json!({"availableReplicas": 7}), json!({"availableReplicas": 7}));
    assert!(!group.is_empty() && !set.is_empty());
}

#[rstest::rstest]
#[case::in_time(3, 2, "True", true)]
#[case::late(6, 2, "True", false)]
#[case::one_less(3, 1, "True", false)]
#[case::not_reported_as_scheduled(3, 2, "False", false)]
fn a_binding_that_the_status_reports_late_is_a_violation(
    #[case] after: i64,
    #[case] count: usize,
    #[case] scheduled: &str,
    #[case] is_satisfied: bool,
) {
    let reporting = |count: usize, scheduled: &str| {
        let conditions = json!([{"type": "PodCliqueScheduled", "status": scheduled}]);
        pclq("c", 2, json!({"scheduledReplicas": count, "conditions": conditions}))
    };
    let pods = [pod("a", "c", "pending"), pod("b", "c", "pending")];
    let created = Story::flat().added(reporting(0, "False")).all_added(pods);
    let bound = created.modified(pod("a", "c", "bound")).modified(pod("b", "c", "bound"));
    let reported = bound.later(after).modified(reporting(count, scheduled)).later(9);
    let found = binding_is_reported(&reported.added(object("Node", "n")).end(), &clique("c", 2, 2));
    assert_eq!(found.is_ok(), is_satisfied, "{found:?}");
    if !is_satisfied {
        assert!(crate::message(found).contains("PodClique c had 2 pods bound, but"));
    }
    let never = binding_is_reported(&Story::flat().added(reporting(0, "False")).end(), &clique("c", 2, 2));
    assert!(matches!(never, Err(Broken::NotReached(_))));
}

#[test]
fn a_number_of_bound_pods_that_lasts_less_than_the_limit_is_not_checked() {
    let reporting = pclq("c", 1, json!({"scheduledReplicas": 0}));
    let created = Story::flat().added(reporting).added(pod("a", "c", "pending"));
    let bound = || created.clone().modified(pod("a", "c", "bound"));
    let check = |story: Story| binding_is_reported(&story.end(), &clique("c", 1, 1));
    let watched = |story: Story| story.later(6).added(object("Node", "n"));
    assert!(matches!(check(watched(bound())), Err(Broken::Violated(_))));
    assert!(matches!(check(bound()), Err(Broken::NotReached(_))), "the history ends");
    assert_eq!(check(watched(bound().later(1).deleted(pod("a", "c", "bound")))), Ok(()), "it is lost again");
}

#[rstest::rstest]
#[case::observed(2, true)]
#[case::behind(1, false)]
fn only_statuses_of_the_set_must_observe_their_generation(#[case] observed: u64, #[case] is_right: bool) {
    let with_generations = |mut found: Value, generation: u64| {
        found["metadata"]["generation"] = json!(generation);
        found
    };
    let mut set = object("PodCliqueSet", "w");
    set["status"]["observedGeneration"] = json!(1);
    let mut own = pclq("w-0-a", 1, json!({"observedGeneration": observed}));
    own["metadata"]["labels"][names::PART_OF] = json!("w");
    let other = pclq("v-0-a", 1, json!({"observedGeneration": 1}));
    let all = vec![with_generations(set, 1), with_generations(own, 2), with_generations(other, 2)];
    assert_eq!(is_observed(&live(all), "w"), is_right);
}

#[rstest::rstest]
#[case(3, 2, 2, 1, true)]
#[case(3, 2, 3, 0, false)]
#[case(3, 4, 0, 0, false)]
#[case(3, 2, 0, 2, false)]
fn counts_that_contradict_each_other_are_a_violation(
    #[case] replicas: usize,
    #[case] scheduled: usize,
    #[case] ready: usize,
    #[case] gated: usize,
    #[case] fine: bool,
) {
    let status = json!({"replicas": replicas, "scheduledReplicas": scheduled, "readyReplicas": ready,
        "scheduleGatedReplicas": gated});
    assert_eq!(counts_are_consistent(&Story::flat().added(pclq("c", 3, status)).end()).is_ok(), fine);
}
