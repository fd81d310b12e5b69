//! The places of a PodCliqueSet that accept topology constraints, as data for tables of attempts. The
//! PodCliqueSet has one clique, either `alone` or `grouped` in a scaling group of one replica. Each PodGang
//! therefore has one podgroup, and every target accepts the constraints that it honours.

use conformance_contract::clauses::Feature;
use conformance_contract::names::TOPOLOGY;
use conformance_contract::target::Target;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) title: &'static str,
    pub(crate) pointer: &'static str,
    /// The name of the manifest's PodCliqueSet that has this place, or the end of its name.
    pub(crate) base: &'static str,
    pub(crate) feature: Feature,
}

const CLIQUE_POINTER: &str = "/spec/template/cliques/0/topologyConstraint";

pub(crate) const SET: Place = Place {
    title: "set",
    pointer: "/spec/template/topologyConstraint",
    base: "alone",
    feature: Feature::TopologyRequired,
};
pub(crate) const GROUP: Place = Place {
    title: "group",
    pointer: "/spec/template/podCliqueScalingGroups/0/topologyConstraint",
    base: "grouped",
    feature: Feature::TopologyPerGroup,
};
pub(crate) const CLIQUE: Place =
    Place { title: "clique", pointer: CLIQUE_POINTER, base: "alone", feature: Feature::TopologyPerClique };
pub(crate) const MEMBER: Place =
    Place { title: "member", pointer: CLIQUE_POINTER, base: "grouped", feature: Feature::TopologyPerClique };

pub(crate) const PLACES: [Place; 4] = [SET, GROUP, CLIQUE, MEMBER];

pub(crate) const NESTED: [(Place, Place); 4] = [(SET, GROUP), (SET, CLIQUE), (SET, MEMBER), (GROUP, MEMBER)];

impl Place {
    pub(crate) fn with(self, constraint: Value) -> (String, Value) {
        (self.pointer.to_owned(), constraint)
    }

    pub(crate) fn constrain(self, pcs: &mut Value, domain: &str) {
        let (parent, field) = self.pointer.rsplit_once('/').unwrap_or_default();
        if let Some(parent) = pcs.pointer_mut(parent) {
            parent[field] = packed("required", domain);
        }
    }

    pub(crate) fn is_honoured(self, target: Target, field: &str) -> bool {
        target.declares(self.feature) && (field == "required" || target.declares(Feature::TopologyPreferred))
    }
}

pub(crate) fn packed(field: &str, domain: &str) -> Value {
    json!({"topologyName": TOPOLOGY, "pack": {field: domain}})
}
