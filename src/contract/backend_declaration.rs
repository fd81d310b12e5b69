//! What the operator under test declares about one backend: the supported features and the configuration of
//! its profile. The declaration replaces the features in the suite's own description of a [`Target`]. The
//! header of a history stores it, so that a replay decides as the run did.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::arena::Arena;
use super::clauses::Feature;
use super::target::Target;

static DECLARATIONS: Arena<BackendDeclaration> = Arena::empty();

/// What an operator declares about a backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendDeclaration {
    /// The operator and its version, for messages.
    pub operator: String,
    /// The supported features, in the order of the contract.
    pub features: Vec<Feature>,
    /// `config` of the backend's profile.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub configuration: Map<String, Value>,
    /// Whether the operator ignores PodGangs that no PodCliqueSet controls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pod_gangs_of_sets_only: bool,
}

impl BackendDeclaration {
    /// Why a feature's clauses are unsupported.
    pub(crate) fn why_not(&self, feature: Feature, target: Target) -> Cow<'static, str> {
        format!("{} does not declare {feature} on {}", self.operator, target.backend()).into()
    }
}

impl Target {
    /// This target with an operator's declaration, which stays until the process ends. Kubelet and
    /// External stay as the suite describes them, because the operator does not determine these features.
    #[must_use]
    pub fn declared_by(self, declaration: BackendDeclaration) -> Self {
        let own = self.of_the_suite();
        let features = Feature::ALL.into_iter().filter(|feature| match feature {
            Feature::Kubelet | Feature::External => own.declares(*feature),
            _ => declaration.features.contains(feature),
        });
        let features = features.collect();
        own.with_declaration(DECLARATIONS.add(BackendDeclaration { features, ..declaration }))
    }

    /// This target, as if the operator declared these features in addition.
    #[must_use]
    pub fn as_if_declared(self, features: &[Feature]) -> Self {
        match self.declaration() {
            Some(declaration) => self.declared_by(BackendDeclaration {
                features: [declaration.features.as_slice(), features].concat(),
                ..declaration.clone()
            }),
            None => self,
        }
    }

    /// A setting of the backend's profile, from the operator's declaration.
    pub fn configured(self, name: &str) -> Option<&'static Value> {
        self.declaration()?.configuration.get(name)
    }

    /// Whether the operator under test acts on PodGangs that no PodCliqueSet controls.
    pub fn acts_on_any_pod_gang(self) -> bool {
        self.declaration().is_none_or(|declaration| !declaration.pod_gangs_of_sets_only)
    }

    /// Whether the operator under test lacks a feature that the suite's own description has.
    pub fn lacks_by_declaration(self, feature: Feature) -> bool {
        self.of_the_suite().declares(feature) && !self.declares(feature)
    }

    /// Whether the operator under test has a feature that the suite's own description lacks.
    pub fn has_by_declaration(self, feature: Feature) -> bool {
        self.declares(feature) && !self.of_the_suite().declares(feature)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clauses::clause;

    fn declaring(target: Target, features: &[Feature]) -> Target {
        let configuration = json!({"gangMode": "NonStrict"}).as_object().unwrap().clone();
        let operator = "mine v1".to_owned();
        let declared = BackendDeclaration { operator, configuration, ..BackendDeclaration::default() };
        target.declared_by(BackendDeclaration { features: features.to_vec(), ..declared })
    }

    fn owes(target: Target, id: &str) -> bool {
        target.owes(clause(id).unwrap())
    }

    #[test]
    fn a_declaration_determines_features_and_clauses() {
        let target = declaring(Target::VOLCANO, &[Feature::AtomicPodGang, Feature::TopologyPerGroup]);
        let features = [Feature::AtomicPodGang, Feature::TopologyPerGroup, Feature::Kubelet];
        assert_eq!(target.features(), features, "the provider determines whether there are kubelets");
        assert!(owes(target, "AON-08") && owes(target, "TOPO-05") && !owes(target, "TOPO-01"));
        assert!(owes(target, "ADM-09") && owes(target, "ADM-03"));
        assert!(!owes(target, "ADM-07"), "its cases need an admitted constraint");
        assert!(owes(Target::VOLCANO, "ADM-07") && owes(Target::VOLCANO, "TOPO-01"));
        assert!(target.lacks_by_declaration(Feature::TopologyRequired));
        assert!(
            !target.lacks_by_declaration(Feature::TopologyNested),
            "the suite's description lacks it too"
        );
        assert!(target.has_by_declaration(Feature::TopologyPerGroup));
        assert_eq!(target.configured("gangMode"), Some(&"NonStrict".into()));
        assert_eq!(Target::VOLCANO.configured("gangMode"), None);
    }

    #[test]
    fn a_declaration_does_not_change_the_identity_of_a_target() {
        let target = declaring(Target::VOLCANO, &[]);
        assert_eq!(target, Target::VOLCANO);
        assert_eq!((target.slug(), target.options()), (Target::VOLCANO.slug(), Target::VOLCANO.options()));
    }

    #[test]
    fn a_reason_names_the_operator_only_if_its_declaration_lacks_the_feature() {
        let target = declaring(Target::VOLCANO, &[]);
        let reason = target.why_not(Feature::SelfHealing);
        assert_eq!(reason, "mine v1 does not declare SelfHealing on volcano");
        let reason = target.why_not(Feature::CompositePodGroup);
        assert_eq!(reason, "the scheduler has its own gang resources instead");
    }

    #[test]
    fn an_operator_acts_on_any_pod_gang_unless_it_declares_otherwise() {
        assert!(Target::KAI.acts_on_any_pod_gang() && declaring(Target::KAI, &[]).acts_on_any_pod_gang());
        let declared = BackendDeclaration { pod_gangs_of_sets_only: true, ..BackendDeclaration::default() };
        assert!(!Target::KAI.declared_by(declared).acts_on_any_pod_gang());
    }

    #[test]
    fn a_serialized_target_contains_the_declaration() {
        let target = declaring(Target::KOORDINATOR, &[Feature::SelfHealing]);
        let serialized = serde_json::to_value(target).unwrap();
        assert_eq!(serialized["column"], "koord-scheduler");
        assert_eq!(serialized["declared"]["features"], json!(["SelfHealing", "Kubelet"]));
        let read: Target = serde_json::from_value(serialized).unwrap();
        assert_eq!((read.features(), read.declaration()), (target.features(), target.declaration()));
    }
}
