//! Topology levels that a PodCliqueSet may ask for, as attempts at admission: which of them a backend honours is in its
//! `admission.rs`.

use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_driver::test_cluster::TOPOLOGY;
use conformance_judge::admission::{Attempt, admitted, refused};
use serde_json::{Value, json};

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
