//! What a case requires of a target, in addition to an applicable clause. The suite's own description of the
//! target counts. A case therefore also runs without the operator's declaration, and the report shows its
//! clauses as unsupported. A scheduler that the user names has no description, so it meets no requirement.

use super::clauses::Feature;
use super::property::Property;
use super::scheduler::Scheduler;
use super::target::Target;

/// The requirements of a case. The case runs on the targets that meet all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// The only scheduler whose targets meet the requirements.
    pub scheduler: Option<Scheduler>,
    /// A scheduler whose targets do not meet the requirements, because another case covers the clauses there.
    pub except: Option<Scheduler>,
    /// The only gang scope that meets the requirements.
    pub scope: Option<&'static str>,
    /// A feature that the suite's description of the target declares.
    pub feature: Option<Feature>,
    /// Properties in the description of the target.
    pub properties: &'static [Property],
}

impl Requirements {
    /// Every target meets these.
    pub const NONE: Self =
        Self { scheduler: None, except: None, scope: None, feature: None, properties: &[] };

    /// Why a target does not meet the requirements, without a full stop; `None` if it does.
    pub fn why_unmet(self, target: Target) -> Option<String> {
        // Compare the backend, because the scheduler of an External profile is kube-scheduler.
        if let Some(scheduler) = self.scheduler.filter(|scheduler| scheduler.name() != target.backend()) {
            return Some(format!("{target} does not use the scheduler {}", scheduler.name()));
        }
        if self.except.is_some_and(|scheduler| scheduler.name() == target.backend()) {
            return Some(format!("another case covers {target}"));
        }
        if let Some(scope) = self.scope.filter(|scope| target.scope() != Some(*scope)) {
            return Some(format!("{target} does not have the gang scope {scope}"));
        }
        if let Some(feature) = self.feature.filter(|feature| !target.is_described_with(*feature)) {
            return Some(format!("the suite's description of {target} does not declare {feature}"));
        }
        let missing = self.properties.iter().find(|property| !target.properties().contains(*property))?;
        Some(format!("{target} {}", missing.lacking()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend_declaration::BackendDeclaration;
    use crate::external_scheduler::DECLARABLE;

    const ON_KUBE: Requirements = Requirements { scheduler: Some(Scheduler::KUBE), ..Requirements::NONE };
    const IN_TREE: Requirements = Requirements { scope: Some("Tree"), ..Requirements::NONE };
    const ATOMIC: Requirements = Requirements { feature: Some(Feature::AtomicPodGang), ..Requirements::NONE };
    const NOT_ON_KAI: Requirements = Requirements { except: Some(Scheduler::KAI), ..Requirements::NONE };
    const TOPOLOGIES: Requirements =
        Requirements { properties: &[Property::SeveralTopologies], ..Requirements::NONE };

    #[rstest::rstest]
    #[case(Requirements::NONE, Target::EXTERNAL, None)]
    #[case(ON_KUBE, Target::KUBE_TREE, None)]
    #[case(ON_KUBE, Target::VOLCANO, Some("volcano does not use the scheduler default-scheduler"))]
    #[case(ON_KUBE, Target::EXTERNAL, Some("external does not use the scheduler default-scheduler"))]
    #[case(NOT_ON_KAI, Target::EXTERNAL, None)]
    #[case(NOT_ON_KAI, Target::KAI, Some("another case covers kai-scheduler"))]
    #[case(IN_TREE, Target::KUBE_TREE, None)]
    #[case(IN_TREE, Target::KAI, Some("kai-scheduler does not have the gang scope Tree"))]
    #[case(ATOMIC, Target::KAI, None)]
    #[case(
        ATOMIC,
        Target::KUBE_POD_GROUP,
        Some("the suite's description of default-scheduler (PodGroup scope) does not declare AtomicPodGang")
    )]
    #[case(TOPOLOGIES, Target::KAI, None)]
    #[case(
        TOPOLOGIES,
        Target::VOLCANO,
        Some("volcano does not support several ClusterTopologyBindings at the same time")
    )]
    fn each_requirement_admits_a_target_or_gives_the_reason(
        #[case] requirements: Requirements,
        #[case] target: Target,
        #[case] why: Option<&str>,
    ) {
        assert_eq!(requirements.why_unmet(target).as_deref(), why);
    }

    #[test]
    fn declarations_of_an_operator_change_no_requirement() {
        let declares_nothing = Target::KAI.declared_by(BackendDeclaration::default());
        assert_eq!(ATOMIC.why_unmet(declares_nothing), None);
    }

    #[test]
    fn a_scheduler_that_a_user_names_meets_no_requirement() {
        let target = Target::external_scheduler("mine", &DECLARABLE).unwrap();
        for requirements in [ON_KUBE, IN_TREE, ATOMIC, TOPOLOGIES] {
            assert!(requirements.why_unmet(target).is_some(), "{requirements:?}");
        }
    }
}
