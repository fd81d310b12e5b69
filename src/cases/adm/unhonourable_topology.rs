//! One clique in a scaling group of one replica: PodGangs of one podgroup, so that every target honours a required
//! level of the PodCliqueSet. What else it honours is the target's ([`backends`]).

use conformance_contract::ruling::Finding;
use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::test_cluster::TOPOLOGY;
use conformance_history::History;
use conformance_judge::admission::{Attempt, admitted, answers, refused};
use conformance_judge::finding;
use serde_json::{Value, json};

use super::backends;

/// ADM-09.
pub(crate) const CASE: Case = Case::new(
    "A topology level that cannot be honoured is refused, or said to have no effect",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-09"]);

pub(crate) const REQUIRED: Attempt = admitted("a required level of the PodCliqueSet", |pcs| {
    template(pcs)["topologyConstraint"] = required("rack")
});
pub(crate) const OF_A_GROUP: Attempt =
    refused("a required level of a scaling group", &["topologyConstraint"], of_a_group);
pub(crate) const HONOURED_OF_A_GROUP: Attempt =
    admitted("a required level of a scaling group, honoured", of_a_group);
pub(crate) const OF_A_CLIQUE: Attempt = admitted("a required level of a clique", |pcs| {
    clique(pcs, 0)["topologyConstraint"] = required("rack");
});
pub(crate) const ALL_THREE: Attempt = admitted("levels of all three at once", |pcs| {
    template(pcs)["topologyConstraint"] = required("block");
    of_a_group(pcs);
    clique(pcs, 0)["topologyConstraint"] = required("host");
});
pub(crate) const PREFERRED: Attempt =
    refused("a preferred level alone", &["topologyConstraint", "preferred"], |pcs| {
        template(pcs)["topologyConstraint"] = pack(json!({"preferred": "rack"}))
    });
pub(crate) const PREFERRED_OF_A_GROUP: Attempt = refused(
    "a preferred level alone where no level is honoured",
    &["topologyConstraint"],
    preferred_by_a_group,
);
pub(crate) const BESIDE_REQUIRED: Attempt = admitted("a preferred level beside one that is honoured", beside)
    .with_warning(&["preferred", "no effect"]);

pub(crate) fn of_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = required("rack");
}

pub(crate) fn preferred_by_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
}

pub(crate) fn beside(pcs: &mut Value) {
    template(pcs)["topologyConstraint"] = pack(json!({"required": "rack", "preferred": "host"}));
}

pub(crate) fn pack(levels: Value) -> Value {
    json!({"topologyName": TOPOLOGY, "pack": levels})
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let Ok(own) = backends::own(test.target) else { return Ok(()) };
    test.creates(&test.manifest("levelled")?, own.levels).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-09", || answers(history, backends::own(history.header.target)?.levels))]
}
