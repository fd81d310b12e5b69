//! Topology levels that a PodCliqueSet may request. The target declares which of them it honours.

use conformance_contract::clauses::Feature::{
    TopologyNested, TopologyPerClique, TopologyPerGroup, TopologyPreferred, TopologyRequired,
};
use conformance_contract::names::TOPOLOGY;
use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_facts::attempts::refused_or_warned;

use crate::prelude::*;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    title: &'static str,
    edit: fn(&mut Value),
    /// The features that the required level needs.
    required: &'static [Feature],
    /// The features that the preferred level needs.
    preferred: &'static [Feature],
}

impl Level {
    /// A required level that the target does not honour must be refused (ADM-09). A preferred level without
    /// effect must be refused or reported in a warning (ADM-17).
    pub(crate) fn on(&self, target: Target) -> Attempt {
        let &Level { title, edit, required, preferred } = self;
        let lacks_any = |features: &[Feature]| features.iter().any(|feature| !target.declares(*feature));
        if lacks_any(required) {
            refused(title, &[], edit)
        } else if lacks_any(preferred) {
            refused_or_warned(title, PREFERENCE, edit)
        } else if preferred.is_empty() {
            admitted(title, edit)
        } else {
            admitted(title, edit).silent_about(PREFERENCE)
        }
    }

    pub(crate) fn is_about_preference(&self, target: Target) -> bool {
        !self.preferred.is_empty() && self.required.iter().all(|feature| target.declares(*feature))
    }
}

/// A warning about a preferred level must contain the name of the field or of the level.
pub(crate) const PREFERENCE: &[&str] = &["preferred|host"];

const fn required_level(title: &'static str, required: &'static [Feature], edit: fn(&mut Value)) -> Level {
    Level { title, edit, required, preferred: &[] }
}

const fn preferred_level(title: &'static str, preferred: &'static [Feature], edit: fn(&mut Value)) -> Level {
    Level { title, edit, required: &[], preferred }
}

pub(crate) const REQUIRED: Level =
    required_level("a required level of the PodCliqueSet", &[TopologyRequired], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
    });
pub(crate) const OF_A_GROUP: Level =
    required_level("a required level of a scaling group", &[TopologyPerGroup], of_a_group);
pub(crate) const OF_A_CLIQUE: Level =
    required_level("a required level of a clique", &[TopologyPerClique], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    });
/// A backend that honours one level per PodGang also honours that of its only podgroup.
pub(crate) const OF_THE_ONLY_CLIQUE: Level =
    required_level("a required level of the only clique", &[TopologyRequired], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    });
pub(crate) const OF_ONE_OF_TWO_CLIQUES: Level =
    required_level("a required level of one of two podgroups", &[TopologyPerClique], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
        add_a_clique(pcs);
    });
pub(crate) const OF_THE_SET_AND_A_CLIQUE: Level =
    required_level("levels of the PodCliqueSet and a clique", &[TopologyNested], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
        clique(pcs, 0)["topologyConstraint"] = required("host");
    });
pub(crate) const ALL_THREE: Level =
    required_level("levels of the PodCliqueSet, a scaling group and a clique", &[TopologyNested], |pcs| {
        template(pcs)["topologyConstraint"] = required("block");
        of_a_group(pcs);
        clique(pcs, 0)["topologyConstraint"] = required("host");
    });
pub(crate) const PREFERRED: Level = preferred_level("a preferred level alone", &[TopologyPreferred], |pcs| {
    template(pcs)["topologyConstraint"] = pack(json!({"preferred": "host"}));
});
pub(crate) const PREFERRED_OF_A_GROUP: Level = preferred_level(
    "a preferred level of a scaling group alone",
    &[TopologyPreferred, TopologyPerGroup],
    preferred_by_a_group,
);
pub(crate) const PREFERRED_OF_A_CLIQUE: Level =
    preferred_level("a preferred level of a clique alone", &[TopologyPreferred, TopologyPerClique], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "host"}))
    });
pub(crate) const PREFERRED_AND_REQUIRED: Level = Level {
    title: "a preferred and a required level",
    edit: |pcs| {
        template(pcs)["topologyConstraint"] = pack(json!({"required": "rack", "preferred": "host"}));
    },
    required: &[TopologyRequired],
    preferred: &[TopologyPreferred],
};

/// For a backend that can honour a level of the PodCliqueSet, of a scaling group and of a clique.
pub(crate) const EVERY_PLACE: &[Level] = &[
    REQUIRED,
    OF_A_GROUP,
    OF_A_CLIQUE,
    ALL_THREE,
    PREFERRED,
    PREFERRED_OF_A_GROUP,
    PREFERRED_OF_A_CLIQUE,
    PREFERRED_AND_REQUIRED,
];

pub(crate) fn of_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = required("rack");
}

pub(crate) fn preferred_by_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "host"}));
}

fn add_a_clique(pcs: &mut Value) {
    let mut router = clique(pcs, 0).clone();
    router["name"] = "router".into();
    router["spec"]["roleName"] = "router".into();
    router["topologyConstraint"] = Value::Null;
    if let Some(cliques) = template(pcs)["cliques"].as_array_mut() {
        cliques.push(router);
    }
}

fn pack(levels: Value) -> Value {
    json!({"topologyName": TOPOLOGY, "pack": levels})
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;
    use conformance_facts::attempts::Reply;
    use conformance_facts::attempts::Wanted::{self, Admitted, Refused, RefusedOrWarned};

    use super::*;

    fn wanted(target: Target) -> [Wanted; 5] {
        [REQUIRED, OF_A_GROUP, OF_A_CLIQUE, PREFERRED, PREFERRED_AND_REQUIRED]
            .map(|level| level.on(target).wanted)
    }

    #[rstest]
    #[case::as_the_target(&[TopologyRequired, TopologyPerClique], [Admitted, Refused, Admitted, RefusedOrWarned, RefusedOrWarned])]
    #[case::nothing(&[], [Refused, Refused, Refused, RefusedOrWarned, Refused])]
    #[case::more(&[TopologyPerGroup], [Refused, Admitted, Refused, RefusedOrWarned, Refused])]
    #[case::preferences(&[TopologyRequired, TopologyPreferred], [Admitted, Refused, Refused, Admitted, Admitted])]
    fn attempts_follow_the_operators_declaration(#[case] features: &[Feature], #[case] answers: [Wanted; 5]) {
        let declaration = BackendDeclaration {
            operator: "mine v1".into(),
            features: features.to_vec(),
            ..BackendDeclaration::default()
        };
        assert_eq!(wanted(Target::VOLCANO.declared_by(declaration)), answers);
    }

    #[test]
    fn attempts_follow_the_targets_features() {
        assert_eq!(wanted(Target::KAI), [Admitted; 5]);
        let volcano = [Admitted, Refused, Admitted, RefusedOrWarned, RefusedOrWarned];
        assert_eq!(wanted(Target::VOLCANO), volcano);
    }

    #[rstest]
    #[case::silent(&[], true)]
    #[case::about_something_else(&["299 - \"deprecated\""], true)]
    #[case::about_the_field(&["299 - \"pack.preferred is ignored\""], false)]
    #[case::about_the_level(&["299 - \"level host may be ignored\""], false)]
    fn a_supported_preference_needs_no_warning(#[case] warnings: &[&str], #[case] is_right: bool) {
        let warnings = warnings.iter().map(|warning| (*warning).to_owned()).collect();
        let reply = Reply {
            name: "levelled".into(),
            verb: "create".into(),
            code: 201,
            message: String::new(),
            warnings,
        };
        for level in [PREFERRED, PREFERRED_AND_REQUIRED] {
            assert_eq!(level.on(Target::KAI).wrong(&reply).is_none(), is_right);
        }
    }

    #[test]
    fn one_level_per_gang_is_honoured_on_its_only_clique() {
        let wanted = [OF_THE_ONLY_CLIQUE, OF_ONE_OF_TWO_CLIQUES].map(|of| of.on(Target::KOORDINATOR).wanted);
        assert_eq!(wanted, [Admitted, Refused]);
    }
}
