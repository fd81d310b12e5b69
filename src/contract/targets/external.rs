//! The External profile that the harness adds to the controller's configuration. No scheduler serves it.
//! [`crate::external_scheduler`] creates the targets of schedulers that a user names.

use super::SchedulerDescription;
use crate::clauses::{self, Feature, Workload};
use crate::external_scheduler::ExternalProfile;
use crate::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use crate::target::{ReportedVersion, Target, TargetDescription};

impl Target {
    /// A profile of type External without a scheduler process. Only the clauses about such profiles apply.
    pub const EXTERNAL: Self = Self::of(&CONFORMANCE_EXTERNAL);
}

pub(super) static DESCRIPTION: SchedulerDescription =
    SchedulerDescription { targets: &[&CONFORMANCE_EXTERNAL], kinds: &[] };

const NO_SCHEDULER: &str = "no scheduler serves the profile, so no pod is bound";
const NO_RESOURCES: &str = "the backend creates no resources that could be deleted or edited";
const NO_TOPOLOGY_RESOURCES: &str = "the backend creates no topology resources";
const NO_GANG_RESOURCES: &str = "the backend creates no gang resources";

pub(crate) static CONFORMANCE_EXTERNAL: TargetDescription = TargetDescription {
    id: clauses::EXTERNAL,
    scheduler: Scheduler::KUBE,
    backend: EXTERNAL_SCHEDULER,
    name: clauses::EXTERNAL,
    scope: None,
    trees: None,
    features: &[],
    why_not: &[
        (Feature::GangScheduling, NO_SCHEDULER),
        (Feature::AtomicPodGang, NO_SCHEDULER),
        (Feature::TopologyRequired, NO_SCHEDULER),
        (Feature::TopologyPerGroup, NO_SCHEDULER),
        (Feature::TopologyPerClique, NO_SCHEDULER),
        (Feature::TopologyNested, NO_SCHEDULER),
        (Feature::TopologyPerReplica, NO_SCHEDULER),
        (Feature::TopologyPreferred, NO_SCHEDULER),
        (Feature::TopologyResource, NO_TOPOLOGY_RESOURCES),
        (Feature::SelfHealing, NO_RESOURCES),
        (Feature::CompositePodGroup, NO_GANG_RESOURCES),
        (
            Feature::External,
            "no scheduler serves conformance-external; `run --backend external:NAME` judges one that runs",
        ),
        (Feature::Kubelet, NO_SCHEDULER),
        (Feature::FreshGang, NO_SCHEDULER),
        (Feature::HalfGangRelease, NO_SCHEDULER),
        (Feature::StuckGangRelease, NO_SCHEDULER),
        (Feature::RevisionedRestore, NO_SCHEDULER),
        (Feature::ScaleToZero, NO_SCHEDULER),
        (Feature::Claims, NO_SCHEDULER),
        (Feature::PodGangStatus, NO_SCHEDULER),
        (Feature::Metrics, NO_SCHEDULER),
        (Feature::Autoscaling, NO_SCHEDULER),
        (Feature::StartupOrder, NO_SCHEDULER),
    ],
    properties: &[],
    gates: &[],
    version: ReportedVersion::Always("none"),
    external: Some(ExternalProfile { scheduler: EXTERNAL_SCHEDULER, runs: false }),
    workload: Workload::PodCliqueSets,
};

/// Why a scheduler that a user names does not have a feature: the user did not declare it, or cannot.
pub(crate) const fn why_not_of_an_external_scheduler(feature: Feature) -> &'static str {
    match feature {
        Feature::SelfHealing => NO_RESOURCES,
        Feature::TopologyPerReplica
        | Feature::FreshGang
        | Feature::HalfGangRelease
        | Feature::StuckGangRelease
        | Feature::RevisionedRestore
        | Feature::ScaleToZero
        | Feature::Claims
        | Feature::PodGangStatus
        | Feature::Metrics
        | Feature::Autoscaling
        | Feature::StartupOrder => "an operator declares it for a backend; --features cannot declare it",
        Feature::TopologyResource => NO_TOPOLOGY_RESOURCES,
        Feature::CompositePodGroup => NO_GANG_RESOURCES,
        _ => "not declared by --features",
    }
}
