use conformance_contract::ruling::Broken;
use conformance_contract::target::TARGETS;
use conformance_expect as expect;
use conformance_history::testing::{Story, object, owned};
use serde_json::json;

use super::*;
use crate::codes;

fn gangs() -> Vec<Gang> {
    expect::testing::named_gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"replicas": 1}}, {"name": "b", "spec": {"replicas": 2, "minAvailable": 1}}],
        "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["b"]}],
    }}}))
}

fn pod_gang(name: &str, podgroups: &[(&str, u64, &[&str])], initialized: Option<&str>) -> Value {
    let podgroups: Vec<_> = podgroups
        .iter()
        .map(|(name, min, pods)| {
            let references: Vec<_> = pods.iter().map(|pod| json!({"namespace": "ns", "name": pod})).collect();
            json!({"name": name, "minReplicas": min, "podReferences": references})
        })
        .collect();
    let mut pod_gang = owned(object("PodGang", name), "PodCliqueSet", "w");
    pod_gang["metadata"]["labels"] =
        json!({"app.kubernetes.io/part-of": "w", "grove.io/scheduler-name": "default-scheduler"});
    pod_gang["spec"] = json!({"podgroups": podgroups});
    if let Some(status) = initialized {
        pod_gang["status"] = json!({"conditions": [{"type": "Initialized", "status": status}]});
    }
    pod_gang
}

type Podgroup = (&'static str, u64, &'static [&'static str]);

const BASE: &[Podgroup] = &[("w-0-a", 1, &[]), ("w-0-sg-0-b", 1, &[])];
const SCALED: &[Podgroup] = &[("w-0-sg-1-b", 1, &[])];

fn pod(name: &str, clique: &str) -> Value {
    json!({"kind": "Pod", "metadata": {"name": name, "namespace": "ns", "labels": {"grove.io/podclique": clique}}})
}

fn complete() -> Story {
    Story::flat()
        .added(object("PodCliqueSet", "w"))
        .added(pod_gang("w-0", BASE, None))
        .added(pod_gang("w-0-sg-0", SCALED, None))
}

fn messages_of(ruling: Ruling) -> Vec<String> {
    match ruling {
        Ok(()) => Vec::new(),
        Err(Broken::Violated(all)) => all.into_iter().map(|violation| violation.message).collect(),
        Err(Broken::NotReached(why)) => vec![why],
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_unowned_or_surplus_pod_gang_is_a_violation() {
    let history = complete().end();
    assert!(base(&history.end(), "w", &gangs()).is_ok());
    assert!(scaled(&history, &history.end(), &gangs()).is_ok());

    let none = Story::flat().added(object("PodCliqueSet", "w")).end();
    assert_eq!(messages_of(base(&none.end(), "w", &gangs())), ["PodGang w-0 does not exist"]);
    assert_eq!(messages_of(scaled(&none, &none.end(), &gangs())).len(), 2);

    let mut orphan = pod_gang("w-0", BASE, None);
    orphan["metadata"]["ownerReferences"] = json!([]);
    let orphaned = complete().modified(orphan).end();
    assert_eq!(
        messages_of(base(&orphaned.end(), "w", &gangs())),
        ["PodGang w-0 is not controlled by PodCliqueSet w"]
    );

    let beyond = complete().added(pod_gang("w-1", BASE, None)).end();
    assert_eq!(messages_of(base(&beyond.end(), "w", &gangs())), ["PodGang w-1 exists, want it absent"]);
    let of_another = complete().added(owned(object("PodGang", "v-0"), "PodCliqueSet", "v")).end();
    assert_eq!(base(&of_another.end(), "w", &gangs()), Ok(()));
}

#[rstest::rstest]
#[case::pod_clique(object("PodClique", "w-0-a"), "w-0", true)]
#[case::pod_clique_in_another_gang(object("PodClique", "w-0-a"), "w-0-sg-0", false)]
#[case::pod(pod("p", "w-0-sg-1-b"), "w-0-sg-0", true)]
#[case::pod_in_the_base(pod("p", "w-0-sg-1-b"), "w-0", false)]
#[case::of_another_set(pod("p", "v-0-a"), "v-0", true)]
fn a_label_that_does_not_name_the_pod_gang_is_a_violation(
    #[case] member: Value,
    #[case] gang: &str,
    #[case] is_satisfied: bool,
) {
    let mut labelled = member;
    labelled["metadata"]["labels"][names::POD_GANG] = json!(gang);
    let ruling = base(&complete().added(labelled).end().end(), "w", &gangs());
    assert_eq!(ruling.is_ok(), is_satisfied, "{ruling:?}");
}

#[test]
fn a_base_pod_gang_recreated_with_another_name_violates_only_gang_14() {
    let renamed =
        complete().deleted(pod_gang("w-0", BASE, None)).added(pod_gang("w-0-again", BASE, None)).end();
    assert!(keeps_its_name(&complete().end(), &gangs()).is_ok());
    assert_eq!(
        messages_of(keeps_its_name(&renamed, &gangs())),
        ["PodGang w-0-again had another name before: w-0"]
    );
    assert_eq!(messages_of(podgroups(&renamed, &gangs())), Vec::<String>::new());
    let mut of_successor = pod_gang("w-0-again", BASE, None);
    of_successor["metadata"]["ownerReferences"][0]["uid"] = json!("uid-of-a-successor");
    let recreated = complete().deleted(pod_gang("w-0", BASE, None)).added(of_successor).end();
    assert_eq!(keeps_its_name(&recreated, &gangs()), Ok(()), "its PodCliqueSet was recreated");
}

#[test]
fn a_controller_with_the_same_name_and_another_uid_is_a_violation() {
    let mut pod_gang = pod_gang("w-0", BASE, None);
    pod_gang["metadata"]["ownerReferences"][0]["uid"] = json!("uid-of-a-predecessor");
    let history = complete().modified(pod_gang).end();
    assert!(base(&history.end(), "w", &gangs()).is_err());
}

#[rstest::rstest]
#[case::as_wanted(&[("w-0-a", 1), ("w-0-sg-0-b", 1)], true)]
#[case::dropped(&[("w-0-a", 1)], false)]
#[case::another_order(&[("w-0-sg-0-b", 1), ("w-0-a", 1)], true)]
#[case::another_minimum(&[("w-0-a", 1), ("w-0-sg-0-b", 2)], false)]
fn a_base_pod_gang_with_other_podgroups_is_a_violation(
    #[case] created: &[(&str, u64)],
    #[case] is_satisfied: bool,
) {
    let created: Vec<_> = created.iter().map(|(name, min)| (*name, *min, &[][..])).collect();
    let history = Story::flat().added(pod_gang("w-0", &created, None)).end();
    assert_eq!(podgroups(&history, &gangs()).is_ok(), is_satisfied);
}

#[test]
fn a_pod_clique_in_two_pod_gangs_is_a_violation() {
    let other = || pod_gang("v-0", &[("w-0-a", 1, &[])], None);
    let both = complete().added(other());
    assert_eq!(codes(podgroups(&both.clone().end(), &gangs())), ["in-several-gangs"]);
    assert_eq!(podgroups(&both.deleted(other()).end(), &gangs()), Ok(()));
}

#[rstest::rstest]
#[case::as_wanted(&["w-0-a", "w-0-sg-0-b"], true)]
#[case::another_order(&["w-0-sg-0-b", "w-0-a"], false)]
#[case::one_missing(&["w-0-sg-0-b"], true)]
#[case::one_extra(&["w-0-z", "w-0-a", "w-0-sg-0-b"], true)]
fn podgroups_out_of_template_order_are_a_violation(#[case] created: &[&str], #[case] is_satisfied: bool) {
    let created: Vec<_> = created.iter().map(|name| (*name, 1, &[][..])).collect();
    let history = Story::flat().added(pod_gang("w-0", &created, None)).end();
    assert_eq!(in_template_order(&history, &gangs()).is_ok(), is_satisfied);
}

#[rstest::rstest]
#[case::as_before(2, &[])]
#[case::released(0, &[])]
#[case::grown(3, &["PodGang w-0 has podgroups [w-0-a (minReplicas 3), w-0-sg-0-b (minReplicas 1)], want the minReplicas of [w-0-a (minReplicas 2), w-0-sg-0-b (minReplicas 1)]"])]
#[case::lowered(1, &["PodGang w-0 has podgroups [w-0-a (minReplicas 1), w-0-sg-0-b (minReplicas 1)], want the minReplicas of [w-0-a (minReplicas 2), w-0-sg-0-b (minReplicas 1)]"])]
fn a_minimum_that_changes_is_a_violation(#[case] then: u64, #[case] wanted: &[&str]) {
    let with = |min: u64| pod_gang("w-0", &[("w-0-a", min, &[]), BASE[1]], None);
    let history = Story::flat().added(with(2)).modified(with(then)).end();
    let of_a = |since| minimums_stay(&history, &gangs(), since, |name| name == "w-0-a");
    assert_eq!(messages_of(of_a(1)), wanted);
    assert_eq!(of_a(2), Ok(()), "it changed before");
    assert_eq!(minimums_stay(&history, &gangs(), 1, |name| name != "w-0-a"), Ok(()));
}

#[test]
fn changed_podgroups_are_a_violation_and_released_minimums_are_not() {
    let released =
        complete().modified(pod_gang("w-0", &[("w-0-a", 0, &[]), ("w-0-sg-0-b", 0, &[])], None)).end();
    assert!(podgroups(&released, &gangs()).is_ok(), "minReplicas counts as of creation");
    let dropped = complete().modified(pod_gang("w-0", &[("w-0-a", 1, &[])], None)).end();
    assert_eq!(
        messages_of(podgroups(&dropped, &gangs())),
        ["PodGang w-0: its podgroups changed after creation"]
    );
}

#[test]
fn a_version_without_the_backend_label_is_a_violation() {
    assert!(labelled(&complete().end(), &gangs(), TARGETS[0]).is_ok());
    let mut without = pod_gang("w-0", BASE, None);
    without["metadata"]["labels"] = json!({});
    let history = complete().modified(without).modified(pod_gang("w-0", BASE, None)).end();
    assert_eq!(messages_of(labelled(&history, &gangs(), TARGETS[0])).len(), 1);
}

fn only_a() -> [Gang; 1] {
    [Gang { groups: gangs()[0].groups[..1].to_vec(), ..gangs()[0].clone() }]
}

fn initialized_after(steps: &[Value]) -> Vec<String> {
    messages_of(initialized(&Story::flat().all_added(steps.iter().cloned()).end(), &only_a()))
}

#[test]
fn initialized_before_every_pod_exists_and_is_referenced_is_a_violation() {
    let step = |pods: &[&str], status| pod_gang("w-0", &[("w-0-a", 1, pods)], status);
    let (pending, done) = (step(&[], Some("False")), step(&["p"], Some("True")));
    assert!(initialized_after(&[pending.clone(), pod("p", "w-0-a"), done.clone()]).is_empty());
    let too_soon = initialized_after(&[pending.clone(), done.clone(), pod("p", "w-0-a")]);
    assert_eq!(
        too_soon,
        ["PodGang w-0 became Initialized when 0 of 1 pods of PodClique w-0-a existed and were in its \
             podReferences, want all",]
    );
    let not_referred = initialized_after(&[pending.clone(), pod("p", "w-0-a"), step(&[], Some("True"))]);
    assert_eq!(not_referred.len(), 1);
    let of_another = initialized_after(&[pending.clone(), pod("p", "w-0-sg-0-b"), done.clone()]);
    assert_eq!(of_another, too_soon, "a pod of another clique does not count");
    let without = pod_gang("w-0", &[], Some("True"));
    let lacking = initialized_after(&[pending.clone(), pod("p", "w-0-a"), without]);
    assert_eq!(lacking, too_soon, "a missing podgroup references no pod");
    let never_false = initialized_after(&[pod("p", "w-0-a"), done.clone()]);
    assert_eq!(never_false, ["PodGang w-0 never had condition Initialized=False"]);
}

#[test]
fn a_gang_that_loses_initialized_is_a_violation() {
    let step = |pods: &[&str], status| pod_gang("w-0", &[("w-0-a", 1, pods)], status);
    let (pending, done) = (step(&[], Some("False")), step(&["p"], Some("True")));
    let back = [pending.clone(), pod("p", "w-0-a"), done, pending];
    assert!(initialized_after(&back).is_empty(), "it became Initialized in time");
    let staying = |steps: &[Value]| {
        messages_of(stays_initialized(&Story::flat().all_added(steps.iter().cloned()).end(), &only_a()))
    };
    assert_eq!(staying(&back), ["PodGang w-0: condition Initialized did not stay True"]);
    assert!(staying(&back[..3]).is_empty());
}

#[rstest::rstest]
#[case::all_sorted(&["p1", "p2"], true, true)]
#[case::unsorted(&["p2", "p1"], true, false)]
#[case::one_missing(&["p1"], false, true)]
#[case::one_twice(&["p1", "p2", "p2"], false, true)]
#[case::a_deleted_pod(&["p0", "p1", "p2"], false, true)]
fn references_that_are_not_the_sorted_pods_are_violations(
    #[case] referenced: &[&str],
    #[case] is_satisfied: bool,
    #[case] sorted: bool,
) {
    let pods = ["p1", "p2"].map(|name| pod(name, "w-0-a"));
    let history =
        Story::flat().all_added(pods).added(pod_gang("w-0", &[("w-0-a", 1, referenced)], None)).end();
    assert_eq!(references_are_the_pods(&history.end(), &only_a()).is_ok(), is_satisfied);
    assert_eq!(references_are_sorted(&history.end(), &only_a()).is_ok(), sorted);
}

#[test]
fn a_missing_podgroup_is_a_violation() {
    let history = Story::flat()
        .added(pod_gang("w-0", &[("w-0-sg-0-b", 1, &[])], None))
        .added(pod_gang("v-0", &[("w-0-a", 1, &["p"])], None))
        .added(pod("p", "w-0-a"))
        .end();
    assert_eq!(
        messages_of(references_are_the_pods(&history.end(), &only_a())),
        ["PodGang w-0 has no podgroup w-0-a"],
        "also where another PodGang has it"
    );
}
