//! The External profile in the harness's configuration. No scheduler serves the profile.

use super::SchedulerDescription;
use crate::clauses::{self, Feature, Workload};
use crate::external_scheduler::{DECLARABLE, ExternalProfile};
use crate::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use crate::target::{ReportedVersion, Target, TargetDescription};

impl Target {
    /// A profile of type External without a scheduler process. Only the clauses about External apply.
    pub const EXTERNAL: Self = Self::of(&CONFORMANCE_EXTERNAL);
}

pub(super) static DESCRIPTION: SchedulerDescription =
    SchedulerDescription { targets: &[&CONFORMANCE_EXTERNAL], kinds: &[] };

pub(crate) static CONFORMANCE_EXTERNAL: TargetDescription = TargetDescription {
    backend: EXTERNAL_SCHEDULER,
    version: ReportedVersion::Always("none"),
    external: Some(ExternalProfile { scheduler: EXTERNAL_SCHEDULER, runs: false }),
    ..TargetDescription::new(clauses::EXTERNAL, Scheduler::KUBE, "none", Workload::PodCliqueSets)
};

pub(crate) fn why_not_of_an_external_profile(profile: &ExternalProfile, feature: Feature) -> &'static str {
    match feature {
        Feature::TopologyResource => "the backend creates no topology resources",
        Feature::SelfHealing => "the backend creates no resources that could be deleted or edited",
        Feature::CompositePodGroup => "the backend creates no gang resources",
        Feature::External if !profile.runs => {
            "no scheduler serves conformance-external; `run --backend external:NAME` judges one that runs"
        }
        _ if !profile.runs => "no scheduler serves the profile, so no pod is bound",
        _ if DECLARABLE.contains(&feature) || feature == Feature::Kubelet => {
            "not declared by target.features"
        }
        _ => "an operator declares it for a backend; target.features cannot declare it",
    }
}
