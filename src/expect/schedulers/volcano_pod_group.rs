//! Compares a PodGroup of Volcano with the podgroups of its PodGang.

use std::collections::BTreeSet;

use conformance_history::Pod;
use serde_json::{Value, json};

use super::{CreatedGang, Resource, differs, list, text};

/// Compares the minimums and subgroup policies of a PodGroup with the podgroups and their pods.
pub(super) fn faults(gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
    let spec = &found["spec"];
    let mut faults: Vec<_> =
        differs("minMember", &spec["minMember"], &json!(wanted.size)).into_iter().collect();
    let policies = list(&spec["subGroupPolicy"]);
    if policies.len() != gang.podgroups.len() {
        faults.push(format!(
            "the PodGroup has {} subgroup policies, want {}",
            policies.len(),
            gang.podgroups.len()
        ));
    }
    for (podgroup, min) in gang.podgroups {
        let is_of_podgroup = |pod: &Pod<'_>| pod.pod_clique() == Some(podgroup);
        let own: Vec<_> = gang.live.pods().filter(is_of_podgroup).collect();
        // Subgroup policies may have any name, so the pods that they select identify them. For a podgroup
        // without pods, the name of the policy counts.
        let is_for = |policy: &&Value| {
            if own.is_empty() {
                policy["name"] == podgroup.as_str()
            } else {
                own.iter().any(|pod| selects(&policy["labelSelector"], *pod))
            }
        };
        let Some(policy) = policies.iter().find(is_for) else {
            faults.push(format!("no subgroup policy selects the pods of podgroup {podgroup}"));
            continue;
        };
        let others =
            gang.live.pods().filter(|pod| !is_of_podgroup(pod) && selects(&policy["labelSelector"], *pod));
        faults.extend(others.map(|pod| {
            format!("the subgroup policy of podgroup {podgroup} also selects Pod {}", pod.name())
        }));
        let left_out = own.iter().filter(|pod| !selects(&policy["labelSelector"], **pod));
        faults.extend(left_out.map(|pod| {
            format!("the subgroup policy of podgroup {podgroup} does not select Pod {}", pod.name())
        }));
        // Volcano forms one subgroup per value of these labels, but a podgroup must be a single subgroup.
        for key in list(&policy["matchLabelKeys"]) {
            let values: BTreeSet<_> = own.iter().map(|pod| pod.label(text(key))).collect();
            if values.len() > 1 {
                faults.push(format!(
                    "the pods of podgroup {podgroup} have different values of {}, want one",
                    text(key)
                ));
            }
        }
        for (field, wanted) in [("subGroupSize", json!(min)), ("minSubGroups", json!(1))] {
            faults.extend(differs(&format!("{podgroup}.{field}"), &policy[field], &wanted));
        }
    }
    faults
}

/// Whether a label selector selects a pod. An empty selector selects none, because it defines no subgroup.
fn selects(selector: &Value, pod: Pod<'_>) -> bool {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut labels = labels.map(|(key, value)| pod.label(key) == value.as_str());
    let expressions = list(&selector["matchExpressions"]);
    let is_satisfied = |expression: &Value| {
        let value = pod.label(text(&expression["key"]));
        let listed = || list(&expression["values"]).iter().any(|listed| listed.as_str() == value);
        match text(&expression["operator"]) {
            "In" => value.is_some() && listed(),
            "NotIn" => value.is_none() || !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    };
    let is_empty = selector["matchLabels"].is_null() && expressions.is_empty();
    !is_empty && labels.all(|is_equal| is_equal) && expressions.iter().all(is_satisfied)
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_contract::target::Target;
    use conformance_history::testing::Story;

    use super::*;
    use crate::schedulers::Expectations;
    use crate::schedulers::volcano::Volcano;

    fn pod(name: &str, clique: &str) -> Value {
        let labels = json!({names::POD_CLIQUE: clique, "own": name});
        json!({"kind": "Pod", "metadata": {"name": name, "labels": labels}})
    }

    fn policy(clique: &str, size: usize) -> Value {
        let selector = json!({"matchLabels": {names::POD_CLIQUE: clique}});
        json!({"name": clique, "subGroupSize": size, "minSubGroups": 1, "labelSelector": selector})
    }

    fn faults_with(pods: Vec<Value>, change: impl FnOnce(&mut Value)) -> Vec<String> {
        let podgroups = [("a".to_owned(), 2), ("b".to_owned(), 1)];
        let live = Story::on(Target::VOLCANO).all_added(pods).end().end();
        let mut spec = json!({"minMember": 3, "subGroupPolicy": [policy("a", 2), policy("b", 1)]});
        change(&mut spec);
        let pod_gang = json!({"metadata": {"name": "g"}});
        let gang = CreatedGang { pod_gang: &pod_gang, podgroups: &podgroups, is_base: true, live: &live };
        Volcano.faults(gang, &Volcano.resources("g", &podgroups)[0], &json!({"spec": spec}))
    }

    fn faults(change: impl FnOnce(&mut Value)) -> Vec<String> {
        faults_with(vec![pod("a0", "a"), pod("a1", "a"), pod("b0", "b")], change)
    }

    #[rstest::rstest]
    #[case::unchanged("/minMember", json!(3), &[])]
    #[case::minimum("/minMember", json!(2), &["minMember is 2, want 3"])]
    #[case::size("/subGroupPolicy/0/subGroupSize", json!(1), &["a.subGroupSize is 1, want 2"])]
    #[case::several_subgroups("/subGroupPolicy/1/minSubGroups", json!(2), &["b.minSubGroups is 2, want 1"])]
    #[case::a_policy_more(
        "/subGroupPolicy", json!([policy("a", 2), policy("b", 1), policy("c", 1)]),
        &["the PodGroup has 3 subgroup policies, want 2"]
    )]
    #[case::another_order_and_name(
        "/subGroupPolicy", json!([policy("b", 1), {"name": "x", "subGroupSize": 2, "minSubGroups": 1,
            "labelSelector": {"matchLabels": {names::POD_CLIQUE: "a"}}}]),
        &[]
    )]
    fn a_wrong_pod_group_is_a_fault(#[case] at: &str, #[case] value: Value, #[case] wanted: &[&str]) {
        assert_eq!(faults(|spec| *spec.pointer_mut(at).expect("a field") = value), wanted);
    }

    #[rstest::rstest]
    #[case::listed(json!({"matchExpressions": [{"key": "own", "operator": "In", "values": ["a0", "a1"]}]}), &[])]
    #[case::not_listed(
        json!({"matchExpressions": [{"key": names::POD_CLIQUE, "operator": "NotIn", "values": ["b"]}]}), &[]
    )]
    #[case::both(
        json!({
            "matchLabels": {names::POD_CLIQUE: "a"},
            "matchExpressions": [
                {"key": "own", "operator": "Exists"},
                {"key": "absent", "operator": "DoesNotExist"},
                {"key": "absent", "operator": "NotIn", "values": ["a"]},
            ],
        }),
        &[]
    )]
    #[case::one_left_out(
        json!({"matchLabels": {"own": "a0"}}), &["the subgroup policy of podgroup a does not select Pod a1"]
    )]
    #[case::an_expression_left_out(
        json!({
            "matchLabels": {names::POD_CLIQUE: "a"},
            "matchExpressions": [{"key": "own", "operator": "In", "values": ["a1"]}],
        }),
        &["the subgroup policy of podgroup a does not select Pod a0"]
    )]
    #[case::another_podgroup(
        json!({"matchExpressions": [{"key": "own", "operator": "NotIn", "values": ["c0"]}]}),
        &[
            "the subgroup policy of podgroup a also selects Pod b0",
            "the subgroup policy of podgroup b also selects Pod a0",
            "the subgroup policy of podgroup b also selects Pod a1",
            "b.subGroupSize is 2, want 1",
        ]
    )]
    #[case::empty(json!({}), &["no subgroup policy selects the pods of podgroup a"])]
    #[case::absent(
        json!({"matchExpressions": [{"key": "absent", "operator": "In", "values": ["a"]}]}),
        &["no subgroup policy selects the pods of podgroup a"]
    )]
    #[case::exists_not(
        json!({"matchExpressions": [{"key": "own", "operator": "DoesNotExist"}]}),
        &["no subgroup policy selects the pods of podgroup a"]
    )]
    #[case::unknown(
        json!({"matchExpressions": [{"key": "own", "operator": "Gt", "values": ["a"]}]}),
        &["no subgroup policy selects the pods of podgroup a"]
    )]
    fn a_subgroup_policy_selects_exactly_the_pods_of_its_podgroup(
        #[case] selector: Value,
        #[case] wanted: &[&str],
    ) {
        assert_eq!(faults(|spec| spec["subGroupPolicy"][0]["labelSelector"] = selector), wanted);
    }

    #[rstest::rstest]
    #[case::different("own", &["the pods of podgroup a have different values of own, want one"])]
    #[case::same(names::POD_CLIQUE, &[])]
    fn the_pods_of_a_podgroup_form_one_subgroup(#[case] key: &str, #[case] wanted: &[&str]) {
        assert_eq!(faults(|spec| spec["subGroupPolicy"][0]["matchLabelKeys"] = json!([key])), wanted);
    }

    #[rstest::rstest]
    #[case::own("a", &[])]
    #[case::other("x", &["no subgroup policy selects the pods of podgroup a"])]
    fn the_policy_of_a_podgroup_without_pods_has_its_name(#[case] name: &str, #[case] wanted: &[&str]) {
        let found = faults_with(Vec::new(), |spec| spec["subGroupPolicy"][0]["name"] = name.into());
        assert_eq!(found, wanted);
    }
}
