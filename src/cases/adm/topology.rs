//! One clique, so that a constraint of the PodCliqueSet is admissible in either gang scope. The topology that all
//! cases share has block, rack and host, from broad to narrow.

use conformance_contract::ruling::Finding;
use conformance_driver::admission_attempts::{clique, required, template};
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::admission::{Attempt, admitted, answers, refused};
use conformance_judge::finding;
use serde_json::json;

/// ADM-07.
pub(crate) const CASE: Case = Case::new(
    "Topology constraints that the ClusterTopologyBinding cannot answer are refused",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-07"]);

const ATTEMPTS: &[Attempt] = &[
    admitted("a known domain of a known topology", |pcs| {
        template(pcs)["topologyConstraint"] = required("rack")
    }),
    refused("a domain that the topology does not have", &["galaxy"], |pcs| {
        template(pcs)["topologyConstraint"] = required("galaxy");
    }),
    refused("no topology name", &["topologyName"], |pcs| {
        template(pcs)["topologyConstraint"] = json!({"pack": {"required": "rack"}});
    }),
    refused("two topology names", &["topologyName", "match"], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
        clique(pcs, 0)["topologyConstraint"] =
            json!({"topologyName": "another", "pack": {"required": "host"}});
    }),
    refused("a clique broader than its PodCliqueSet", &["narrower", "rack", "block"], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
        clique(pcs, 0)["topologyConstraint"] = required("block");
    }),
    refused("a topology without a ClusterTopologyBinding", &["ClusterTopologyBinding", "nowhere"], |pcs| {
        template(pcs)["topologyConstraint"] =
            json!({"topologyName": "nowhere", "pack": {"required": "rack"}});
    }),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.creates(&test.manifest("packed")?, ATTEMPTS).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-07", || answers(history, ATTEMPTS))]
}
