use conformance_contract::names;
use conformance_history::SharedMark;
use conformance_history::testing::{Story, object, owned};
use serde_json::json;

use super::*;
use crate::{codes, messages};

const POD_GROUP: &str = "PodGroup.scheduling.volcano.sh";

fn set() -> Value {
    json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {"cliques": [
        {"name": "a", "spec": {"replicas": 2}}, {"name": "b", "spec": {"replicas": 2}},
    ]}}})
}

fn pod(clique: &str, index: usize, node: Option<&str>) -> Value {
    let mut pod = object("Pod", &format!("{clique}-{index}"));
    pod["metadata"]["labels"] = json!({names::POD_CLIQUE: clique, names::POD_GANG: "w-0"});
    pod["metadata"]["annotations"] = json!({"scheduling.volcano.sh/group-name": "w-0"});
    pod["spec"] = json!({"nodeName": node});
    pod
}

fn pod_gang(podgroups: &[&str]) -> Value {
    let mut found = owned(object("PodGang", "w-0"), "PodCliqueSet", "w");
    found["spec"]["podgroups"] =
        podgroups.iter().map(|name| json!({"name": name, "minReplicas": 2})).collect();
    found
}

fn pod_group(min: u64) -> Value {
    let mut found = owned(object(POD_GROUP, "w-0"), "PodGang", "w-0");
    found["spec"] = json!({"minMember": min});
    found
}

fn gangs(cliques: usize) -> Vec<Gang> {
    let mut pcs = set();
    pcs["spec"]["template"]["cliques"].as_array_mut().unwrap().truncate(cliques);
    conformance_expect::resolver::resolved(
        &live(&[pod_gang(&["w-0-a", "w-0-b"])]),
        conformance_expect::gangs(&pcs),
    )
}

fn live(objects: &[Value]) -> Live {
    Story::on(Target::VOLCANO).all_added(objects.iter().cloned()).end().end()
}

fn messages_of(ruling: Ruling) -> Vec<String> {
    if ruling == Ok(()) { Vec::new() } else { messages(ruling) }
}

#[rstest::rstest]
#[case::left(&["w-0-a"], 2, false, &[])]
#[case::listed(&["w-0-a", "w-0-b"], 2, false, &["PodGang w-0 lists PodClique w-0-b, which is scaled to 0"])]
#[case::required(&["w-0-a"], 4, false, &["PodGroup.scheduling.volcano.sh w-0 requires 4 pods, want 2"])]
#[case::with_a_pod(
    &["w-0-a"], 2, true, &["Pod w-0-b-0 exists, want it absent because its PodClique is scaled to 0"]
)]
fn an_idle_clique_that_is_still_in_the_gang_is_a_violation(
    #[case] listed: &[&str],
    #[case] min: u64,
    #[case] has_pod: bool,
    #[case] faults: &[&str],
) {
    let mut objects =
        vec![pod_gang(listed), pod_group(min), pod("w-0-a", 0, Some("n")), pod("w-0-a", 1, Some("n"))];
    objects.extend(has_pod.then(|| pod("w-0-b", 0, Some("n"))));
    let live = live(&objects);
    assert_eq!(messages_of(has_left_gang(Target::VOLCANO, &live, &gangs(1), &["w-0-b"])), faults);
}

#[rstest::rstest]
#[case::returned(&["w-0-a", "w-0-b"], 4, &[])]
#[case::not_listed(
    &["w-0-a"], 4,
    &[r#"PodGang w-0 lists podgroups [("w-0-a", Some(2))], want [("w-0-a", Some(2)), ("w-0-b", Some(2))]"#]
)]
#[case::not_required(&["w-0-a", "w-0-b"], 2, &["PodGroup.scheduling.volcano.sh w-0 requires 2 pods, want 4"])]
fn a_clique_scaled_up_again_must_be_in_the_gang(
    #[case] listed: &[&str],
    #[case] min: u64,
    #[case] faults: &[&str],
) {
    let pods = ["w-0-a", "w-0-b"].map(|clique| pod(clique, 0, Some("n")));
    let live = live(&[vec![pod_gang(listed), pod_group(min)], pods.to_vec()].concat());
    assert_eq!(messages_of(has_returned(Target::VOLCANO, &live, &gangs(2))), faults);
}

#[rstest::rstest]
#[case::idle(Some("False"), 1, &[])]
#[case::breached(Some("True"), 1, &["idle-reported-as-breached"])]
#[case::unavailable(Some("False"), 0, &["idle-reported-as-breached"])]
#[case::deleted(None, 1, &["idle-object-deleted"])]
fn an_idle_clique_reported_as_breached_is_a_violation(
    #[case] breached: Option<&str>,
    #[case] available: u64,
    #[case] wanted: &[&str],
) {
    let clique = breached.map(|status| {
        let mut clique = object("PodClique", "w-0-b");
        clique["status"]["conditions"] = json!([{"type": "MinAvailableBreached", "status": status}]);
        clique
    });
    let mut pcs = object("PodCliqueSet", "w");
    pcs["status"] = json!({"replicas": 1, "availableReplicas": available});
    let objects: Vec<_> = clique.into_iter().chain([pcs]).collect();
    assert_eq!(codes(is_no_breach(&live(&objects), ("PodClique", "w-0-b"), "w")), wanted);
}

#[test]
fn a_pod_bound_although_not_all_fit_is_a_violation() {
    let story = Story::on(Target::VOLCANO)
        .added(pod("w-0-b", 0, Some("n")))
        .mark(SharedMark::Scaled, json!({}))
        .added(pod("w-0-b", 1, None));
    let waits = story.end();
    let bound = |node| Story::on(Target::VOLCANO).added(pod("w-0-b", 1, node)).end();
    assert_eq!(none_bound(&waits, &["w-0-b"], 1, 3), Ok(()));
    let found = messages(none_bound(&bound(Some("n")), &["w-0-b"], 0, 1));
    assert_eq!(found, ["PodCliques w-0-b had 1 pod bound, want 0 because the pods do not all fit"]);
    assert_eq!(none_bound(&bound(None), &["w-0-b"], 0, 1), Ok(()));
    assert_eq!(none_bound(&bound(Some("n")), &["w-0-a"], 0, 1), Ok(()), "of another PodClique");
    assert_eq!(none_bound(&bound(Some("n")), &["w-0-b"], 0, 0), Ok(()), "it was bound later");
}
