//! Cases about topology constraints. Each leaves room for a wrong placement, so no scheduler passes by luck.

pub(crate) mod binding_becomes_resources;
pub(crate) mod constraint_on_one_clique;
pub(crate) mod empty_label;
pub(crate) mod larger_group_gets_rack;
pub(crate) mod mixed_shapes;
pub(crate) mod nested;
pub(crate) mod no_rack_has_room;
pub(crate) mod node_changes_rack;
pub(crate) mod one_block;
pub(crate) mod one_host;
pub(crate) mod one_rack;
pub(crate) mod only_rack_with_room;
pub(crate) mod per_group;
pub(crate) mod preferred;
pub(crate) mod replacement;
pub(crate) mod replica_shares_rack;
pub(crate) mod resource_compared;
pub(crate) mod scaled_gang_clique_constraint;
pub(crate) mod scaled_gang_group_constraint;
pub(crate) mod scaled_gang_own_rack;
pub(crate) mod second_binding;
pub(crate) mod unlabelled_nodes;

use conformance_driver::case::{Nodes, nodes};

use crate::prelude::{Awaited, RACK, REACTION, Stop, TestContext, json};

/// 3 racks of 2 nodes x `gpus` GPUs, with interleaved node names.
const fn three_racks(gpus: u32) -> [Nodes; 6] {
    let [a, b, c] =
        [nodes(1).gpus(gpus).rack("a"), nodes(1).gpus(gpus).rack("b"), nodes(1).gpus(gpus).rack("c")];
    [a, b, c, a, b, c]
}

async fn move_node(test: &TestContext, index: usize, rack: &str) -> Result<(), Stop> {
    let (node, rack) = (&test.nodes[index].name, test.domain(rack));
    test.patch("Node", node, json!({"metadata": {"labels": {(RACK): rack}}})).await?;
    let moved = Awaited::of_harness("the node in its new rack");
    test.until_in_cluster(moved, REACTION, |live| {
        live.get("Node", node).is_some_and(|node| node["metadata"]["labels"][RACK] == rack.as_str())
    })
    .await
}
