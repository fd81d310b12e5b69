//! Features: what an operator declares about a backend, and which clauses each feature requires.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CLAUSES, Clause, Workload};

/// A feature that an operator may declare about a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Feature {
    /// The scheduler binds the pods of a gang together or not at all.
    #[serde(rename = "GangScheduling")]
    GangScheduling,
    /// The hard gang of a whole PodGang is bound atomically, not each podgroup separately.
    #[serde(rename = "AtomicPodGang")]
    AtomicPodGang,
    /// All pods of a gang are bound in one domain of a required topology level.
    #[serde(rename = "TopologyRequired")]
    TopologyRequired,
    /// Scaling groups can have topology constraints.
    #[serde(rename = "TopologyPerGroup")]
    TopologyPerGroup,
    /// Cliques can have topology constraints.
    #[serde(rename = "TopologyPerClique")]
    TopologyPerClique,
    /// PodCliqueSet, scaling group and clique can have topology constraints at the same time.
    #[serde(rename = "TopologyNested")]
    TopologyNested,
    /// All gangs of a replica are bound in one domain of the PodCliqueSet's required topology level.
    #[serde(rename = "TopologyPerReplica")]
    TopologyPerReplica,
    /// Topology levels can be preferred instead of required.
    #[serde(rename = "TopologyPreferred")]
    TopologyPreferred,
    /// The operator creates the backend's topology resource from a ClusterTopologyBinding or compares them.
    #[serde(rename = "TopologyResource")]
    TopologyResource,
    /// The operator restores backend resources that were deleted or edited by hand.
    #[serde(rename = "SelfHealing")]
    SelfHealing,
    /// A PodGang is a tree of kube-scheduler's CompositePodGroups.
    #[serde(rename = "CompositePodGroup")]
    CompositePodGroup,
    /// The scheduler reads PodGangs itself, and the features that its user declares are tested.
    #[serde(rename = "External")]
    External,
    /// The pods run on real kubelets, whose behaviour is tested.
    #[serde(rename = "Kubelet")]
    Kubelet,
    /// A terminated gang is bound whole while pods of its former generation still terminate.
    #[serde(rename = "FreshGang")]
    FreshGang,
    /// A gang that stays half bound releases its capacity.
    #[serde(rename = "HalfGangRelease")]
    HalfGangRelease,
    /// A gang with some pods bound and others waiting for a volume releases its capacity.
    #[serde(rename = "StuckGangRelease")]
    StuckGangRelease,
    /// A pod that is deleted before its replica is updated is recreated from the old template.
    #[serde(rename = "RevisionedRestore")]
    RevisionedRestore,
    /// A clique or scaling group of 0 replicas is idle, and the others stay a gang.
    #[serde(rename = "ScaleToZero")]
    ScaleToZero,
    /// Pods share resource claims.
    #[serde(rename = "Claims")]
    Claims,
    /// The status of a PodGang shows whether it is scheduled, ready and healthy.
    #[serde(rename = "PodGangStatus")]
    PodGangStatus,
    /// The operator exposes metrics of its gangs.
    #[serde(rename = "Metrics")]
    Metrics,
    /// The operator creates a HorizontalPodAutoscaler for each scale configuration.
    #[serde(rename = "Autoscaling")]
    Autoscaling,
    /// Cliques start in the order that the PodCliqueSet requests.
    #[serde(rename = "StartupOrder")]
    StartupOrder,
    /// The pods of a replicated Job of a TrainJob are bound atomically.
    #[serde(rename = "TrainJob")]
    TrainJob,
    /// All pods of all replicated Jobs of a TrainJob are bound atomically.
    #[serde(rename = "AtomicTrainJob")]
    AtomicTrainJob,
    /// A replicated Job can have a required topology level.
    #[serde(rename = "TopologyPerJob")]
    TopologyPerJob,
    /// The policy of a training runtime puts the pods of its TrainJobs into a queue of KAI.
    #[serde(rename = "QueueLabel")]
    QueueLabel,
    /// Each Job gets kube-scheduler's Workload and PodGroup.
    #[serde(rename = "JobWorkload")]
    JobWorkload,
}

impl Feature {
    /// Every feature, in the order of the contract.
    pub const ALL: [Feature; 28] = [
        Feature::GangScheduling,
        Feature::AtomicPodGang,
        Feature::TopologyRequired,
        Feature::TopologyPerGroup,
        Feature::TopologyPerClique,
        Feature::TopologyNested,
        Feature::TopologyPerReplica,
        Feature::TopologyPreferred,
        Feature::TopologyResource,
        Feature::SelfHealing,
        Feature::CompositePodGroup,
        Feature::External,
        Feature::Kubelet,
        Feature::FreshGang,
        Feature::HalfGangRelease,
        Feature::StuckGangRelease,
        Feature::RevisionedRestore,
        Feature::ScaleToZero,
        Feature::Claims,
        Feature::PodGangStatus,
        Feature::Metrics,
        Feature::Autoscaling,
        Feature::StartupOrder,
        Feature::TrainJob,
        Feature::AtomicTrainJob,
        Feature::TopologyPerJob,
        Feature::QueueLabel,
        Feature::JobWorkload,
    ];

    /// The spelling in reports, histories and on the command line; it does not depend on the variant's name.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::GangScheduling => "GangScheduling",
            Feature::AtomicPodGang => "AtomicPodGang",
            Feature::TopologyRequired => "TopologyRequired",
            Feature::TopologyPerGroup => "TopologyPerGroup",
            Feature::TopologyPerClique => "TopologyPerClique",
            Feature::TopologyNested => "TopologyNested",
            Feature::TopologyPerReplica => "TopologyPerReplica",
            Feature::TopologyPreferred => "TopologyPreferred",
            Feature::TopologyResource => "TopologyResource",
            Feature::SelfHealing => "SelfHealing",
            Feature::CompositePodGroup => "CompositePodGroup",
            Feature::External => "External",
            Feature::Kubelet => "Kubelet",
            Feature::FreshGang => "FreshGang",
            Feature::HalfGangRelease => "HalfGangRelease",
            Feature::StuckGangRelease => "StuckGangRelease",
            Feature::RevisionedRestore => "RevisionedRestore",
            Feature::ScaleToZero => "ScaleToZero",
            Feature::Claims => "Claims",
            Feature::PodGangStatus => "PodGangStatus",
            Feature::Metrics => "Metrics",
            Feature::Autoscaling => "Autoscaling",
            Feature::StartupOrder => "StartupOrder",
            Feature::TrainJob => "TrainJob",
            Feature::AtomicTrainJob => "AtomicTrainJob",
            Feature::TopologyPerJob => "TopologyPerJob",
            Feature::QueueLabel => "QueueLabel",
            Feature::JobWorkload => "JobWorkload",
        }
    }
}

impl Feature {
    /// Whether a backend with that workload can declare it.
    pub fn applies_to(self, workload: Workload) -> bool {
        let is_about_train_jobs = matches!(
            self,
            Feature::TrainJob
                | Feature::AtomicTrainJob
                | Feature::TopologyPerJob
                | Feature::QueueLabel
                | Feature::JobWorkload
        );
        match workload {
            Workload::PodCliqueSets => !is_about_train_jobs,
            Workload::TrainJobs => is_about_train_jobs || self == Feature::TopologyRequired,
            Workload::PlainPods => false,
        }
    }

    /// The clauses that are evidence for it: its own clauses, and those of other features that also show it.
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

/// A name that is not a [`Feature`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown feature {0:?}")]
pub struct UnknownFeature(pub String);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Feature::GangScheduling, &["AON-01", "AON-02"])]
    #[case(Feature::AtomicPodGang, &["AON-08"])]
    #[case(Feature::TopologyRequired, &["TOPO-01", "TOPO-02", "TOPO-03", "TOPO-04", "TOPO-10", "TOPO-11"])]
    #[case(Feature::TopologyPerGroup, &["TOPO-05"])]
    #[case(Feature::TopologyPerClique, &["TOPO-06"])]
    #[case(Feature::TopologyNested, &["TOPO-07"])]
    #[case(Feature::TopologyPreferred, &["TOPO-08"])]
    #[case(Feature::TopologyResource, &["TOPO-09", "DEL-09", "DEL-13"])]
    #[case(Feature::SelfHealing, &["GANG-12"])]
    #[case(Feature::CompositePodGroup, &["KUBE-10", "KUBE-11", "KUBE-12"])]
    #[case(Feature::External, &["EXT-03"])]
    #[case(Feature::Kubelet, &["KLT-01"])]
    #[case(Feature::Autoscaling, &["AUTO-01"])]
    #[case(Feature::StartupOrder, &["START-01", "START-02", "START-03", "START-05"])]
    #[case(Feature::FreshGang, &["TERM-08"])]
    #[case(Feature::HalfGangRelease, &["TERM-17"])]
    #[case(Feature::StuckGangRelease, &["TERM-21"])]
    #[case(Feature::PodGangStatus, &["STAT-07"])]
    #[case(Feature::Metrics, &["STAT-11"])]
    #[case(Feature::TrainJob, &["TRN-03"])]
    #[case(Feature::AtomicTrainJob, &["TRN-04"])]
    #[case(Feature::QueueLabel, &["TRN-01", "TRN-02"])]
    #[case(Feature::JobWorkload, &["TRN-15"])]
    #[case(Feature::TopologyPerJob, &["TRN-20"])]
    fn a_feature_is_shown_by_its_clauses(#[case] feature: Feature, #[case] clauses: &[&str]) {
        let shown_by: Vec<_> = feature.shown_by().map(|clause| clause.id).collect();
        assert!(clauses.iter().all(|id| shown_by.contains(id)), "{feature}: {shown_by:?}");
    }

    #[test]
    fn published_names_of_features_do_not_change() {
        let published = [
            "GangScheduling",
            "AtomicPodGang",
            "TopologyRequired",
            "TopologyPerGroup",
            "TopologyPerClique",
            "TopologyNested",
            "TopologyPerReplica",
            "TopologyPreferred",
            "TopologyResource",
            "SelfHealing",
            "CompositePodGroup",
            "External",
            "Kubelet",
            "FreshGang",
            "HalfGangRelease",
            "StuckGangRelease",
            "RevisionedRestore",
            "ScaleToZero",
            "Claims",
            "PodGangStatus",
            "Metrics",
            "Autoscaling",
            "StartupOrder",
            "TrainJob",
            "AtomicTrainJob",
            "TopologyPerJob",
            "QueueLabel",
            "JobWorkload",
        ];
        assert_eq!(Feature::ALL.map(Feature::name), published);
        for feature in Feature::ALL {
            assert_eq!(feature.name().parse(), Ok(feature));
            assert_eq!(serde_json::to_value(feature).unwrap(), feature.name());
        }
    }
}
