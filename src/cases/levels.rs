//! Topology levels that a PodCliqueSet may ask for, as attempts at admission: which of them a backend honours is in its
//! `admission.rs`, and may be declared otherwise by the operator under test.

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_driver::test_cluster::TOPOLOGY;
use conformance_judge::admission::{Attempt, admitted, refused};
use serde_json::{Value, json};

/// A level, and what admission has to say to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    /// Whoever declares this honours it.
    feature: Feature,
    /// The answer of the suite's own column.
    attempt: Attempt,
}

/// A level that is honoured by those who declare a feature.
pub(crate) const fn level(feature: Feature, attempt: Attempt) -> Level {
    Level { feature, attempt }
}

impl Level {
    /// What is asked of a target: the column's own answer, unless the operator under test declares otherwise. A required
    /// level that it does not declare has to be refused; a preferred one may be.
    pub(crate) fn on(&self, target: Target) -> Attempt {
        let Level { feature, attempt } = *self;
        let Attempt { title, edit, .. } = attempt;
        if target.lacks_by_declaration(feature) {
            let attempt = refused(title, &[], edit);
            return if feature == Feature::TopologyPreferred {
                attempt.whatever_the_answer()
            } else {
                attempt
            };
        }
        if target.has_by_declaration(feature) { admitted(title, edit) } else { attempt }
    }
}

pub(crate) const REQUIRED: Level = level(
    Feature::TopologyRequired,
    admitted("a required level of the PodCliqueSet", |pcs| {
        template(pcs)["topologyConstraint"] = required("rack")
    }),
);
pub(crate) const OF_A_GROUP: Level = level(
    Feature::TopologyPerGroup,
    refused("a required level of a scaling group", &["topologyConstraint"], of_a_group),
);
pub(crate) const HONOURED_OF_A_GROUP: Level =
    level(Feature::TopologyPerGroup, admitted("a required level of a scaling group, honoured", of_a_group));
pub(crate) const OF_A_CLIQUE: Level = level(
    Feature::TopologyPerClique,
    admitted("a required level of a clique", |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    }),
);
pub(crate) const ALL_THREE: Level = level(
    Feature::TopologyNested,
    admitted("levels of all three at once", |pcs| {
        template(pcs)["topologyConstraint"] = required("block");
        of_a_group(pcs);
        clique(pcs, 0)["topologyConstraint"] = required("host");
    }),
);
pub(crate) const PREFERRED: Level = level(
    Feature::TopologyPreferred,
    refused("a preferred level alone", &["topologyConstraint", "preferred"], |pcs| {
        template(pcs)["topologyConstraint"] = pack(json!({"preferred": "rack"}))
    }),
);
pub(crate) const PREFERRED_OF_A_GROUP: Level = level(
    Feature::TopologyPreferred,
    refused(
        "a preferred level alone where no level is honoured",
        &["topologyConstraint"],
        preferred_by_a_group,
    ),
);
pub(crate) const BESIDE_REQUIRED: Level = level(
    Feature::TopologyRequired,
    admitted("a preferred level beside one that is honoured", beside)
        .with_warning(&["preferred", "no effect"]),
);

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

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;
    use conformance_judge::admission::Wanted;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::as_the_column(&[Feature::TopologyRequired, Feature::TopologyPerClique], [Wanted::Admitted, Wanted::Refused, Wanted::Admitted])]
    #[case::nothing(&[], [Wanted::Refused, Wanted::Refused, Wanted::Refused])]
    #[case::more(&[Feature::TopologyPerGroup], [Wanted::Refused, Wanted::Admitted, Wanted::Refused])]
    fn the_operator_declares_what_it_honours(#[case] features: &[Feature], #[case] wanted: [Wanted; 3]) {
        let declaration = BackendDeclaration {
            operator: "mine v1".into(),
            features: features.to_vec(),
            configuration: serde_json::Map::new(),
        };
        let target = Target::VOLCANO.declared_by(declaration);
        assert_eq!([REQUIRED, OF_A_GROUP, OF_A_CLIQUE].map(|level| level.on(target).wanted), wanted);
        let refusal = OF_A_GROUP.on(Target::VOLCANO);
        assert_eq!((refusal.wanted, refusal.says), (Wanted::Refused, ["topologyConstraint"].as_slice()));
    }
}
