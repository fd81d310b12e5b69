//! What the operator under test declares about one backend. It replaces the features of the suite's own
//! description of a [`Target`]. A history's header stores it, so that a replay gives the same verdicts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::arena::Arena;
use super::clauses::{Clause, Feature};
use super::target::Target;

static DECLARATIONS: Arena<BackendDeclaration> = Arena::empty();

/// What an operator declares about a backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendDeclaration {
    /// Name and version of the operator, for messages.
    pub operator: String,
    /// The supported features, in the order of the contract.
    pub features: Vec<Feature>,
    /// The field `config` of the backend's profile.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub configuration: Map<String, Value>,
    /// Whether the operator ignores PodGangs that no PodCliqueSet controls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pod_gangs_of_sets_only: bool,
    /// The program that creates the gang resources, if the operator does not create them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang_resources_by: Option<String>,
    /// Fields that the operator adds to pods, beyond the additions of Grove that the suite knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_additions: Vec<PodAddition>,
    /// Kinds such as `ServiceAccount`. The operator takes over an existing object whose name it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_over: Vec<String>,
}

/// A documented field of pods that is missing in their templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodAddition {
    /// The path in a pod, with the name or key of a list entry in brackets; `*` matches any text.
    pub at: String,
    /// Address of the page that documents the field.
    pub link: String,
}

impl BackendDeclaration {
    pub(crate) fn why_not(&self, feature: Feature, target: Target) -> Cow<'static, str> {
        format!("{} does not declare {feature} on {}", self.operator, target.backend()).into()
    }
}

impl Target {
    /// Returns this target with an operator's declaration, except for the features Kubelet and External.
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

    /// Returns this target with additional declared features.
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

    /// Returns a setting of the backend's profile, from the operator's declaration.
    pub fn configured(self, name: &str) -> Option<&'static Value> {
        self.declaration()?.configuration.get(name)
    }

    /// Whether the operator under test acts on PodGangs that no PodCliqueSet controls.
    pub fn acts_on_any_pod_gang(self) -> bool {
        self.declaration().is_none_or(|declaration| !declaration.pod_gangs_of_sets_only)
    }

    /// Whether the operator takes over existing objects of this kind if it needs their names.
    pub fn takes_over(self, kind: &str) -> bool {
        let declaration = self.declaration();
        declaration.is_some_and(|declaration| declaration.takes_over.iter().any(|known| known == kind))
    }

    /// Whether a clause needs gang resources that another program creates instead of the operator under test.
    pub fn leaves_to_another_program(self, clause: &Clause) -> bool {
        let declaration = self.declaration().filter(|_| clause.needs_gang_resources);
        declaration.is_some_and(|declaration| declaration.gang_resources_by.is_some())
    }

    /// Why the operator need not satisfy a clause that applies to the target, or `None` if it must.
    pub fn why_not_owed(self, clause: &Clause) -> Option<Cow<'static, str>> {
        if let Some(feature) = self.undeclared(clause) {
            return Some(self.why_not(feature));
        }
        let declaration = self.declaration().filter(|_| self.leaves_to_another_program(clause))?;
        let (operator, by) = (&declaration.operator, declaration.gang_resources_by.as_ref()?);
        Some(format!("{operator} declares that {by} creates the gang resources on {}", self.backend()).into())
    }

    /// Whether the operator's declaration lacks a feature that the suite's own description has.
    pub fn lacks_by_declaration(self, feature: Feature) -> bool {
        self.of_the_suite().declares(feature) && !self.declares(feature)
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
    fn an_operator_takes_over_only_the_kinds_that_it_declares() {
        let takes_over = vec!["ServiceAccount".to_owned()];
        let declared =
            Target::KAI.declared_by(BackendDeclaration { takes_over, ..BackendDeclaration::default() });
        assert!(declared.takes_over("ServiceAccount") && !declared.takes_over("Service"));
        assert!(!Target::KAI.takes_over("ServiceAccount"));
    }

    #[test]
    fn gang_resources_of_another_program_exclude_the_clauses_that_need_the_operators() {
        let declared = declaring(Target::KAI, &[Feature::GangScheduling, Feature::TopologyRequired])
            .declaration()
            .unwrap()
            .clone();
        let gang_resources_by = Some("the podgrouper".to_owned());
        let target = Target::KAI.declared_by(BackendDeclaration { gang_resources_by, ..declared });
        for id in ["AUTO-08", "DEL-08", "GANG-05", "GANG-10", "KAI-01", "UPD-08"] {
            assert!(owes(Target::KAI, id) && !owes(target, id), "{id}");
            let reason = target.why_not_owed(clause(id).unwrap());
            let expected = "mine v1 declares that the podgrouper creates the gang resources on kai-scheduler";
            assert_eq!(reason.as_deref(), Some(expected), "{id}");
        }
        for id in ["AON-02", "GANG-01", "KAI-13"] {
            assert!(owes(target, id) && target.why_not_owed(clause(id).unwrap()).is_none(), "{id}");
        }
        let reason = target.why_not_owed(clause("GANG-12").unwrap());
        assert_eq!(reason.as_deref(), Some("mine v1 does not declare SelfHealing on kai-scheduler"));
        let read: Target = serde_json::from_value(serde_json::to_value(target).unwrap()).unwrap();
        assert!(!owes(read, "GANG-05"), "a replay decides as the run did");
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
