//! Koordinator (KOORD-01, KOORD-02). The annotation `groups` joins the PodGroups of a PodGang.

use std::time::Duration;

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod};
use serde_json::{Value, json};

use super::{
    CreatedGang, Expectations, Name, Resource, Targets, TopologyModel, differs, list, schedule_by, text,
};
use crate::domains::Domain;
use crate::{Gang, Group};

pub const POD_GROUP: &str = "PodGroup.scheduling.sigs.k8s.io";
const MEMBERSHIP: &str = "pod-group.scheduling.sigs.k8s.io";
pub const GANG: &str = "gang.scheduling.koordinator.sh";

pub(super) static TARGETS: Targets = &[(Target::KOORDINATOR, &Koordinator)];

#[derive(Debug)]
pub struct Koordinator;

impl Expectations for Koordinator {
    fn kinds(&self) -> &'static [&'static str] {
        &[POD_GROUP]
    }

    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource> {
        let group = |(podgroup, min): &(String, usize)| Resource {
            kind: POD_GROUP,
            name: Name::label(format!("{pod_gang}-{podgroup}")),
            size: Some(*min),
        };
        podgroups.iter().map(group).collect()
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["minMember"].as_u64()
    }

    fn gang_timeout(&self) -> Option<Duration> {
        Some(Duration::from_secs(30))
    }

    /// Compares minimum, label, list and total (KOORD-01).
    fn faults(&self, gang: CreatedGang<'_>, resource: &Resource, found: &Value) -> Vec<String> {
        let annotation = |name: &str| &found["metadata"]["annotations"][format!("{GANG}/{name}")];
        let wanted = [
            ("minMember", &found["spec"]["minMember"], json!(resource.size)),
            ("label grove.io/podgang", &found["metadata"]["labels"][names::POD_GANG], json!(gang.name())),
        ];
        let mut faults: Vec<_> =
            wanted.iter().filter_map(|(field, found, wanted)| differs(field, found, wanted)).collect();
        faults.extend(self.groups_fault(gang, annotation("groups")));
        let podgroups = list(&gang.pod_gang["spec"]["podgroups"]).iter();
        let is_same_podgroup = |podgroup: &&Value| {
            Name::label(format!("{}-{}", gang.name(), text(&podgroup["name"]))) == resource.name
        };
        let references =
            podgroups.filter(is_same_podgroup).map(|podgroup| list(&podgroup["podReferences"]).len()).next();
        // Do not compare a total below the minimum, because Koordinator rejects it.
        let total = references.filter(|references| Some(*references) >= resource.size);
        faults.extend(total.and_then(|total| {
            differs("total-number", annotation("total-number"), &json!(total.to_string()))
        }));
        faults
    }

    fn joins(&self, gang: &Gang, group: &Group, _index: usize) -> Option<Name> {
        Some(Name::label(format!("{}-{}", gang.name, group.clique)))
    }

    /// Surplus pods may join late, because koord-scheduler 1.8 also tries gated pods that name a PodGroup.
    fn may_join_later(&self, group: &Group, index: usize) -> bool {
        index >= group.min
    }

    fn counts_pods(&self) -> bool {
        true
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.label(MEMBERSHIP).or_else(|| pod.0["metadata"]["annotations"][format!("{GANG}/name")].as_str())
    }

    fn reads_priority_of_pods(&self) -> bool {
        true
    }

    fn assign(&self, pcs: &mut Value) {
        schedule_by(pcs, "koord-scheduler");
    }

    fn topology_model(&self) -> Option<TopologyModel> {
        Some(TopologyModel { has: model_has_domains, is_maintained_by_backend: false })
    }

    fn initially_released(&self, gang: &Gang) -> usize {
        gang.minimum()
    }

    fn writers(&self) -> &[&'static str] {
        &["koord-scheduler", "koord-manager", "koord-descheduler"]
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["internal.scheduling.koordinator.sh/", "scheduling.koordinator.sh/"]
    }

    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": pods, "scheduleTimeoutSeconds": 30},
        });
        let pod =
            json!({"metadata": {"labels": {MEMBERSHIP: name}}, "spec": {"schedulerName": "koord-scheduler"}});
        vec![(POD_GROUP, group), ("Pod", pod)]
    }
}

impl Koordinator {
    fn groups_fault(&self, gang: CreatedGang<'_>, groups: &Value) -> Option<String> {
        let namespace = text(&gang.pod_gang["metadata"]["namespace"]);
        let listed: Vec<String> = serde_json::from_str(text(groups)).unwrap_or_default();
        let wanted = self.resources(gang.name(), gang.podgroups);
        let is_listed = |resource: &Resource| {
            let mut names =
                listed.iter().filter_map(|entry| entry.strip_prefix(namespace)?.strip_prefix('/'));
            names.any(|name| resource.name.matches(name))
        };
        let complete = listed.len() == wanted.len() && wanted.iter().all(is_listed);
        (!complete).then(|| {
            let names: Vec<_> = wanted.iter().map(|resource| resource.name.to_string()).collect();
            format!("groups is {groups}, want {}", names.join(", "))
        })
    }
}

fn model_has_domains(live: &Live, domains: &[Domain<'_>]) -> bool {
    let topology = live.get("ClusterNetworkTopology", "default").unwrap_or(&Value::Null);
    let entries = topology["status"]["detailStatus"].as_array().map(Vec::as_slice).unwrap_or_default();
    domains.iter().all(|domain| {
        let layer = match domain.key {
            names::BLOCK => "blockLayer",
            names::RACK => "rackLayer",
            _ => return true,
        };
        let of_domain = |entry: &&Value| {
            entry["topologyInfo"]["topologyLayer"] == layer
                && entry["topologyInfo"]["topologyName"] == domain.value
        };
        entries.iter().find(of_domain).is_some_and(|entry| entry["nodeNum"] == domain.nodes.len())
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;

    use super::*;
    use crate::domains::domains;

    fn faults(pods: usize, annotations: &[(&str, &str)]) -> Vec<String> {
        let references = vec![json!({"namespace": "ns", "name": "p"}); pods];
        let pod_gang = json!({"metadata": {"name": "g", "namespace": "ns"}, "spec": {
            "podgroups": [{"name": "a", "minReplicas": 2, "podReferences": references}]}});
        let podgroups = [("a".to_owned(), 2)];
        let mut found = json!({"metadata": {"labels": {names::POD_GANG: "g"}}, "spec": {"minMember": 2}});
        for (name, value) in [("groups", r#"["ns/g-a"]"#)].iter().chain(annotations) {
            found["metadata"]["annotations"][format!("{GANG}/{name}")] = json!(value);
        }
        let live = &Live::default();
        let gang = CreatedGang { pod_gang: &pod_gang, podgroups: &podgroups, is_base: true, live };
        Koordinator.faults(gang, &Koordinator.resources("g", &podgroups)[0], &found)
    }

    #[rstest::rstest]
    #[case::all(3, &[("total-number", "3")], None)]
    #[case::too_few(3, &[("total-number", "2")], Some(r#"total-number is "2", want "3""#))]
    #[case::without_annotation(2, &[], Some(r#"total-number is null, want "2""#))]
    #[case::below_the_minimum(1, &[], None)]
    #[case::another_group(3, &[("total-number", "3"), ("groups", r#"["ns/g-b"]"#)], Some(r#"groups is "[\"ns/g-b\"]", want g-a"#))]
    #[case::of_another_namespace(3, &[("total-number", "3"), ("groups", r#"["n/g-a"]"#)], Some(r#"groups is "[\"n/g-a\"]", want g-a"#))]
    #[case::one_twice(
        3,
        &[("total-number", "3"), ("groups", r#"["ns/g-a","ns/g-a"]"#)],
        Some(r#"groups is "[\"ns/g-a\",\"ns/g-a\"]", want g-a"#)
    )]
    #[case::another_mode(3, &[("total-number", "3"), ("mode", "NonStrict")], None)]
    fn a_wrong_annotation_is_a_fault(
        #[case] pods: usize,
        #[case] annotations: &[(&str, &str)],
        #[case] fault: Option<&str>,
    ) {
        assert_eq!(faults(pods, annotations), Vec::from_iter(fault));
    }

    fn node(name: &str) -> Value {
        let labels = json!({names::HOST: name, names::RACK: "x", names::BLOCK: "b"});
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
    }

    #[test]
    fn a_topology_with_a_wrong_node_count_does_not_have_the_domains() {
        let nodes = [node("1"), node("2")];
        let known = |entries: Value| {
            let topology = json!({"kind": "ClusterNetworkTopology", "metadata": {"name": "default"},
                "status": {"detailStatus": entries}});
            model_has_domains(&Story::on(Target::KOORDINATOR).added(topology).end().end(), &domains(&nodes))
        };
        let entry = |layer: &str, name: &str, count: u32| json!({"topologyInfo": {"topologyLayer": layer, "topologyName": name}, "nodeNum": count});
        assert!(known(json!([entry("blockLayer", "b", 2), entry("rackLayer", "x", 2)])));
        assert!(!known(json!([entry("blockLayer", "b", 2), entry("rackLayer", "x", 1)])));
        assert!(!known(json!([entry("blockLayer", "b", 2), entry("blockLayer", "x", 2)])));
        assert!(!known(Value::Null));
    }
}
