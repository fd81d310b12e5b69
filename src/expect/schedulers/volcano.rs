use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod, is_owned_by};
use serde_json::{Value, json};

use super::{
    CreatedGang, Expectations, Name, Resource, Targets, TopologyModel, differs, schedule_by, text,
    volcano_pod_group,
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

    fn faults(&self, gang: CreatedGang<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        volcano_pod_group::faults(gang, wanted, found)
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
        // Only owner references, if the operator sets them, distinguish the HyperNodes of a third party.
        let has_owners = found.iter().any(|found| is_owned_by(found, binding));
        let names = live.of(hyper_nodes::KIND).filter(|object| hyper_nodes::mentions(object, pool));
        let names = names.filter(|object| !has_owners || is_owned_by(object, binding));
        // A synthetic root above all levels is allowed. It has a tier of its own.
        let is_root = |object: &Value| {
            let nodes = hyper_nodes::nodes_of(live, object);
            domains.iter().all(|domain| domain.nodes.is_subset(&nodes))
                && found.iter().all(|found| hyper_nodes::tier(found) != hyper_nodes::tier(object))
        };
        let names = names.filter(|object| !is_root(object));
        let names = names.map(|object| &object["metadata"]["name"]);
        faults.extend(
            names
                .filter(|name| !is_of_domain(name))
                .map(|name| format!("HyperNode {} matches no domain, want it absent", text(name))),
        );
        for (domain, found) in domains.iter().zip(&found) {
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

    /// Contains the same nodes as the block `ns-b`.
    fn above_the_block(tier: u64) -> Value {
        let member = json!({"type": "HyperNode", "selector": {"exactMatch": {"name": "block-ns-b"}}});
        let spec = json!({"tier": tier, "members": [member]});
        owned(json!({"kind": "HyperNode", "metadata": {"name": "top"}, "spec": spec}), BINDING, "t")
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
        None
    )]
    #[case::of_a_deleted_node(
        |all: &mut Vec<Value>| drop(all.remove(1)),
        Some("HyperNode host-ns-1 matches no domain, want it absent")
    )]
    #[case::of_a_deleted_node_without_owners(
        |all: &mut Vec<Value>| {
            all.iter_mut().for_each(|object| object["metadata"]["ownerReferences"] = json!([]));
            drop(all.remove(1));
        },
        Some("HyperNode host-ns-1 matches no domain, want it absent")
    )]
    #[case::of_a_third_party(
        |all: &mut Vec<Value>| {
            let spec = json!({"tier": 9, "members": []});
            all.push(json!({"kind": "HyperNode", "metadata": {"name": "ns-theirs"}, "spec": spec}));
        },
        None
    )]
    #[case::with_a_root(|all: &mut Vec<Value>| all.push(above_the_block(4)), None)]
    #[case::with_two_blocks(
        |all: &mut Vec<Value>| all.push(above_the_block(3)),
        Some("HyperNode top matches no domain, want it absent")
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
