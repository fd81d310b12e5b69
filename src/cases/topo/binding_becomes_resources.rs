//! Racks a and b of one block have 2 nodes each, and a third rack of one node joins for a while. They belong
//! to the topology binding that all cases share. KAI's Topology lists the binding's keys regardless of nodes.
//! Volcano's HyperNodes are the domains of the existing nodes. A synthetic root above all levels is allowed.

use conformance_check::topology_resources::match_binding;
use conformance_contract::names::TOPOLOGY;
use conformance_facts::topology::is_in_sync;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A ClusterTopologyBinding becomes the scheduler's topology resources, which follow the nodes")
        .clauses(&[TOPO_09])
        .nodes(&[nodes(2).rack("a"), nodes(2).rack("b"), nodes(1).rack("late").joining(1)]);

const POINTS: [MarkName; 4] = [
    MarkName::of_case("as it is"),
    MarkName::of_case("with a rack more"),
    MarkName::of_case("with a rack less"),
    MarkName::of_case("with a node in another rack"),
];
/// Node index of a node in rack b.
const MOVING: usize = 3;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    until_resources_match(test, POINTS[0]).await?;
    test.add_nodes(1).await?;
    until_resources_match(test, POINTS[1]).await?;
    remove_late_rack(test).await?;
    until_resources_match(test, POINTS[2]).await?;
    super::move_node(test, MOVING, "a").await?;
    until_resources_match(test, POINTS[3]).await
}

async fn remove_late_rack(test: &mut TestContext) -> Result<(), Stop> {
    let late = test.nodes.last().map(|node| node.name.clone()).unwrap_or_default();
    if test.test_cluster.cluster.node_pools().size().is_some() {
        let without = json!({"metadata": {"labels": {(RACK): null}}});
        return test.patch("Node", &late, without).await.map(drop);
    }
    test.delete("Node", &late).await?;
    test.until_in_cluster(Awaited::of_harness("the node deleted"), REACTION, |live| {
        live.get("Node", &late).is_none()
    })
    .await
}

async fn until_resources_match(test: &TestContext, point: MarkName) -> Result<(), Stop> {
    let backend = test.target.backend();
    let expectations = schedulers::of(test.target);
    let is_followed = |live: &Live| {
        let binding = live.get("ClusterTopologyBinding", TOPOLOGY);
        binding.is_some_and(|binding| expectations.topology_faults(binding, live, &test.namespace).is_empty())
            && is_in_sync(live, TOPOLOGY, backend) == Some(true)
    };
    test.until_in_cluster(
        &format!("topology resources that match the nodes ({point})"),
        REACTION,
        is_followed,
    )
    .await?;
    test.mark(point, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_09, || {
        for point in POINTS {
            history.at(point, |place| match_binding(history, &history.before(place), TOPOLOGY))?;
        }
        Ok(())
    })]
}
