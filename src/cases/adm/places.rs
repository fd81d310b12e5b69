//! Where a PodCliqueSet takes topology constraints, as data for tables of attempts. Each place is on a PodCliqueSet of one
//! clique, `alone` or `grouped` in a scaling group of one replica: PodGangs of one podgroup, on which any target takes
//! what it honours at all.

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::TOPOLOGY;
use serde_json::{Value, json};

/// A place for a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// In a title, and in names.
    pub(crate) title: &'static str,
    /// The constraint's JSON pointer.
    pub(crate) pointer: &'static str,
    /// What the PodCliqueSet that has the place is called in manifests, or what its name ends with.
    pub(crate) base: &'static str,
    /// Who honours a required level there.
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

/// All of them.
pub(crate) const PLACES: [Place; 4] = [SET, GROUP, CLIQUE, MEMBER];

/// A place within another.
pub(crate) const NESTED: [(Place, Place); 4] = [(SET, GROUP), (SET, CLIQUE), (SET, MEMBER), (GROUP, MEMBER)];

impl Place {
    /// The value that puts a constraint here.
    pub(crate) fn with(self, constraint: Value) -> (String, Value) {
        (self.pointer.to_owned(), constraint)
    }

    /// Puts a required level here.
    pub(crate) fn constrain(self, pcs: &mut Value, domain: &str) {
        let (parent, field) = self.pointer.rsplit_once('/').unwrap_or_default();
        if let Some(parent) = pcs.pointer_mut(parent) {
            parent[field] = packed("required", domain);
        }
    }

    /// Whether a level here is honoured, and so admitted.
    pub(crate) fn is_honoured(self, target: Target, field: &str) -> bool {
        target.declares(self.feature) && (field == "required" || target.declares(Feature::TopologyPreferred))
    }
}

/// A level of the topology that all cases share.
pub(crate) fn packed(field: &str, domain: &str) -> Value {
    json!({"topologyName": TOPOLOGY, "pack": {field: domain}})
}
