//! The supported Kubernetes versions, and which parts of the Workload API each has to be configured to serve.
//!
//! A new version is a line in each function here, a folder in `components/`, and its module in the catalogue.

use serde::{Deserialize, Serialize};

/// A minor version of Kubernetes, at the patch version that is pinned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kubernetes {
    /// Workload and PodGroup in `v1alpha2`.
    #[default]
    #[serde(rename = "1.36")]
    V1_36,
    /// The same in `v1beta1`, and CompositePodGroup in `v1alpha3`.
    #[serde(rename = "1.37")]
    V1_37,
}

impl Kubernetes {
    /// All of them, oldest first.
    pub const ALL: [Self; 2] = [Self::V1_36, Self::V1_37];

    /// As users say it, such as `1.36`.
    pub const fn minor(self) -> &'static str {
        match self {
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }

    /// What a gang is in it, in words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::V1_36 => "Workload and PodGroup: gangs side by side",
            Self::V1_37 => "CompositePodGroup above them: a gang is a tree",
        }
    }

    /// The pinned version, such as `v1.36.4`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V1_36 => "v1.36.4",
            Self::V1_37 => "v1.37.1",
        }
    }

    /// The feature gates of gangs and topology, all off by default.
    pub const fn workload_gates(self) -> &'static [&'static str] {
        match self {
            Self::V1_36 => &["GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling"],
            Self::V1_37 => &["GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"],
        }
    }

    /// The API versions of `scheduling.k8s.io` that are off by default.
    pub const fn workload_apis(self) -> &'static [&'static str] {
        match self {
            Self::V1_36 => &["scheduling.k8s.io/v1alpha2"],
            Self::V1_37 => &["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"],
        }
    }
}

impl std::fmt::Display for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.minor())
    }
}
