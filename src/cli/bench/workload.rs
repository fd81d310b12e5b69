//! The input of `bench --throughput`: nodes in racks, and a PodCliqueSet of many gangs.
//!
//! Each gang is two cliques of five one-GPU pods, so that the mappings differ: two PodGroups in flat scope,
//! one in PodGang scope, and one above two as a tree.

use conformance_cluster::nodes::{NodeSpec, PODS};
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::TOPOLOGY;
use conformance_expect::schedulers;
use serde_json::{Value, json};

use crate::args::BenchArgs;
use crate::{Failure, select};

const CLIQUES: [&str; 2] = ["prefill", "decode"];
const PODS_PER_CLIQUE: u32 = 5;
pub(super) const PODS_PER_GANG: u32 = CLIQUES.len() as u32 * PODS_PER_CLIQUE;
/// kube-scheduler tries every rack for every group: with racks of 4 nodes it bound 4 pods/s on 1,000 nodes.
const NODES_PER_RACK: u32 = 40;
const RACKS_PER_BLOCK: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub gangs: u32,
    pub nodes: u32,
    pub gpus: u32,
}

impl Size {
    /// Reads the size from the command line, and rejects one whose racks have no room for the gangs.
    pub(super) fn of(args: &BenchArgs) -> Result<Self, Failure> {
        let (nodes, gpus) = select::nodes(&args.nodes)?;
        let size = Self { gangs: args.gangs, nodes, gpus };
        match size.room() >= size.gangs {
            true => Ok(size),
            false => Err(Failure::Usage(format!(
                "--gangs {}: each gang of {PODS_PER_GANG} pods of 1 GPU is placed in one rack, and {nodes} nodes in racks \
                 of {NODES_PER_RACK} nodes of {gpus} GPUs have room for {}",
                size.gangs,
                size.room()
            ))),
        }
    }

    pub(super) fn pods(self) -> u32 {
        self.gangs * PODS_PER_GANG
    }

    /// How many gangs fit, each in one rack. The rest of a rack is too small for a gang.
    fn room(self) -> u32 {
        let of_rack = |nodes: u32| nodes * self.gpus.min(PODS) / PODS_PER_GANG;
        self.nodes / NODES_PER_RACK * of_rack(NODES_PER_RACK) + of_rack(self.nodes % NODES_PER_RACK)
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} pods of {} gangs ({} cliques of {PODS_PER_CLIQUE} pods of 1 GPU) on {} simulated nodes of {} GPUs, \
             {NODES_PER_RACK} to a rack",
            self.pods(),
            self.gangs,
            CLIQUES.len(),
            self.nodes,
            self.gpus
        )
    }
}

pub(super) fn node(index: u32, gpus: u32) -> NodeSpec {
    let rack = index / NODES_PER_RACK;
    let labels = [
        (names::RACK.to_owned(), format!("rack-{rack}")),
        (names::BLOCK.to_owned(), format!("block-{}", rack / RACKS_PER_BLOCK)),
    ];
    NodeSpec { name: format!("node-{index}"), labels: labels.into(), taint: None, gpus, pods: PODS }
}

/// A PodCliqueSet of this many gangs, mapped as the target requires, with or without a required rack per
/// gang.
///
/// The rack is required for the whole PodCliqueSet, but in flat scope on each clique: two PodGroups choose
/// their domains independently of each other.
pub(super) fn pod_clique_set(target: Target, namespace: &str, gangs: u32, rack: bool) -> Value {
    let constraint = || json!({"topologyName": TOPOLOGY, "pack": {"required": "rack"}});
    let clique = |name: &str| {
        let mut clique = json!({"name": name, "spec": {
            "roleName": name,
            "replicas": PODS_PER_CLIQUE,
            "podSpec": {"containers": [{
                "name": "worker",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {"limits": {(names::GPU): 1}},
            }]},
        }});
        if rack && is_flat(target) {
            clique["topologyConstraint"] = constraint();
        }
        clique
    };
    let mut template = json!({"cliques": CLIQUES.map(clique)});
    if rack && !is_flat(target) {
        template["topologyConstraint"] = constraint();
    }
    let mut pcs = json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "bench", "namespace": namespace},
        "spec": {"replicas": gangs, "template": template},
    });
    schedulers::of(target).claim(&mut pcs);
    pcs
}

/// What a PodGang becomes, and where the rack is required.
pub(super) fn mapping(target: Target) -> &'static str {
    match target.scope() {
        Some("PodGroup") => "a PodGroup per podgroup; each clique must be in one rack",
        Some("PodGang") => "a PodGroup per PodGang; the PodCliqueSet must be in one rack",
        _ => {
            "a CompositePodGroup per PodGang above a PodGroup per podgroup; the PodCliqueSet must be in one rack"
        }
    }
}

fn is_flat(target: Target) -> bool {
    target == Target::KUBE_POD_GROUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(Target::KUBE_POD_GROUP, "PodGroup")]
    #[case(Target::KUBE_POD_GANG, "PodGang")]
    #[case(Target::KUBE_TREE, "Tree")]
    fn the_rack_is_required_where_the_mapping_can_say_it(#[case] target: Target, #[case] scope: &str) {
        let pcs = pod_clique_set(target, "ns", 200, true);
        assert_eq!(pcs["metadata"]["annotations"][names::GANG_SCOPE], scope);
        assert_eq!(pcs["spec"]["replicas"], 200);
        let template = &pcs["spec"]["template"];
        let of_all = template["topologyConstraint"]["pack"]["required"] == "rack";
        assert_eq!(of_all, target != Target::KUBE_POD_GROUP);
        let cliques = template["cliques"].as_array().unwrap();
        assert_eq!(cliques.len(), 2);
        for clique in cliques {
            let of_clique = clique["topologyConstraint"]["pack"]["required"] == "rack";
            assert_eq!(of_clique, target == Target::KUBE_POD_GROUP);
            assert_eq!(clique["spec"]["replicas"], 5);
            assert_eq!(clique["spec"]["podSpec"]["containers"][0]["resources"]["limits"][names::GPU], 1);
        }
        let anywhere = pod_clique_set(target, "ns", 200, false).to_string();
        assert!(!anywhere.contains("topologyConstraint"), "{anywhere}");
    }

    #[test]
    fn forty_nodes_are_a_rack_and_five_racks_a_block() {
        let place = |index| {
            let labels = node(index, 8).labels;
            (labels[names::RACK].clone(), labels[names::BLOCK].clone())
        };
        assert_eq!(place(39), ("rack-0".into(), "block-0".into()));
        assert_eq!(place(199), ("rack-4".into(), "block-0".into()));
        assert_eq!(place(200), ("rack-5".into(), "block-1".into()));
    }

    #[rstest::rstest]
    #[case::usual(1000, 8, 800)]
    #[case::what_a_rack_has_left_over_holds_none(8, 8, 6)]
    #[case::half_a_rack(6, 8, 4)]
    #[case::a_node_takes_no_more_pods_than_usual(1, 1000, 11)]
    #[case::no_gpus(8, 0, 0)]
    fn gangs_that_find_room(#[case] nodes: u32, #[case] gpus: u32, #[case] room: u32) {
        assert_eq!(Size { gangs: 1, nodes, gpus }.room(), room);
    }
}
