//! A scheduler that reads PodGangs itself, with the name and features that its user declares (EXT-03). It
//! runs on the user's cluster. Its profile of type External has no gang resources.

use serde::{Deserialize, Serialize};

use super::arena::Arena;
use super::clauses::{EXTERNAL, Feature, Workload};
use super::target::{ReportedVersion, TARGETS, Target, TargetDescription};
use crate::targets::CONFORMANCE_EXTERNAL;

/// The name is a label value of PodGangs.
const MAX_NAME_LENGTH: usize = 63;

/// The features that a user may declare: all except those about resources that a backend creates.
pub const DECLARABLE: [Feature; 6] = [
    Feature::AtomicPodGang,
    Feature::TopologyRequired,
    Feature::TopologyPerGroup,
    Feature::TopologyPerClique,
    Feature::TopologyNested,
    Feature::TopologyPreferred,
];

pub(crate) const ALWAYS: [Feature; 2] = [Feature::GangScheduling, Feature::External];

/// The fields of an External profile that affect its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalProfile {
    /// Name of the profile, which is the `schedulerName` of its pods.
    pub scheduler: &'static str,
    /// Whether a scheduler with this name runs and binds pods.
    pub runs: bool,
}

/// Why a scheduler cannot be declared as external.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum NotExternal {
    #[error("{0:?} is the schedulerName of a backend or External profile that the suite defines")]
    Known(String),
    #[error(
        "{0:?} is not a valid profile name: use at most 63 letters, digits, '-', '_' and '.', with a letter \
         or digit at both ends"
    )]
    Name(String),
    #[error("{0} is about resources that a backend creates, and an External backend creates none")]
    Feature(Feature),
}

struct DescriptionData {
    scheduler: String,
    name: String,
    features: Vec<Feature>,
}

static DESCRIPTION_DATA: Arena<DescriptionData> = Arena::empty();
static DESCRIPTIONS: Arena<TargetDescription> = Arena::empty();

impl Target {
    /// Returns the target of the scheduler with this `schedulerName` and these declared features.
    pub fn external_scheduler(name: &str, declared: &[Feature]) -> Result<Self, NotExternal> {
        if TARGETS.iter().any(|target| target.backend() == name) {
            return Err(NotExternal::Known(name.to_owned()));
        }
        if !is_profile_name(name) {
            return Err(NotExternal::Name(name.to_owned()));
        }
        for feature in declared {
            if !ALWAYS.contains(feature) && !DECLARABLE.contains(feature) {
                return Err(NotExternal::Feature(*feature));
            }
        }
        let is_declared = |feature: &Feature| ALWAYS.contains(feature) || declared.contains(feature);
        let features = Feature::ALL
            .into_iter()
            .filter(|feature| feature.applies_to(Workload::PodCliqueSets))
            .filter(is_declared);
        let data = DESCRIPTION_DATA.add(DescriptionData {
            scheduler: name.to_owned(),
            name: format!("{EXTERNAL}:{name}"),
            features: features.collect(),
        });
        Ok(Self::of(DESCRIPTIONS.add(TargetDescription {
            id: "external-scheduler",
            backend: &data.scheduler,
            name: &data.name,
            features: &data.features,
            // The harness lacks the scheduler's program, so it cannot read the version.
            version: ReportedVersion::Always("unknown"),
            external: Some(ExternalProfile { scheduler: &data.scheduler, runs: true }),
            ..CONFORMANCE_EXTERNAL
        })))
    }
}

fn is_profile_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    name.len() <= MAX_NAME_LENGTH
        && name.chars().all(is_inner)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
}

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
    use super::*;
    use crate::clauses::CLAUSES;

    fn declaring(features: &[Feature]) -> Target {
        Target::external_scheduler("mine", features).unwrap()
    }

    #[rstest::rstest]
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
    fn an_external_scheduler_must_satisfy_the_clauses_of_its_features(#[case] id: &str, #[case] owed: bool) {
        let target = declaring(&[Feature::AtomicPodGang]);
        let clause = CLAUSES.iter().find(|clause| clause.id == id).unwrap();
        assert_eq!(target.owes(clause), owed);
    }

    #[test]
    fn names_and_options_contain_the_users_name_and_features() {
        let target = declaring(&[Feature::TopologyRequired, Feature::AtomicPodGang]);
        assert_eq!((target.backend(), target.name()), ("mine", "external:mine"));
        assert_eq!(target.slug(), "external-mine");
        assert_eq!(target.to_string(), "external:mine");
        assert_eq!(
            target.options(),
            "--backend external:mine --set target.features=AtomicPodGang,TopologyRequired"
        );
        assert_eq!(declaring(&[]).options(), "--backend external:mine");
        assert_ne!(target, declaring(&[]));
        assert_eq!(declaring(&[]), declaring(&[]));
        assert!(TARGETS.into_iter().all(|other| other < target), "it comes last in a report");
    }

    #[test]
    fn an_undeclared_feature_has_a_reason() {
        let target = declaring(&[Feature::AtomicPodGang]);
        assert_eq!(target.why_not(Feature::TopologyRequired), "not declared by target.features");
        assert_eq!(target.why_not(Feature::TopologyResource), "the backend creates no topology resources");
        let reason = target.why_not(Feature::Metrics);
        assert_eq!(reason, "an operator declares it for a backend; target.features cannot declare it");
    }

    #[rstest::rstest]
    #[case("volcano", &[], "\"volcano\" is the schedulerName of a backend")]
    #[case("conformance-external", &[], "External profile that the suite defines")]
    #[case("", &[], "is not a valid profile name")]
    #[case("a/b", &[], "is not a valid profile name")]
    #[case("-a", &[], "is not a valid profile name")]
    #[case("a", &[Feature::SelfHealing], "SelfHealing is about resources that a backend creates")]
    fn invalid_declarations_are_refused(
        #[case] name: &str,
        #[case] declared: &[Feature],
        #[case] message: &str,
    ) {
        let error = Target::external_scheduler(name, declared).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
