use conformance_history::testing::{Story, object};

use super::*;

const BASE: [(&str, usize); 2] = [("w-0-a", 2), ("w-0-sg-0-b", 1)];
const SCALED: [(&str, usize); 1] = [("w-0-sg-1-b", 1)];

fn subgroup(name: &str, parent: &str, field: &str, least: u64) -> Value {
    let mut found = json!({"name": name, field: least});
    if !parent.is_empty() {
        found["parent"] = parent.into();
    }
    found
}

/// One root above a base PodGang and two scaled PodGangs. The root does not require the scaled ones.
fn aggregate() -> Value {
    json!({"minSubGroup": 2, "subGroups": [
        subgroup("0-others", "", "minSubGroup", 2),
        subgroup("may-1", "0-others", "minSubGroup", 0),
        subgroup("gang-1", "may-1", "minSubGroup", 1),
        subgroup("leaf-sg-1-b", "gang-1", "minMember", 1),
        subgroup("may-2", "0-others", "minSubGroup", 0),
        subgroup("gang-2", "may-2", "minSubGroup", 1),
        subgroup("leaf-sg-2-b", "gang-2", "minMember", 1),
        subgroup("1-base", "", "minSubGroup", 2),
        subgroup("leaf-a", "1-base", "minMember", 2),
        subgroup("rack", "1-base", "minSubGroup", 1),
        subgroup("leaf-sg-0-b", "rack", "minMember", 1),
    ]})
}

fn one_per_gang() -> Value {
    json!({"minMember": 3, "subGroups": [
        subgroup("w-0-a", "", "minMember", 2),
        subgroup("rack", "", "minMember", 1),
        subgroup("w-0-sg-0-b", "rack", "minMember", 1),
    ]})
}

fn faults(spec: Value, podgroups: &[(&str, usize)], is_base: bool, leaf_of: fn(&str) -> String) -> String {
    let pod = |(clique, _): &(&str, usize)| {
        let mut pod = object("Pod", clique);
        pod["metadata"]["labels"] = json!({"grove.io/podclique": clique, SUBGROUP: leaf_of(clique)});
        pod
    };
    let live = Story::on(Target::KAI).all_added(podgroups.iter().map(pod)).end().end();
    let podgroups: Vec<_> = podgroups.iter().map(|(name, min)| ((*name).to_owned(), *min)).collect();
    let pod_gang = object("PodGang", "g");
    let gang = CreatedGang { pod_gang: &pod_gang, podgroups: &podgroups, is_base, live: &live };
    let wanted = Kai.resources("g", &podgroups).remove(0);
    Kai.faults(gang, &wanted, &json!({"spec": spec})).join("; ")
}

fn of_replica(spec: Value, podgroups: &[(&str, usize)], is_base: bool) -> String {
    faults(spec, podgroups, is_base, |clique| clique.replace("w-0", "leaf"))
}

#[test]
fn both_shapes_match() {
    assert_eq!(faults(one_per_gang(), &BASE, true, str::to_owned), "");
    assert_eq!(of_replica(aggregate(), &BASE, true), "");
    assert_eq!(of_replica(aggregate(), &SCALED, false), "");
}

#[test]
fn a_replica_without_scaled_gangs_matches() {
    let spec = json!({"minSubGroup": 1, "subGroups": aggregate()["subGroups"].as_array().unwrap()[7..]});
    assert_eq!(of_replica(spec, &BASE, true), "");
}

/// A change of the aggregate, and the expected faults for the base gang and for the scaled gang.
#[rstest::rstest]
#[case::less_than_all("/subGroups/7/minSubGroup", json!(1), "subgroup 1-base does not require all of leaf-a, rack", "")]
#[case::another_size("/subGroups/8/minMember", json!(1), "w-0-a.minMember is 1, want 2", "")]
#[case::a_scaled_one_is_needed("/subGroups/1/minSubGroup", json!(1), "the PodGroup requires more than subgroup 1-base", "")]
#[case::a_scaled_one_more_is_needed(
    "/subGroups/4/minSubGroup",
    json!(1),
    "the PodGroup requires more than subgroup 1-base",
    "subgroup 0-others requires more than subgroup may-1"
)]
#[case::in_the_base(
    "/subGroups/3/parent",
    json!("1-base"),
    "subgroup 1-base also contains leaf-sg-1-b",
    "subgroup 1-base requires more than subgroup leaf-sg-1-b"
)]
#[case::no_such_leaf("/subGroups/3/name", json!("other"), "", "subgroup leaf-sg-1-b of podgroup w-0-sg-1-b does not exist")]
fn a_tree_that_requires_too_much_or_too_little_has_faults(
    #[case] field: &str,
    #[case] value: Value,
    #[case] of_base: &str,
    #[case] of_scaled: &str,
) {
    let mut spec = aggregate();
    *spec.pointer_mut(field).unwrap() = value;
    for (podgroups, is_base, wanted) in [(&BASE[..], true, of_base), (&SCALED[..], false, of_scaled)] {
        let found = of_replica(spec.clone(), podgroups, is_base);
        assert!(
            found == wanted || !wanted.is_empty() && found.starts_with(wanted),
            "{podgroups:?}: {found:?}"
        );
    }
}

#[rstest::rstest]
#[case::none(json!({}), Some("default-queue"))]
#[case::label(json!({"labels": {(QUEUE.0): "mine"}}), Some("mine"))]
#[case::annotation(json!({"annotations": {(QUEUE.0): "mine"}}), None)]
fn a_queue_that_the_manifest_names_is_kept(#[case] metadata: Value, #[case] label: Option<&str>) {
    let mut pcs = json!({"metadata": metadata, "spec": {"template": {"cliques": []}}});
    Kai.assign(&mut pcs);
    assert_eq!(pcs["metadata"]["labels"][QUEUE.0].as_str(), label);
}

#[rstest::rstest]
#[case::refused("UnschedulableOnNodePool", "True", true)]
#[case::no_longer_refused("UnschedulableOnNodePool", "False", false)]
#[case::another_condition("Ready", "True", false)]
fn only_an_unschedulable_pod_group_is_refused(
    #[case] of_type: &str,
    #[case] status: &str,
    #[case] is_refused: bool,
) {
    assert_eq!(Kai.is_refusal(&json!({"type": of_type, "status": status})), is_refused);
}

#[test]
fn one_root_for_all_leaves_requires_them_all() {
    let spec = json!({"subGroups": [
        subgroup("leaf-a", "", "minMember", 2),
        subgroup("leaf-sg-0-b", "", "minMember", 1),
        subgroup("leaf-sg-1-b", "", "minMember", 1),
    ]});
    assert_eq!(of_replica(spec.clone(), &BASE, true), "the PodGroup also contains leaf-sg-1-b");
    assert_eq!(of_replica(spec, &SCALED, false), "", "a scaled gang may require its base");
}
