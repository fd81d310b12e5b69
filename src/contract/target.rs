//! What is judged: a backend in one of its mappings, with the features it declares. A column of the report.

use serde::{Deserialize, Serialize};

use super::clauses::{self, Clause, Feature, Tier};
use super::external_scheduler::ExternalScheduler;
use crate::kubernetes::Kubernetes;
use crate::scheduler::EXTERNAL_SCHEDULER;
use crate::scheduler::Scheduler;

/// A column of the report. A new backend is a line here, its declared features, and its expectations in
/// `suite/schedulers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    /// kube-scheduler on the Workload API, one gang per podgroup: the flat mapping of proposal 531.
    #[serde(rename = "default-scheduler-podgroup")]
    KubePodGroup,
    /// kube-scheduler, one gang per PodGang.
    #[serde(rename = "default-scheduler-podgang")]
    KubePodGang,
    /// kube-scheduler of Kubernetes 1.37, a tree of CompositePodGroups per PodGang.
    #[serde(rename = "default-scheduler-tree")]
    KubeTree,
    /// Volcano.
    #[serde(rename = "volcano")]
    Volcano,
    /// Koordinator.
    #[serde(rename = "koord-scheduler")]
    Koordinator,
    /// KAI.
    #[serde(rename = "kai-scheduler")]
    Kai,
    /// A profile of type External, of whose scheduler there is no process: what is promised of such profiles alone.
    #[serde(rename = "external")]
    External,
    /// A scheduler that reads PodGangs itself, on a cluster that has it: what its user declares is judged on it.
    #[serde(rename = "external-scheduler")]
    ExternalScheduler(&'static ExternalScheduler),
}

/// Every column that needs no more words than its own, in the order of the report.
pub const TARGETS: [Target; 7] = [
    Target::KubePodGroup,
    Target::KubePodGang,
    Target::KubeTree,
    Target::Volcano,
    Target::Koordinator,
    Target::Kai,
    Target::External,
];

/// The columns of kube-scheduler.
pub const KUBE: &[Target] = &[Target::KubePodGroup, Target::KubePodGang, Target::KubeTree];

impl Target {
    /// The scheduler of the harness's that it is about; beside an External profile there is only the one that every
    /// cluster has.
    pub fn scheduler(self) -> Scheduler {
        match self {
            Self::KubePodGroup
            | Self::KubePodGang
            | Self::KubeTree
            | Self::External
            | Self::ExternalScheduler(_) => Scheduler::KUBE,
            Self::Volcano => Scheduler::named("volcano"),
            Self::Koordinator => Scheduler::named("koord-scheduler"),
            Self::Kai => Scheduler::named("kai-scheduler"),
        }
    }

    /// The schedulerName of the backend.
    pub fn backend(self) -> &'static str {
        match self {
            Self::External => EXTERNAL_SCHEDULER,
            Self::ExternalScheduler(scheduler) => scheduler.name(),
            _ => self.scheduler().name(),
        }
    }

    /// The backend in reports and on the command line: its schedulerName, with `external` before it or instead of it
    /// where the profile is of that type.
    pub fn name(self) -> &'static str {
        match self {
            Self::External => clauses::EXTERNAL,
            Self::ExternalScheduler(scheduler) => scheduler.column(),
            _ => self.backend(),
        }
    }

    /// The value of kube-scheduler's gang-scope annotation; the other backends have one mapping only.
    pub fn scope(self) -> Option<&'static str> {
        match self {
            Self::KubePodGroup => Some("PodGroup"),
            Self::KubePodGang => Some("PodGang"),
            Self::KubeTree => Some("Tree"),
            Self::Volcano | Self::Koordinator | Self::Kai | Self::External | Self::ExternalScheduler(_) => {
                None
            }
        }
    }

    /// The one version of Kubernetes that it is about; `None` if it is about a scheduler of its own, whatever the
    /// version.
    pub fn kubernetes(self) -> Option<Kubernetes> {
        match self {
            Self::KubePodGroup | Self::KubePodGang => Some(Kubernetes::V1_36),
            Self::KubeTree => Some(Kubernetes::V1_37),
            _ => None,
        }
    }

    /// Whether it is judged on clusters of that version.
    pub fn is_on(self, kubernetes: Kubernetes) -> bool {
        self.kubernetes().is_none_or(|own| own == kubernetes)
    }

    /// As a part of file and cluster names.
    pub fn slug(self) -> String {
        match self.scope() {
            Some(scope) => format!("{}-{}", self.name(), scope.to_ascii_lowercase()),
            // Not every file system, and no upload of CI's, takes a colon.
            None => self.name().replace(':', "-"),
        }
    }

    /// The words of the command line that choose it.
    pub fn words(self) -> String {
        match (self, self.scope()) {
            (Self::ExternalScheduler(scheduler), _) => scheduler.words(),
            (_, Some(scope)) => format!("--backend {} --scope {scope}", self.name()),
            (_, None) => format!("--backend {}", self.name()),
        }
    }

    /// The features that the backend declares, from the contract's tables.
    pub fn features(self) -> &'static [Feature] {
        match self {
            Self::KubePodGroup => &[
                Feature::TopologyRequired,
                Feature::TopologyPerClique,
                Feature::SelfHealing,
                Feature::Kubelet,
            ],
            Self::KubePodGang | Self::Koordinator => {
                &[Feature::AtomicPodGang, Feature::TopologyRequired, Feature::SelfHealing, Feature::Kubelet]
            }
            Self::KubeTree => &[
                Feature::AtomicPodGang,
                Feature::TopologyRequired,
                Feature::TopologyPerGroup,
                Feature::TopologyPerClique,
                Feature::TopologyNested,
                Feature::CompositePodGroup,
                Feature::SelfHealing,
                Feature::Kubelet,
            ],
            Self::Volcano => &[
                Feature::AtomicPodGang,
                Feature::TopologyRequired,
                Feature::TopologyPerClique,
                Feature::TopologyResource,
                Feature::SelfHealing,
                Feature::Kubelet,
            ],
            Self::Kai => &[
                Feature::AtomicPodGang,
                Feature::TopologyRequired,
                Feature::TopologyPerGroup,
                Feature::TopologyPerClique,
                Feature::TopologyNested,
                Feature::TopologyPreferred,
                Feature::TopologyResource,
                Feature::SelfHealing,
                Feature::Kubelet,
            ],
            Self::External => &[],
            Self::ExternalScheduler(scheduler) => scheduler.features(),
        }
    }

    /// Whether it declares a feature.
    pub fn declares(self, feature: Feature) -> bool {
        self.features().contains(&feature)
    }

    /// Whether a clause speaks about it: not another backend's own, and of an External profile not what its scheduler
    /// would have to do; of an external scheduler what a scheduler can be judged by.
    pub fn concerns(self, clause: &Clause) -> bool {
        clause.is_owed_by(self.name())
            && match self {
                Self::External => clause.backend().is_some(),
                Self::ExternalScheduler(scheduler) => scheduler.concerns(clause),
                // What 1.36 can say with PodGroups alone.
                Self::KubeTree => !["KUBE-01", "KUBE-07", "KUBE-08"].contains(&clause.id),
                _ => true,
            }
    }

    /// Whether it is about a profile of that other target's type.
    pub fn is_like(self, other: Self) -> bool {
        self == other || matches!((self, other), (Self::ExternalScheduler(_), Self::External))
    }

    /// Whether a clause is its to keep: one that speaks about it, and core or of a feature that it declares.
    pub fn owes(self, clause: &Clause) -> bool {
        self.concerns(clause) && clause.feature().is_none_or(|feature| self.declares(feature))
    }

    /// Whether a clause can be judged where the scheduler itself does not run: on the API server alone.
    pub fn is_contract(clause: &Clause) -> bool {
        clause.tier == Tier::Contract
    }

    /// Why a feature is not declared, for reports.
    pub fn why_not(self, feature: Feature) -> &'static str {
        match (self, feature) {
            (Self::ExternalScheduler(_), feature) => ExternalScheduler::why_not(feature),
            (Self::External, Feature::External) => {
                "nobody schedules for conformance-external; `run --backend external:NAME` judges a scheduler"
            }
            (_, Feature::External) => "its scheduler reads gang resources of its own, not PodGangs",
            (Self::KubePodGroup, Feature::AtomicPodGang) => {
                "kube-scheduler 1.36 schedules each PodGroup for itself; no PodGroup spans the cliques of a PodGang"
            }
            (Self::KubePodGang, Feature::TopologyPerClique) => {
                "one PodGroup holds the whole hard gang, and it has room for one topology key only"
            }
            (Self::KubePodGroup | Self::KubePodGang, Feature::TopologyPerGroup | Feature::TopologyNested) => {
                "a Workload of 1.36 has no level between PodGang and PodGroup"
            }
            (Self::KubePodGroup | Self::KubePodGang, Feature::CompositePodGroup) => {
                "CompositePodGroup comes with Kubernetes 1.37"
            }
            (Self::KubePodGroup | Self::KubePodGang | Self::KubeTree, Feature::TopologyPreferred) => {
                "schedulingConstraints know required keys only"
            }
            (_, Feature::CompositePodGroup) => "it has gang resources of its own",
            (Self::KubePodGroup | Self::KubePodGang | Self::KubeTree, Feature::TopologyResource) => {
                "kube-scheduler has no topology resource; it reads node labels"
            }
            (Self::Volcano, Feature::TopologyPerGroup) => {
                "a PodGroup has a subgroup per podgroup and none for the podgroups of a scaling group together"
            }
            (Self::Volcano, Feature::TopologyNested) => {
                "networkTopology has two levels, the job's and the subgroup's; three cannot be said"
            }
            (Self::Volcano, Feature::TopologyPreferred) => {
                "networkTopology is either hard or soft; a preferred level beside a required one cannot be said, and \
                 soft alone scores nodes only"
            }
            (
                Self::Koordinator,
                Feature::TopologyPerGroup | Feature::TopologyPerClique | Feature::TopologyNested,
            ) => "Koordinator honours one network-topology-spec per GangGroup",
            (Self::Koordinator, Feature::TopologyPreferred) => {
                "Koordinator 1.8 does not read PreferGather: it always packs to the lowest layer that holds the gang"
            }
            (Self::Koordinator, Feature::TopologyResource) => {
                "ClusterNetworkTopology is the administrator's; the backend reads it"
            }
            _ => "not declared",
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.scope() {
            Some(scope) => write!(f, "{} ({scope} scope)", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clauses::CLAUSES;

    #[test]
    fn an_external_profile_owes_what_is_promised_of_such_profiles_and_nothing_else() {
        let owed =
            |target: Target| CLAUSES.iter().filter(move |clause| target.owes(clause)).map(|clause| clause.id);
        assert_eq!(owed(Target::External).collect::<Vec<_>>(), ["EXT-01", "EXT-02"]);
        let others = TARGETS.into_iter().filter(|target| *target != Target::External);
        assert!(others.flat_map(owed).all(|id| !id.starts_with("EXT-")));
    }
}
