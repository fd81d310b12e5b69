//! A scheduler that reads PodGangs itself, with the name and features that its user declares (EXT-03).
//!
//! The suite does not run it and knows nothing about its internals. It runs on the user's cluster, where the
//! operator under test has a profile with its name and type External. Everything known about it comes from
//! the command line. A [target](super::target::Target) carries it to every check and into the header of every
//! history, so that a replay decides as the run did. Targets are copied everywhere, so it is never freed: one
//! leaked allocation per named scheduler.
//!
//! The clauses that apply to a scheduler decide about it: gang creation as far as the scheduler reads it
//! (GANG), all-or-nothing (AON), topology by the declared features (TOPO), deletion (DEL), and the parts of
//! admission that are the same for every backend (ADM). Clauses about gang resources do not apply to a
//! backend that creates none.

use serde::{Deserialize, Serialize};

use super::clauses::{EXTERNAL, Feature, Workload};
use super::target::{Column, ReportedVersion, TARGETS, Target};
use crate::columns::{CONFORMANCE_EXTERNAL, why_not_of_an_external_scheduler};

/// Maximum length of a label value: every PodGang has the name as a label.
const LABEL: usize = 63;

/// The features that may be declared: all except those about resources that a backend creates.
pub const DECLARABLE: [Feature; 6] = [
    Feature::AtomicPodGang,
    Feature::TopologyRequired,
    Feature::TopologyPerGroup,
    Feature::TopologyPerClique,
    Feature::TopologyNested,
    Feature::TopologyPreferred,
];

/// The features of every scheduler that reads PodGangs: it exists to bind gangs.
pub(crate) const ALWAYS: [Feature; 2] = [Feature::GangScheduling, Feature::External];

/// A profile of type External, as far as its pods depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalProfile {
    /// Its name: the `schedulerName` of its pods.
    pub scheduler: &'static str,
    /// Whether a scheduler of that name runs and binds pods.
    pub runs: bool,
}

/// Why a scheduler cannot be declared as external.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotExternal {
    /// A known scheduler has this name.
    #[error("{0:?} is the schedulerName of a backend of the suite's own, or of its stand-in")]
    Known(String),
    /// The name is not valid for a profile.
    #[error(
        "{0:?} is no name of a profile: expected at most 63 letters, digits, '-', '_' and '.', a letter or digit at \
         either end"
    )]
    Name(String),
    /// No check exists for this feature.
    #[error("{0} is about resources that a backend makes, and that of an external scheduler makes none")]
    Feature(Feature),
}

impl Target {
    /// The target of the scheduler with that `schedulerName` and these declared features.
    pub fn external_scheduler(name: &str, declared: &[Feature]) -> Result<Self, NotExternal> {
        if TARGETS.iter().any(|target| target.backend() == name) {
            return Err(NotExternal::Known(name.to_owned()));
        }
        let inner = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
        let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let ends = outer(name.chars().next()) && outer(name.chars().last());
        if name.len() > LABEL || !name.chars().all(inner) || !ends {
            return Err(NotExternal::Name(name.to_owned()));
        }
        let strange = |feature: &&Feature| !ALWAYS.contains(feature) && !DECLARABLE.contains(feature);
        if let Some(feature) = declared.iter().find(strange) {
            return Err(NotExternal::Feature(*feature));
        }
        let is_declared = |feature: &Feature| ALWAYS.contains(feature) || declared.contains(feature);
        let (features, others): (Vec<_>, Vec<_>) = Feature::ALL
            .into_iter()
            .filter(|feature| feature.speaks_of(Workload::PodCliqueSets))
            .partition(is_declared);
        let why_not = others.into_iter().map(|feature| (feature, why_not_of_an_external_scheduler(feature)));
        let column: &'static str = format!("{EXTERNAL}:{name}").leak();
        let scheduler = column.split_once(':').map_or(column, |(_, name)| name);
        Ok(Self::of(Box::leak(Box::new(Column {
            id: "external-scheduler",
            backend: scheduler,
            name: column,
            features: features.leak(),
            why_not: why_not.collect::<Vec<_>>().leak(),
            // The harness cannot ask the scheduler's program.
            version: ReportedVersion::Always("unknown"),
            external: Some(ExternalProfile { scheduler, runs: true }),
            ..CONFORMANCE_EXTERNAL
        }))))
    }
}

/// The declaration of an external scheduler, as histories store it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Declared {
    name: String,
    features: Vec<Feature>,
}

impl Declared {
    pub(crate) fn of(target: Target) -> Self {
        Self { name: target.backend().to_owned(), features: target.features().to_vec() }
    }

    pub(crate) fn target(&self) -> Result<Target, NotExternal> {
        Target::external_scheduler(&self.name, &self.features)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::clauses::CLAUSES;

    fn declaring(features: &[Feature]) -> Target {
        Target::external_scheduler("mine", features).unwrap()
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
        assert!(TARGETS.into_iter().all(|other| other < target), "it comes last in a report");
    }

    #[test]
    fn what_it_does_not_declare_has_a_reason() {
        let target = declaring(&[Feature::AtomicPodGang]);
        assert_eq!(target.why_not(Feature::TopologyRequired), "not declared by --features");
        assert_eq!(target.why_not(Feature::TopologyResource), "its backend makes no topology resources");
    }

    #[rstest]
    #[case("volcano", &[], "\"volcano\" is the schedulerName of a backend")]
    #[case("conformance-external", &[], "or of its stand-in")]
    #[case("", &[], "is no name of a profile")]
    #[case("a/b", &[], "is no name of a profile")]
    #[case("-a", &[], "is no name of a profile")]
    #[case("a", &[Feature::SelfHealing], "SelfHealing is about resources that a backend makes")]
    fn what_is_no_external_scheduler(#[case] name: &str, #[case] declared: &[Feature], #[case] says: &str) {
        let error = Target::external_scheduler(name, declared).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
