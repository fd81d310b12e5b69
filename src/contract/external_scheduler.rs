//! A scheduler that reads PodGangs itself, with the name and features that its user declares (EXT-03).
//!
//! The suite does not run it and knows nothing of its internals: it runs on the user's cluster, where the operator
//! under test has a profile with its name and type External. All that is known comes from the command line, and a
//! [target](super::target::Target) must carry it to every judge and into the header of every history, so that a
//! replay judges as the run did. Targets are copied everywhere, so this lives as long as the program: one leaked
//! allocation per scheduler that the command line, or a history, names.
//!
//! It is judged by what applies to a scheduler: gang creation as far as the scheduler reads it (GANG),
//! all-or-nothing (AON), topology by the declared features (TOPO), deletion (DEL), and admission where it is the
//! same for every backend (ADM). Clauses about gang resources do not apply to a backend that creates none.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::clauses::{Clause, EXTERNAL, Feature};
use super::target::TARGETS;

/// Longest value of a label: the name becomes one, of every PodGang.
const LABEL: usize = 63;

/// What may be declared: all but what is about resources that a backend makes.
pub const DECLARABLE: [Feature; 6] = [
    Feature::AtomicPodGang,
    Feature::TopologyRequired,
    Feature::TopologyPerGroup,
    Feature::TopologyPerClique,
    Feature::TopologyNested,
    Feature::TopologyPreferred,
];

/// Clauses that say nothing of it: rules and resources of a backend's own, queues and APIs that it could lose, and a rest
/// of which nobody knows what it writes of its own accord.
const NOT_ITS: [&str; 9] = [
    "ADM-06", "ADM-08", "ADM-09", "ADM-10", "ADM-11", "GANG-08", "GANG-09", "GANG-11",
    // What admission makes of a profile is shown where the harness writes the profile: `run --backend external`.
    "EXT-02",
];

/// Clauses of every backend whose cases need a topology constraint that is admitted.
const OF_TOPOLOGY: [&str; 2] = ["ADM-03", "ADM-07"];

/// A profile of type External, as far as it matters what is expected of its pods.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalProfile {
    /// Its name: the `schedulerName` of its pods.
    pub scheduler: &'static str,
    /// Whether there is a scheduler of that name, which binds what it is given.
    pub runs: bool,
}

/// An external scheduler.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalScheduler {
    /// `external:` and its name.
    column: &'static str,
    features: &'static [Feature],
    profile: ExternalProfile,
}

/// Why there can be no such external scheduler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotExternal {
    /// It has the name of another.
    #[error("{0:?} is the schedulerName of a backend of the suite's own, or of its stand-in")]
    Known(String),
    /// It has no name that a profile can have.
    #[error(
        "{0:?} is no name of a profile: expected at most 63 letters, digits, '-', '_' and '.', a letter or digit at \
         either end"
    )]
    Name(String),
    /// What it declares cannot be judged.
    #[error("{0} is about resources that a backend makes, and that of an external scheduler makes none")]
    Feature(Feature),
}

impl ExternalScheduler {
    /// The one of that `schedulerName`, with what it declares.
    ///
    /// # Errors
    /// [`NotExternal`].
    pub fn new(name: &str, declared: &[Feature]) -> Result<&'static Self, NotExternal> {
        if TARGETS.iter().any(|target| target.backend() == name) {
            return Err(NotExternal::Known(name.to_owned()));
        }
        let inner = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
        let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let ends = outer(name.chars().next()) && outer(name.chars().last());
        if name.len() > LABEL || !name.chars().all(inner) || !ends {
            return Err(NotExternal::Name(name.to_owned()));
        }
        let strange = |feature: &&Feature| **feature != Feature::External && !DECLARABLE.contains(feature);
        if let Some(feature) = declared.iter().find(strange) {
            return Err(NotExternal::Feature(*feature));
        }
        let column: &'static str = format!("{EXTERNAL}:{name}").leak();
        let is_declared = |feature: &Feature| *feature == Feature::External || declared.contains(feature);
        let features: &'static [Feature] =
            Feature::ALL.into_iter().filter(is_declared).collect::<Vec<_>>().leak();
        let scheduler = column.split_once(':').map_or(column, |(_, name)| name);
        Ok(Box::leak(Box::new(Self { column, features, profile: ExternalProfile { scheduler, runs: true } })))
    }

    /// Its `schedulerName`.
    pub fn name(&self) -> &'static str {
        self.profile.scheduler
    }

    /// The backend in reports and on the command line, such as `external:my-scheduler`.
    pub fn column(&self) -> &'static str {
        self.column
    }

    /// What it declares, and that it is one.
    pub fn features(&self) -> &'static [Feature] {
        self.features
    }

    /// Its profile.
    pub fn profile(&self) -> &ExternalProfile {
        &self.profile
    }

    /// Whether a clause that every backend may owe, or one of its own, says anything of it.
    pub fn concerns(&self, clause: &Clause) -> bool {
        let is_shown =
            !OF_TOPOLOGY.contains(&clause.id) || self.features.contains(&Feature::TopologyRequired);
        is_shown && !NOT_ITS.contains(&clause.id) && !clause.id.starts_with("COEX-")
    }

    /// The words of the command line that choose it.
    pub fn words(&self) -> String {
        let declared = self.features.iter().filter(|feature| **feature != Feature::External);
        let declared: Vec<String> = declared.map(ToString::to_string).collect();
        match declared.is_empty() {
            true => format!("--backend {}", self.column),
            false => format!("--backend {} --features {}", self.column, declared.join(",")),
        }
    }

    /// Why a feature is not declared, for reports.
    pub fn why_not(feature: Feature) -> &'static str {
        match feature {
            Feature::SelfHealing => "its backend makes no resources that could be deleted or edited",
            Feature::TopologyResource => "its backend makes no topology resources",
            _ => "not declared by --features",
        }
    }
}

/// As histories have it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    name: String,
    features: Vec<Feature>,
}

impl Serialize for ExternalScheduler {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { name: self.name().to_owned(), features: self.features.to_vec() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for &'static ExternalScheduler {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { name, features } = Written::deserialize(deserializer)?;
        ExternalScheduler::new(&name, &features).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::clauses::CLAUSES;
    use crate::target::Target;

    fn declaring(features: &[Feature]) -> Target {
        Target::ExternalScheduler(ExternalScheduler::new("mine", features).unwrap())
    }

    #[rstest]
    #[case("AON-02", true)]
    #[case("AON-08", true)]
    #[case("TOPO-01", false)]
    #[case("GANG-02", true)]
    #[case("GANG-08", false)]
    #[case("DEL-08", true)]
    #[case("ADM-01", true)]
    #[case("ADM-07", false)]
    #[case("COEX-01", false)]
    #[case("KUBE-01", false)]
    #[case("EXT-01", true)]
    #[case("EXT-02", false)]
    #[case("EXT-03", true)]
    fn what_one_that_declares_atomic_gangs_owes(#[case] id: &str, #[case] owed: bool) {
        let target = declaring(&[Feature::AtomicPodGang]);
        let clause = CLAUSES.iter().find(|clause| clause.id == id).unwrap();
        assert_eq!(target.owes(clause), owed);
    }

    #[test]
    fn its_names() {
        let target = declaring(&[Feature::TopologyRequired, Feature::AtomicPodGang]);
        assert_eq!((target.backend(), target.name()), ("mine", "external:mine"));
        assert_eq!(target.slug(), "external-mine");
        assert_eq!(target.to_string(), "external:mine");
        assert_eq!(target.words(), "--backend external:mine --features AtomicPodGang,TopologyRequired");
        assert_eq!(declaring(&[]).words(), "--backend external:mine");
        assert_ne!(target, declaring(&[]));
        assert_eq!(declaring(&[]), declaring(&[]));
    }

    #[rstest]
    #[case("volcano", &[], "\"volcano\" is the schedulerName of a backend")]
    #[case("conformance-external", &[], "or of its stand-in")]
    #[case("", &[], "is no name of a profile")]
    #[case("a/b", &[], "is no name of a profile")]
    #[case("-a", &[], "is no name of a profile")]
    #[case("a", &[Feature::SelfHealing], "SelfHealing is about resources that a backend makes")]
    fn what_is_no_external_scheduler(#[case] name: &str, #[case] declared: &[Feature], #[case] says: &str) {
        let error = ExternalScheduler::new(name, declared).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
