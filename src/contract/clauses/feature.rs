//! Features: what an operator declares about a backend, and which clauses each feature requires.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CLAUSES, Clause, Workload};

macro_rules! features {
    ($($(#[$($attribute:tt)*])* $name:ident: $($workload:ident)|+, $reason:literal;)*) => {
        /// A feature that an operator may declare about a backend.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Feature {
            $($(#[$($attribute)*])* $name,)*
        }

        impl Feature {
            /// All features, in the order of the contract.
            pub const ALL: [Feature; [$(Feature::$name),*].len()] = [$(Feature::$name),*];

            /// The spelling of the feature in reports, in histories and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Feature::$name => stringify!($name),)*
                }
            }

            pub(crate) const fn why_not(self) -> &'static str {
                match self {
                    $(Feature::$name => $reason,)*
                }
            }

            /// Whether a backend for this workload can declare the feature.
            pub const fn applies_to(self, workload: Workload) -> bool {
                match self {
                    $(Feature::$name => matches!(workload, $(Workload::$workload)|+),)*
                }
            }
        }
    };
}

// Each entry has:
// - the meaning of the feature
// - its name, which never changes, because reports contain it (docs/report.schema.json)
// - the workloads whose backends can declare the feature
// - the default reason why a target does not declare the feature
features! {
    /// The scheduler binds the pods of a gang together or not at all.
    GangScheduling: PodCliqueSets, "the scheduler binds each pod separately";
    /// The hard gang of a whole PodGang is bound atomically, not each podgroup separately.
    AtomicPodGang: PodCliqueSets, "the scheduler binds each podgroup separately";
    /// All pods of a gang are bound in one domain of a required topology level.
    TopologyRequired: PodCliqueSets | TrainJobs, "the gang resources have no topology constraint";
    /// Scaling groups can have topology constraints.
    TopologyPerGroup: PodCliqueSets, "the gang resources have no topology constraint for a scaling group";
    /// Cliques can have topology constraints.
    TopologyPerClique: PodCliqueSets, "the gang resources have no topology constraint for a clique";
    /// PodCliqueSet, scaling group and clique can have topology constraints at the same time.
    TopologyNested: PodCliqueSets, "the gang resources have no topology constraints at several levels";
    /// All gangs of a replica are bound in one domain of the PodCliqueSet's required topology level.
    TopologyPerReplica: PodCliqueSets,
        "gang resources are created per PodGang, and no constraint spans several PodGangs";
    /// Topology levels can be preferred instead of required.
    TopologyPreferred: PodCliqueSets, "the gang resources have no preferred topology levels";
    /// The operator creates the backend's topology resource from a ClusterTopologyBinding, or compares both.
    TopologyResource: PodCliqueSets, "the scheduler has no topology resource";
    /// The operator restores backend resources that were deleted or edited by hand.
    SelfHealing: PodCliqueSets, "the operator does not restore backend resources";
    /// A PodGang is a tree of kube-scheduler's CompositePodGroups.
    CompositePodGroup: PodCliqueSets, "the scheduler has its own gang resources instead";
    /// The scheduler reads PodGangs itself, and the features that its user declares are tested.
    External: PodCliqueSets, "the scheduler reads its own gang resources, not PodGangs";
    /// The pods run on real kubelets, whose behaviour is tested.
    Kubelet: PodCliqueSets, "the pods do not run on real kubelets";
    /// A terminated gang is bound whole while pods of its former generation still terminate.
    FreshGang: PodCliqueSets, "the gang resources of a terminated gang also count its terminating pods";
    /// A gang that stays half bound releases its capacity.
    HalfGangRelease: PodCliqueSets, "the scheduler binds PodGangs whole, so no gang is ever half bound";
    /// A gang with some pods bound and others waiting for a volume releases its capacity.
    StuckGangRelease: PodCliqueSets, "a gang that waits for a volume keeps its capacity";
    /// A pod that is deleted before its replica is updated is recreated from the old template.
    RevisionedRestore: PodCliqueSets, "the operator recreates pods from the current template";
    /// A clique or scaling group can have 0 replicas. The other cliques stay a gang.
    ScaleToZero: PodCliqueSets, "the gang resources do not support idle cliques";
    /// The scheduler evicts gangs of lower priority to make room for a gang.
    Preemption: PodCliqueSets, "the scheduler evicts no gangs to make room for another";
    /// A queue below its share regains borrowed capacity: gangs of the borrowing queues are evicted.
    Reclaim: PodCliqueSets, "the scheduler has no queues between which it moves capacity";
    /// Pods share resource claims.
    Claims: PodCliqueSets, "the backend does not support claims that pods share";
    /// The status of a PodGang shows whether it is scheduled, ready and healthy.
    PodGangStatus: PodCliqueSets, "the operator does not report the state of PodGangs";
    /// The operator exposes metrics of its gangs.
    Metrics: PodCliqueSets, "the operator exposes no metrics of its gangs";
    /// The operator creates a HorizontalPodAutoscaler for each scale configuration.
    Autoscaling: PodCliqueSets, "the operator creates no HorizontalPodAutoscalers";
    /// Cliques start in the order that the PodCliqueSet requests.
    StartupOrder: PodCliqueSets, "the operator starts all cliques at the same time";
    /// The pods of a replicated Job of a TrainJob are bound atomically.
    TrainJob: TrainJobs, "the trainer creates no gang resources for the scheduler";
    /// All pods of all replicated Jobs of a TrainJob are bound atomically.
    AtomicTrainJob: TrainJobs, "no gang spans several Jobs";
    /// A replicated Job can have a required topology level.
    TopologyPerJob: TrainJobs, "the gang resources have no topology constraint for a replicated Job";
    /// The policy of a training runtime puts the pods of its TrainJobs into a queue of KAI.
    QueueLabel: TrainJobs, "`kaiScheduler` in a runtime's podGroupPolicy applies to KAI only";
    /// Each Job gets kube-scheduler's Workload and PodGroup.
    JobWorkload: TrainJobs, "the gate WorkloadWithJob applies to kube-scheduler's API only";
}

impl Feature {
    /// The clauses that are evidence for the feature: its own, and others that also show it.
    pub fn shown_by(self) -> impl Iterator<Item = &'static Clause> {
        CLAUSES.iter().filter(move |clause| clause.feature == Some(self) || clause.also_shows == Some(self))
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Feature::ALL
            .into_iter()
            .find(|feature| feature.to_string() == name)
            .ok_or_else(|| UnknownFeature(name.to_owned()))
    }
}

/// The error for a name that is not the name of a [`Feature`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown feature {0:?}")]
pub struct UnknownFeature(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_shown_by_a_clause_of_its_own() {
        for feature in Feature::ALL {
            assert!(feature.shown_by().any(|clause| clause.feature == Some(feature)), "{feature}");
        }
    }

    #[rstest::rstest]
    #[case(Feature::GangScheduling, &["AON-01", "AON-02"])]
    #[case(Feature::TopologyResource, &["TOPO-09", "DEL-09", "DEL-13"])]
    #[case(Feature::QueueLabel, &["TRN-01", "TRN-02"])]
    fn a_feature_is_shown_by_its_clauses(#[case] feature: Feature, #[case] clauses: &[&str]) {
        let shown_by: Vec<_> = feature.shown_by().map(|clause| clause.id).collect();
        assert!(clauses.iter().all(|id| shown_by.contains(id)), "{feature}: {shown_by:?}");
    }

    #[test]
    fn a_name_is_the_same_in_reports_and_on_the_command_line() {
        for feature in Feature::ALL {
            assert_eq!(feature.name().parse(), Ok(feature));
            assert_eq!(serde_json::to_value(feature).unwrap(), feature.name());
        }
    }
}
