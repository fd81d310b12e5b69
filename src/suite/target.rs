//! What is judged: a backend in one of its variants, with the features it declares.

use serde::{Deserialize, Serialize};

use super::clauses::Feature;

/// How kube-scheduler's gangs are cut out of a PodGang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Variant {
    /// One gang per podgroup: the flat mapping of proposal 531.
    PodGroup,
    /// One gang per PodGang.
    PodGang,
}

/// A column of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The schedulerName of the backend.
    pub backend: Backend,
    /// Its variant.
    pub variant: Variant,
}

/// A backend of the suite. A new one is a variant here, its declared features and its expectations in
/// `suite/schedulers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Backend {
    /// kube-scheduler on the Workload API.
    #[serde(rename = "default-scheduler")]
    DefaultScheduler,
}

impl Backend {
    /// The schedulerName.
    pub fn name(self) -> &'static str {
        match self {
            Self::DefaultScheduler => "default-scheduler",
        }
    }
}

/// All columns of a default run.
pub const TARGETS: [Target; 2] = [
    Target { backend: Backend::DefaultScheduler, variant: Variant::PodGroup },
    Target { backend: Backend::DefaultScheduler, variant: Variant::PodGang },
];

impl Target {
    /// The features that the backend declares, from the contract's tables.
    pub fn features(self) -> &'static [Feature] {
        match self.variant {
            Variant::PodGroup => {
                &[Feature::TopologyRequired, Feature::TopologyPerClique, Feature::SelfHealing]
            }
            Variant::PodGang => &[Feature::AtomicPodGang, Feature::TopologyRequired, Feature::SelfHealing],
        }
    }

    /// Whether it declares a feature.
    pub fn declares(self, feature: Feature) -> bool {
        self.features().contains(&feature)
    }

    /// The variant's value of the gang-scope annotation.
    pub fn scope(self) -> &'static str {
        match self.variant {
            Variant::PodGroup => "PodGroup",
            Variant::PodGang => "PodGang",
        }
    }

    /// Why a feature is not declared, for reports.
    pub fn why_not(self, feature: Feature) -> &'static str {
        match (self.variant, feature) {
            (Variant::PodGroup, Feature::AtomicPodGang) => {
                "kube-scheduler 1.36 schedules each PodGroup for itself; no PodGroup spans the cliques of a PodGang"
            }
            (Variant::PodGang, Feature::TopologyPerClique) => {
                "one PodGroup holds the whole hard gang, and it has room for one topology key only"
            }
            (_, Feature::TopologyPerGroup | Feature::TopologyNested) => {
                "a Workload of 1.36 has no level between PodGang and PodGroup"
            }
            (_, Feature::TopologyPreferred) => "schedulingConstraints of 1.36 know required keys only",
            (_, Feature::TopologyResource) => "kube-scheduler has no topology resource; it reads node labels",
            _ => "not declared",
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} scope)", self.backend.name(), self.scope())
    }
}
