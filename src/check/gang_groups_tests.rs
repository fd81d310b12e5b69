use conformance_expect as expect;
use conformance_history::testing::{Story, object, owned};
use serde_json::json;

use super::*;
use crate::codes;

fn pod_gang(podgroups: &[&str]) -> Value {
    let podgroups: Vec<_> = podgroups
        .iter()
        .map(|name| json!({"name": name, "minReplicas": 1, "podReferences": [{"namespace": "ns", "name": "p"}]}))
        .collect();
    let mut gang = object("PodGang", "g");
    gang["spec"] = json!({"podgroups": podgroups});
    gang
}

fn pod_group(name: &str, groups: &[&str]) -> Value {
    let mut group = owned(object(POD_GROUP, &format!("g-{name}")), "PodGang", "g");
    group["metadata"]["namespace"] = json!("ns");
    group["metadata"]["labels"] = json!({names::POD_GANG: "g"});
    let groups: Vec<_> = groups.iter().map(|name| format!("ns/g-{name}")).collect();
    group["metadata"]["annotations"] = json!({
        format!("{GANG}/groups"): json!(groups).to_string(),
        format!("{GANG}/total-number"): "1",
    });
    group["spec"] = json!({"minMember": 1});
    group
}

fn story(podgroups: &[&str]) -> Story {
    Story::on(Target::KOORDINATOR).added(pod_gang(podgroups))
}

#[rstest::rstest]
#[case::complete(&[("a", "a b"), ("b", "a b")], true)]
#[case::one_missing(&[("a", "a")], false)]
#[case::one_too_many(&[("a", "a b c"), ("b", "a b c"), ("c", "a b c")], false)]
#[case::not_alike(&[("a", "a b"), ("b", "b a")], false)]
#[case::incomplete(&[("a", "a"), ("b", "a")], false)]
#[case::twice(&[("a", "a b b"), ("b", "a b b")], false)]
fn each_pod_group_must_list_exactly_the_pod_groups_of_its_gang(
    #[case] groups: &[(&str, &str)],
    #[case] is_satisfied: bool,
) {
    let list = |list: &str| list.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let group = |(name, listed): &(&str, &str)| {
        let listed = list(listed);
        pod_group(name, &listed.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let history = story(&["a", "b"]).all_added(groups.iter().map(group)).end();
    assert_eq!(complete(&history.end(), "g").is_ok(), is_satisfied);
}

fn changed(steps: fn(Story) -> Story) -> Ruling {
    let ab = ["a", "b"].map(|name| pod_group(name, &["a", "b"]));
    let story = story(&["a", "b"]).all_added(ab).modified(pod_gang(&["b", "c"]));
    created_before_pruned(&steps(story).end(), "g")
}

#[test]
fn groups_are_pruned_after_the_others_were_created_and_updated() {
    let ruling = changed(|story| {
        let updated = story.added(pod_group("c", &["b", "c"])).modified(pod_group("b", &["b", "c"]));
        updated.deleted(pod_group("a", &["a", "b"]))
    });
    assert_eq!(ruling, Ok(()));
    assert!(matches!(changed(|story| story), Err(Broken::NotReached(_))));
}

#[rstest::rstest]
#[case::pruned_first(|story: Story| story.deleted(pod_group("a", &["a", "b"])).added(pod_group("c", &["b", "c"])))]
#[case::pruned_before_the_change(|story: Story| {
    story.added(pod_group("c", &["b", "c"])).deleted(pod_group("a", &["a", "b"])).modified(pod_group("b", &["b", "c"]))
})]
#[case::replaced(|story: Story| story.deleted(pod_group("b", &["a", "b"])).added(pod_group("b", &["b", "c"])))]
fn a_group_pruned_before_the_others_are_complete_is_a_violation(#[case] steps: fn(Story) -> Story) {
    assert!(matches!(changed(steps), Err(Broken::Violated(_))));
}

#[test]
fn a_pod_group_is_not_deleted_before_its_pod_gang_exists() {
    let start = || Story::on(Target::KOORDINATOR);
    let group = pod_group("a", &["a"]);
    let after = start().added(pod_gang(&["a"])).added(group.clone()).deleted(group.clone()).end();
    assert_eq!(created_before_pruned(&after, "g"), Ok(()));
    let before = start().added(group.clone()).deleted(group).added(pod_gang(&["a"])).end();
    assert_eq!(codes(created_before_pruned(&before, "g")), ["group-before-gang"]);
}

/// Checks PodClique `g-0-a` with one pod, whose PodGroup has this name.
fn named(name: &str, clique: &str, change: fn(&mut Value)) -> Ruling {
    ruling_with_loose_pod(name, clique, change, None)
}

/// With `loose`, the PodClique has another pod, with these gates and without a PodGroup.
fn ruling_with_loose_pod(name: &str, clique: &str, change: fn(&mut Value), loose: Option<Value>) -> Ruling {
    let set = json!({"metadata": {"name": "g"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": clique, "spec": {"replicas": 1}}]}}});
    let gangs = expect::testing::named_gangs(&set);
    let mut gang = pod_gang(&[&gangs[0].groups[0].clique]);
    gang["metadata"]["name"] = json!("g-0");
    let mut group = owned(pod_group("a", &[]), "PodGang", "g-0");
    group["metadata"]["name"] = json!(name);
    group["metadata"]["labels"][names::POD_GANG] = json!("g-0");
    change(&mut group);
    let labels =
        json!({names::POD_CLIQUE: gangs[0].groups[0].clique, "pod-group.scheduling.sigs.k8s.io": name});
    let pod = json!({"kind": "Pod", "metadata": {"name": "p", "labels": labels}});
    let loose = loose.map(|gates| {
        let labels = json!({names::POD_CLIQUE: gangs[0].groups[0].clique});
        json!({"kind": "Pod", "metadata": {"name": "q", "labels": labels}, "spec": {"schedulingGates": gates}})
    });
    let history = Story::on(Target::KOORDINATOR).all_added([gang, group, pod].into_iter().chain(loose)).end();
    named_by_pods(&history.end(), &gangs)
}

#[test]
fn a_released_pod_that_names_no_group_breaks_the_precondition() {
    let with_gates = |gates: Value| ruling_with_loose_pod("g-0-g-0-a", "a", |_| {}, Some(gates));
    assert_eq!(with_gates(json!([{"name": names::GATE}])), Ok(()));
    assert!(matches!(with_gates(json!([])), Err(Broken::Precondition { clause: "KOORD-02", .. })));
}

const LONG: &str = "a-clique-whose-name-together-with-that-of-its-pod-gang-is-long";

#[test]
fn a_name_that_is_neither_exact_nor_truncated_with_a_hash_is_a_violation() {
    assert_eq!(named("g-0-g-0-a", "a", |_| {}), Ok(()));
    let truncated = format!("g-0-g-0-{}-0a1b2c3d", &LONG[..46]);
    assert_eq!(named(&truncated, LONG, |_| {}), Ok(()));
    assert!(named(&format!("g-0-g-0-{}", &LONG[..55]), LONG, |_| {}).is_err(), "truncated without a hash");
    assert!(named("g-0-a", "a", |_| {}).is_err());
}

#[rstest::rstest]
#[case::owner(|group: &mut Value| group["metadata"]["ownerReferences"] = json!([]))]
#[case::label(|group: &mut Value| group["metadata"]["labels"] = json!({}))]
#[case::size(|group: &mut Value| group["spec"]["minMember"] = json!(2))]
#[case::number(|group: &mut Value| group["metadata"]["annotations"] = json!({}))]
#[case::name(|group: &mut Value| group["metadata"]["name"] = json!("other"))]
fn a_group_with_one_wrong_field_is_a_violation(#[case] change: fn(&mut Value)) {
    assert!(matches!(named("g-0-g-0-a", "a", change), Err(Broken::Violated(_))));
}

/// Checks pods of PodClique `g-0-LONG` that name these PodGroups. Only the PodGroups in `existing` exist.
fn long(named: [&str; 2], existing: &[&str]) -> Ruling {
    let set = json!({"metadata": {"name": "g"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": LONG, "spec": {"replicas": 2}}]}}});
    let gangs = expect::testing::named_gangs(&set);
    let pod = |index: usize| {
        let labels = json!({
            names::POD_CLIQUE: gangs[0].groups[0].clique, "pod-group.scheduling.sigs.k8s.io": named[index],
        });
        json!({"kind": "Pod", "metadata": {"name": format!("p{index}"), "labels": labels}})
    };
    let groups = existing.iter().map(|name| object(POD_GROUP, name));
    let history = Story::on(Target::KOORDINATOR).all_added([pod(0), pod(1)].into_iter().chain(groups)).end();
    long_names_are_truncated(&history.end(), &gangs)
}

#[test]
fn pods_that_do_not_name_one_truncated_group_are_a_violation() {
    let ending = |hash: &str| format!("g-0-g-0-{}-{hash}", &LONG[..46]);
    let (truncated, other, whole) = (ending("0a1b2c3d"), ending("4e5f6a7b"), format!("g-0-g-0-{LONG}"));
    let (truncated, other, whole) = (truncated.as_str(), other.as_str(), whole.as_str());
    assert_eq!(long([truncated, truncated], &[truncated]), Ok(()));
    assert!(
        matches!(long([truncated, other], &[truncated, other]), Err(Broken::Violated(_))),
        "pods name two"
    );
    assert!(
        matches!(long([truncated, truncated], &[other]), Err(Broken::Violated(_))),
        "the named group does not exist"
    );
    assert!(matches!(long([whole, whole], &[whole]), Err(Broken::Violated(_))), "not truncated");
    let short = long_names_are_truncated(&Live::default(), &[]);
    assert!(matches!(short, Err(Broken::NotReached(_))));
}
