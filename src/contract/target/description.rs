//! The suite's own description of a target. `targets/` has one file per scheduler.

use crate::clauses::{Feature, Workload};
use crate::external_scheduler::ExternalProfile;
use crate::property::Property;
use crate::scheduler::Scheduler;

/// What the suite knows about a target.
#[derive(Debug)]
pub struct TargetDescription {
    /// The name in histories. It never changes.
    pub(crate) id: &'static str,
    /// The scheduler of the harness's cluster. For an External profile this is kube-scheduler.
    pub(crate) scheduler: Scheduler,
    pub(crate) backend: &'static str,
    /// The name in reports: the schedulerName, or `external` as prefix or whole name for an External profile.
    pub(crate) name: &'static str,
    /// The value of kube-scheduler's gang-scope annotation. The other backends have no scopes.
    pub(crate) scope: Option<&'static str>,
    /// Which Kubernetes versions the target is tested on: `true` for versions that serve CompositePodGroup,
    /// `false` for the others, `None` for all.
    pub(crate) trees: Option<bool>,
    pub(crate) features: &'static [Feature],
    /// Reasons for missing features that are better than the default reasons of the features.
    pub(crate) why_not: &'static [(Feature, &'static str)],
    pub(crate) properties: &'static [Property],
    /// Feature gates, each with the clause that shows if it is enabled: the API does not (KUBE-17).
    pub(crate) gates: &'static [(&'static str, &'static str)],
    pub(crate) version: ReportedVersion,
    pub(crate) external: Option<ExternalProfile>,
    pub(crate) workload: Workload,
}

impl TargetDescription {
    /// A target without scopes, features and properties. Reports show the version of `program`.
    pub(crate) const fn new(
        id: &'static str,
        scheduler: Scheduler,
        program: &'static str,
        workload: Workload,
    ) -> Self {
        Self {
            id,
            scheduler,
            backend: scheduler.name(),
            name: id,
            scope: None,
            trees: None,
            features: &[],
            why_not: &[],
            properties: &[],
            gates: &[],
            version: ReportedVersion::OfProgram(program),
            external: None,
            workload,
        }
    }
}

/// How a report gets the version of a target's scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedVersion {
    /// The version of the program with this name, which the harness has built or the user has given.
    OfProgram(&'static str),
    /// A fixed text, because the harness does not run the scheduler.
    Always(&'static str),
}

#[cfg(test)]
mod tests {
    use crate::target::every;

    #[test]
    fn a_target_explains_undeclared_features_only() {
        for target in every() {
            for (feature, reason) in target.description.why_not {
                let is_undeclared = feature.applies_to(target.workload()) && !target.declares(*feature);
                assert!(is_undeclared, "{target}: {feature}");
                assert_ne!(*reason, feature.why_not(), "{target}: {feature} has this reason by default");
            }
        }
    }
}
