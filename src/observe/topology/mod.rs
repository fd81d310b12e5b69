//! A gang that requires one domain of a topology level, while nodes lack its label.

use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, text};
use serde_json::json;

use crate::answer::Answered;
use crate::plain_gang::PlainGang;
use crate::{reports, seen, steps};

pub(crate) mod label_on_no_node;
pub(crate) mod label_on_some_nodes;
pub(crate) mod label_removed;

/// Schedulers whose plain gangs require no level.
pub(crate) const WITHOUT_LEVELS: &[(Scheduler, &str)] = &[
    (Scheduler::VOLCANO, "its levels are HyperNodes, which an operator writes"),
    (Scheduler::KOORDINATOR, "its levels are in a ClusterNetworkTopology, which an administrator writes"),
];

const ANSWERS: &[&str] = &["waits", "bound-in-one-domain", "bound-outside"];

const GANG: PlainGang = PlainGang::new("level", 2);

pub(crate) const MISSING: &str = "example.com/missing-level";

/// Creates the gang resource. KAI reads levels from a Topology, which has only this level here.
pub(crate) async fn create_resource(test: &TestContext, gang: &PlainGang, level: &str) -> Result<(), Stop> {
    if test.target.scheduler() != Scheduler::KAI {
        let constraints = json!({"topology": [{"key": level}]});
        return steps::create_resource_with(test, gang, "schedulingConstraints", constraints).await;
    }
    let name = &test.namespace;
    let topology = json!({
        "apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": name},
        "spec": {"levels": [{"nodeLabel": level}]},
    });
    test.create("Topology", &topology).await?;
    let constraint = json!({"topology": name, "requiredTopologyLevel": level});
    steps::create_resource_with(test, gang, "topologyConstraint", constraint).await
}

async fn observe_with(test: &mut TestContext, level: &str) -> Result<(), Stop> {
    create_resource(test, &GANG, level).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let rack = |node: &str| live.get("Node", node).map(|node| text(&node["metadata"]["labels"][names::RACK]));
    let pods = seen::pods(&live, &GANG);
    let racks: Vec<_> =
        pods.iter().filter_map(|pod| pod.node()).map(|node| rack(node).unwrap_or_default()).collect();
    let word = match racks.as_slice() {
        [first, second] if first == second && !first.is_empty() => "bound-in-one-domain",
        [_, _] => "bound-outside",
        _ => "waits",
    };
    reports::by_binding(history, &GANG, 0..GANG.minimum, [word; 2])
}
