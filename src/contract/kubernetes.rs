//! The Kubernetes versions of control planes. To add one, add a row to [`RELEASES`] and a pinned module
//! (`install/catalogue.rs`). No other code compares versions. A preview is unreleased and has no pinned
//! module. Only `--kubernetes` selects it, and `--component NAME=version:V` builds its programs.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

struct Release {
    minor: &'static str,
    version: &'static str,
    about: &'static str,
    workload_gates: &'static [&'static str],
    workload_apis: &'static [&'static str],
    has_trees: bool,
    node_image: Option<&'static str>,
    is_preview: bool,
}

/// All versions: the released ones, oldest first, and then the previews. The first is the default.
const RELEASES: &[Release] = &[
    Release {
        minor: "1.36",
        version: "v1.36.5",
        about: "Workload and PodGroup: gangs are flat",
        workload_gates: &["GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling"],
        workload_apis: &["scheduling.k8s.io/v1alpha2"],
        has_trees: false,
        node_image: None,
        is_preview: false,
    },
    Release {
        minor: "1.37",
        version: "v1.37.2",
        about: "CompositePodGroup in addition: gangs can be trees",
        workload_gates: &["GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"],
        workload_apis: &["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"],
        has_trees: true,
        node_image: None,
        is_preview: false,
    },
    // Copied from 1.37 and untested: no reachable module proxy has served 1.38.
    Release {
        minor: "1.38",
        version: "v1.38.0-alpha.2",
        about: "Preview, built from the modules of 1.38.0-alpha.2",
        workload_gates: &["GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"],
        workload_apis: &["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"],
        has_trees: true,
        node_image: None,
        is_preview: true,
    },
];

const RELEASED: usize = {
    let mut row = 0;
    while row < RELEASES.len() && !RELEASES[row].is_preview {
        row += 1;
    }
    row
};

/// A minor version of Kubernetes with its pinned patch version: a row of [`RELEASES`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kubernetes(usize);

impl Kubernetes {
    /// All released versions, oldest first.
    pub const ALL: [Self; RELEASED] = Self::first();
    /// All versions that a user can select, oldest first.
    pub const WITH_PREVIEWS: [Self; RELEASES.len()] = Self::first();
    /// Kubernetes 1.36, which serves Workload and PodGroup in `v1alpha2`.
    pub const V1_36: Self = Self(0);
    /// Kubernetes 1.37, which serves Workload and PodGroup in `v1beta1`, and CompositePodGroup in `v1alpha3`.
    pub const V1_37: Self = Self(1);

    const fn first<const N: usize>() -> [Self; N] {
        let mut rows = [Self(0); N];
        let mut row = 0;
        while row < N {
            rows[row] = Self(row);
            row += 1;
        }
        rows
    }

    /// Returns the version with this minor number, such as `1.36`.
    pub fn named(minor: &str) -> Option<Self> {
        Self::WITH_PREVIEWS.into_iter().find(|version| version.minor() == minor)
    }

    /// Returns the released version after this one, to which a control plane can be upgraded.
    pub fn successor(self) -> Option<Self> {
        Self::ALL.get(self.0 + 1).copied()
    }

    /// Whether the minor version is not released yet.
    pub const fn is_preview(self) -> bool {
        self.release().is_preview
    }

    /// The version whose pinned modules apply: this one or, for a preview, the newest released one.
    #[must_use]
    pub const fn with_pins(self) -> Self {
        if self.is_preview() { Self(RELEASED - 1) } else { self }
    }

    const fn release(self) -> &'static Release {
        &RELEASES[self.0]
    }

    /// The minor number, such as `1.36`.
    pub const fn minor(self) -> &'static str {
        self.release().minor
    }

    /// The form of gangs in this version, for messages.
    pub const fn about(self) -> &'static str {
        self.release().about
    }

    /// The pinned version, such as `v1.36.5`, or the version of a preview.
    pub const fn version(self) -> &'static str {
        self.release().version
    }

    /// The feature gates of gangs and topology, which are disabled by default.
    pub const fn workload_gates(self) -> &'static [&'static str] {
        self.release().workload_gates
    }

    /// The API versions of `scheduling.k8s.io` that are disabled by default.
    pub const fn workload_apis(self) -> &'static [&'static str] {
        self.release().workload_apis
    }

    /// Whether this version serves CompositePodGroup, so that a gang can be a tree.
    pub const fn has_trees(self) -> bool {
        self.release().has_trees
    }

    /// kind's node image, if kind publishes one. The harness builds the images of the other versions.
    pub const fn node_image(self) -> Option<&'static str> {
        self.release().node_image
    }
}

impl std::fmt::Display for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.minor())
    }
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kubernetes({self})")
    }
}

impl Serialize for Kubernetes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.minor())
    }
}

impl<'de> Deserialize<'de> for Kubernetes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let minor = String::deserialize(deserializer)?;
        Self::named(&minor).ok_or_else(|| {
            let known: Vec<_> = Self::WITH_PREVIEWS.map(Self::minor).into();
            serde::de::Error::custom(format!(
                "unknown Kubernetes version {minor:?}: expected one of {}",
                known.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(version: &str) -> Vec<u32> {
        version.split('.').map(|number| number.parse().unwrap()).collect()
    }

    #[test]
    fn versions_are_distinct_and_oldest_first() {
        let minors = Kubernetes::WITH_PREVIEWS.map(|version| numbers(version.minor()));
        assert!(minors.is_sorted_by(|one, next| one < next), "{minors:?}");
    }

    #[rstest::rstest]
    #[case(Kubernetes::V1_36, "1.36")]
    #[case(Kubernetes::V1_37, "1.37")]
    fn constants_refer_to_their_versions(#[case] version: Kubernetes, #[case] minor: &str) {
        assert_eq!(version.minor(), minor);
    }

    #[test]
    fn the_newest_release_has_no_successor() {
        let successors = Kubernetes::ALL.map(Kubernetes::successor);
        assert_eq!(successors[0], Some(Kubernetes::V1_37));
        assert_eq!(successors[Kubernetes::ALL.len() - 1], None);
    }

    #[test]
    fn previews_are_selected_by_name_only() {
        assert!(
            Kubernetes::ALL.iter().all(|version| !version.is_preview() && version.with_pins() == *version)
        );
        let newest = Kubernetes::ALL[Kubernetes::ALL.len() - 1];
        for preview in &Kubernetes::WITH_PREVIEWS[Kubernetes::ALL.len()..] {
            assert!(preview.is_preview() && preview.with_pins() == newest, "{preview}");
            assert_eq!(Kubernetes::named(preview.minor()), Some(*preview));
        }
    }

    #[test]
    fn fields_of_a_row_are_consistent() {
        for version in Kubernetes::WITH_PREVIEWS {
            assert!(version.version().starts_with(&format!("v{version}.")), "{}", version.version());
            let gate = version.workload_gates().contains(&"CompositePodGroup");
            assert_eq!(version.has_trees(), gate, "{version}");
            let has_version =
                |image: &str| image.starts_with(&format!("kindest/node:{}@", version.version()));
            assert!(version.node_image().is_none_or(has_version), "{version}");
        }
    }

    #[test]
    fn a_version_is_serialized_as_its_minor_number() {
        for version in Kubernetes::WITH_PREVIEWS {
            let text = serde_json::to_string(&version).unwrap();
            assert_eq!(text, format!("\"{version}\""));
            assert_eq!(serde_json::from_str::<Kubernetes>(&text).unwrap(), version);
        }
        let error = serde_json::from_str::<Kubernetes>("\"1.2\"").unwrap_err().to_string();
        assert!(error.contains("unknown Kubernetes version \"1.2\": expected one of 1.36"), "{error}");
    }
}
