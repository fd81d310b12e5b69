use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod, is_owned_by};
use serde_json::{Value, json};

use super::{
    CreatedGang, Expectations, Name, Resource, Targets, TopologyModel, differs, list, schedule_by, text,
};
use crate::domains::{Domain, domains};
use crate::{Gang, Group, hyper_nodes};

pub const POD_GROUP: &str = "PodGroup.scheduling.volcano.sh";
/// Annotation with which a pod joins a PodGroup (VOL-02).
pub const GROUP_NAME: &str = "scheduling.k8s.io/group-name";
/// Volcano's own annotation with the same meaning (VOL-09).
pub const OWN_GROUP_NAME: &str = "scheduling.volcano.sh/group-name";

pub(super) static TARGETS: Targets = &[(Target::VOLCANO, &Volcano)];

#[derive(Debug)]
pub struct Volcano;

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

impl Expectations for Volcano {
    fn kinds(&self) -> &'static [&'static str] {
        &[POD_GROUP]
    }

    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource> {
        let size = podgroups.iter().map(|(_, min)| min).sum();
        vec![Resource { kind: POD_GROUP, name: Name::object(pod_gang.to_owned()), size: Some(size) }]
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["minMember"].as_u64()
    }

    /// Compares the minimums and subgroup policies of a PodGroup with the podgroups and their pods.
    fn faults(&self, gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
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
            let others = gang
                .live
                .pods()
                .filter(|pod| !is_of_podgroup(pod) && selects(&policy["labelSelector"], *pod));
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

    fn joins(&self, gang: &Gang, _group: &Group, _index: usize) -> Option<Name> {
        Some(Name::object(gang.name.clone()))
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        let annotations = &pod.0["metadata"]["annotations"];
        annotations[GROUP_NAME].as_str().or_else(|| annotations[OWN_GROUP_NAME].as_str())
    }

    fn membership_faults(&self, pod: Pod<'_>, gang: &Gang, _group: &Group) -> Vec<String> {
        let annotations = &pod.0["metadata"]["annotations"];
        differs(GROUP_NAME, &annotations[GROUP_NAME], &json!(gang.name)).into_iter().collect()
    }

    fn enqueue(&self, pcs: &mut Value, queue: &str) {
        pcs["metadata"]["annotations"][names::VOLCANO_QUEUE] = queue.into();
    }

    fn assign(&self, pcs: &mut Value) {
        schedule_by(pcs, "volcano");
    }

    /// Volcano schedules a pod without requests outside any gang (backfill).
    fn add_requests(&self, pcs: &mut Value) {
        for clique in pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
            for container in clique["spec"]["podSpec"]["containers"].as_array_mut().into_iter().flatten() {
                if container["resources"].is_null() {
                    container["resources"] = json!({"requests": {"cpu": "10m"}});
                }
            }
        }
    }

    fn topology_kind(&self) -> Option<&'static str> {
        Some(hyper_nodes::KIND)
    }

    /// Expects one HyperNode per domain and one tier per level, with narrower levels in lower tiers (VOL-05).
    fn topology_faults(&self, binding: &Value, live: &Live, pool: &str) -> Vec<String> {
        let domains = domains(live.of("Node").filter(|node| node["metadata"]["labels"][names::POOL] == pool));
        let found = match hyper_nodes::of_domains(live, &domains) {
            Ok(found) => found,
            Err(missing) => return vec![missing.to_string()],
        };
        let mut faults = Vec::new();
        // Tiers by level, widest level first, like the domains.
        let mut tiers: Vec<(&str, BTreeSet<u64>)> = Vec::new();
        let is_of_domain = |name: &Value| found.iter().any(|found| found["metadata"]["name"] == *name);
        let names = live.of(hyper_nodes::KIND).filter(|object| hyper_nodes::mentions(object, pool));
        let names =
            names.filter(|object| is_owned_by(object, binding)).map(|object| &object["metadata"]["name"]);
        faults.extend(
            names
                .filter(|name| !is_of_domain(name))
                .map(|name| format!("HyperNode {} matches no domain, want it absent", text(name))),
        );
        for (domain, found) in domains.iter().zip(&found) {
            if !is_owned_by(found, binding) {
                let (name, owner) = (text(&found["metadata"]["name"]), text(&binding["metadata"]["name"]));
                faults.push(format!("HyperNode {name} is not owned by ClusterTopologyBinding {owner}"));
            }
            if tiers.last().is_none_or(|(key, _)| *key != domain.key) {
                tiers.push((domain.key, BTreeSet::new()));
            }
            if let Some((_, of_level)) = tiers.last_mut() {
                of_level.insert(hyper_nodes::tier(found));
            }
        }
        let several = tiers.iter().filter(|(_, of_level)| of_level.len() > 1);
        faults.extend(
            several.map(|(key, of_level)| format!("HyperNodes of {key} have tiers {of_level:?}, want one")),
        );
        let upside_down = tiers.windows(2).filter(|pair| pair[0].1.first() <= pair[1].1.last());
        faults.extend(upside_down.map(|pair| {
            format!("HyperNodes of {} do not have a higher tier than those of {}", pair[0].0, pair[1].0)
        }));
        faults
    }

    fn topology_model(&self) -> Option<TopologyModel> {
        let has = |live: &Live, domains: &[Domain<'_>]| hyper_nodes::of_domains(live, domains).is_ok();
        Some(TopologyModel { has, is_maintained_by_backend: true })
    }

    fn retries_in_sessions(&self) -> bool {
        true
    }

    fn writers(&self) -> &[&'static str] {
        &["vc-scheduler", "volcano", "vc-controller-manager", "vc-webhook-manager"]
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["volcano.sh/"]
    }

    fn is_refusal(&self, condition: &Value) -> bool {
        condition["type"] == "Unschedulable" && condition["status"] == "True"
    }

    fn overrides_refusal(&self) -> Option<&'static str> {
        Some("Scheduled")
    }

    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": pods, "queue": "default"},
        });
        let annotations = json!({GROUP_NAME: name, OWN_GROUP_NAME: name});
        let pod = json!({"metadata": {"annotations": annotations}, "spec": {"schedulerName": "volcano"}});
        vec![(POD_GROUP, group), ("Pod", pod)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::{Story, owned};

    const BINDING: &str = "ClusterTopologyBinding";

    fn objects() -> Vec<Value> {
        let node = |name: &str, rack: &str| {
            let labels =
                json!({names::POOL: "ns", names::HOST: name, names::RACK: rack, names::BLOCK: "ns-b"});
            json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
        };
        let hyper_node = |name: &str, tier: u64, of: &str, members: &[&str]| {
            let member = |name: &&str| json!({"type": of, "selector": {"exactMatch": {"name": name}}});
            let members: Vec<_> = members.iter().map(member).collect();
            let spec = json!({"tier": tier, "members": members});
            owned(json!({"kind": "HyperNode", "metadata": {"name": name}, "spec": spec}), BINDING, "t")
        };
        vec![
            node("ns-0", "ns-x"),
            node("ns-1", "ns-y"),
            hyper_node("block-ns-b", 3, "HyperNode", &["rack-ns-x", "rack-ns-y"]),
            hyper_node("rack-ns-x", 2, "HyperNode", &["host-ns-0"]),
            hyper_node("rack-ns-y", 2, "HyperNode", &["host-ns-1"]),
            hyper_node("host-ns-0", 1, "Node", &["ns-0"]),
            hyper_node("host-ns-1", 1, "Node", &["ns-1"]),
            json!({"kind": BINDING, "metadata": {"name": "t"}}),
        ]
    }

    #[test]
    fn a_request_is_added_only_to_pod_clique_sets_of_the_suite() {
        let containers = json!([{"name": "a"}, {"name": "b", "resources": {}}]);
        let clique =
            json!({"name": "w", "spec": {"podSpec": {"containers": containers, "schedulerName": ""}}});
        let mut set = json!({"spec": {"template": {"cliques": [clique]}}});
        let pod = |set: &Value| set["spec"]["template"]["cliques"][0]["spec"]["podSpec"].clone();
        Volcano.assign(&mut set);
        assert_eq!(pod(&set), json!({"containers": containers, "schedulerName": "volcano"}));
        Volcano.add_requests(&mut set);
        assert_eq!(pod(&set)["containers"][0]["resources"]["requests"]["cpu"], "10m");
        assert_eq!(pod(&set)["containers"][1]["resources"], json!({}), "the case wants none");
    }

    #[test]
    fn a_scheduler_that_the_case_chose_is_kept() {
        let clique = json!({"name": "w", "spec": {"podSpec": {"schedulerName": "other"}}});
        let mut set = json!({"spec": {"template": {"cliques": [clique]}}});
        let before = set.clone();
        Volcano.assign(&mut set);
        assert_eq!(set, before);
    }

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

    #[rstest::rstest]
    #[case::unschedulable("Unschedulable", "True", true)]
    #[case::no_longer("Unschedulable", "False", false)]
    #[case::scheduled("Scheduled", "True", false)]
    fn only_a_true_condition_unschedulable_is_a_refusal(
        #[case] of_type: &str,
        #[case] status: &str,
        #[case] is_refused: bool,
    ) {
        assert_eq!(Volcano.is_refusal(&json!({"type": of_type, "status": status})), is_refused);
    }

    #[rstest::rstest]
    #[case::unchanged(|_: &mut Vec<Value>| {}, None)]
    #[case::missing(|all: &mut Vec<Value>| drop(all.remove(2)), Some("no HyperNode contains exactly the nodes with label topology.kubernetes.io/block=ns-b"))]
    #[case::without_owner(
        |all: &mut Vec<Value>| all[3]["metadata"]["ownerReferences"] = json!([]),
        Some("HyperNode rack-ns-x is not owned by ClusterTopologyBinding t")
    )]
    #[case::of_a_deleted_node(
        |all: &mut Vec<Value>| drop(all.remove(1)),
        Some("HyperNode host-ns-1 matches no domain, want it absent")
    )]
    #[case::two_tiers(
        |all: &mut Vec<Value>| all[6]["spec"]["tier"] = json!(2),
        Some("HyperNodes of kubernetes.io/hostname have tiers {1, 2}, want one")
    )]
    #[case::upside_down(
        |all: &mut Vec<Value>| all[2]["spec"]["tier"] = json!(1),
        Some(
            "HyperNodes of topology.kubernetes.io/block do not have a higher tier than those of \
             topology.kubernetes.io/rack",
        )
    )]
    fn a_wrong_hyper_node_is_a_fault(#[case] change: fn(&mut Vec<Value>), #[case] fault: Option<&str>) {
        let mut all = objects();
        change(&mut all);
        let live = Story::on(Target::VOLCANO).all_added(all).end().end();
        let binding = live.get(BINDING, "t").expect("added");
        let faults = Volcano.topology_faults(binding, &live, "ns");
        assert_eq!(faults.first().map(String::as_str), fault, "{faults:?}");
    }
}
