//! Profiles of type External: the stand-in that the harness writes into the controller's configuration.
//! [`crate::external_scheduler`] creates the targets of schedulers that a user names.

use super::Description;
use crate::clauses::{self, Feature, Workload};
use crate::external_scheduler::ExternalProfile;
use crate::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use crate::target::{Column, ReportedVersion, Target};

impl Target {
    /// A profile of type External without a scheduler process: only the promises about such profiles.
    pub const EXTERNAL: Self = Self::of(&CONFORMANCE_EXTERNAL);
}

pub(super) static DESCRIPTION: Description = Description { columns: &[&CONFORMANCE_EXTERNAL], kinds: &[] };

const NO_SCHEDULER: &str = "no scheduler serves the profile: nothing is placed";
const NO_RESOURCES: &str = "its backend makes no resources that could be deleted or edited";
const NO_TOPOLOGY_RESOURCES: &str = "its backend makes no topology resources";
const NO_GANG_RESOURCES: &str = "its backend makes no gang resources";

pub(crate) static CONFORMANCE_EXTERNAL: Column = Column {
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
            "nobody schedules for conformance-external; `run --backend external:NAME` judges a scheduler",
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
    gates: &[],
    version: ReportedVersion::Always("none"),
    external: Some(ExternalProfile { scheduler: EXTERNAL_SCHEDULER, runs: false }),
    workload: Workload::PodCliqueSets,
};

/// Why a scheduler that a user names does not declare a feature: the user does not declare it, or no user
/// can.
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
        | Feature::StartupOrder => "it is an operator's to declare, together with its backend",
        Feature::TopologyResource => NO_TOPOLOGY_RESOURCES,
        Feature::CompositePodGroup => NO_GANG_RESOURCES,
        _ => "not declared by --features",
    }
}
