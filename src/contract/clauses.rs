//! The clauses, read from `contract/` at the top of the repository. The meaning of an id never changes.

mod feature;
mod group;
mod level;
mod source;
mod table;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use feature::{Feature, UnknownFeature};
pub use group::{EXTERNAL, Group, Workload, group};
pub use level::{Environment, Level, Party};
pub use source::{CitedFile, Source};
pub use table::{CLAUSES, GROUPS};

/// One promise of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Group and number, such as `AON-02`.
    pub id: &'static str,
    /// A short summary.
    pub title: &'static str,
    /// The promise itself.
    pub requirement: &'static str,
    /// How severe a violation is.
    pub level: Level,
    /// The feature that requires the clause; `None` if every backend must satisfy it.
    pub feature: Option<Feature>,
    /// The observations that decide the clause.
    pub tier: Tier,
    /// The programs that can cause a violation.
    pub depends_on: &'static [Party],
    /// The environment that a run needs to decide the clause.
    pub environment: Environment,
    /// Who made the promise. Empty for a clause that only this suite recommends.
    pub sources: &'static [Source<'static>],
    /// What a violation means for users.
    pub rationale: &'static str,
    /// The clause from which this clause was split.
    pub split_from: Option<&'static str>,
    /// The first version of the contract that has the clause.
    pub since: &'static str,
    /// False for a clause about rules, resources or APIs that an external scheduler does not have.
    pub applies_to_external: bool,
    /// Whether the cases of the clause need an admitted topology constraint.
    pub needs_topology: bool,
    /// Whether the cases of the clause need gang resources that the operator creates, if the backend has any.
    pub needs_gang_resources: bool,
    /// The only schedulers to which the clause applies. Empty for all schedulers.
    pub only_on: &'static [&'static str],
    /// The schedulers to which the clause does not apply.
    pub not_on: &'static [&'static str],
    /// The gang scope to which the clause does not apply.
    pub not_in_scope: Option<&'static str>,
    /// Whether the verdict depends on the order of objects of different kinds.
    pub across_kinds: bool,
    /// Clauses that this clause repeats for its own backend. Evidence for them is evidence for this clause.
    pub restates: &'static [&'static str],
    /// The part of the contract that implies this clause, for a clause without a case.
    pub rests_on: Option<&'static str>,
    /// A second feature, if declared, for which the cases of the clause are evidence.
    pub also_shows: Option<Feature>,
    /// The part of the clause that no case tests yet.
    pub not_tested: Option<&'static str>,
}

impl Clause {
    /// Whether only this suite recommends the clause.
    pub fn is_recommended(&self) -> bool {
        self.level == Level::Recommended
    }

    /// Whether every backend, or every backend with gang scheduling, must satisfy the clause.
    pub fn is_core(&self) -> bool {
        self.level == Level::Required && self.capability().is_none()
    }

    /// The feature, other than gang scheduling, that requires the clause.
    pub fn capability(&self) -> Option<Feature> {
        self.feature.filter(|feature| *feature != Feature::GangScheduling)
    }

    /// The group of the clause.
    pub fn group(&self) -> Option<&'static Group> {
        group(self.id)
    }

    /// Whether the clause is about the lifecycle of a PodCliqueSet after its creation.
    pub fn is_lifecycle(&self) -> bool {
        self.group().is_some_and(|group| group.is_about_lifecycle)
    }

    /// The kind of workload that the clause is about.
    pub fn workload(&self) -> Workload {
        self.group().map_or(Workload::PodCliqueSets, |group| group.workload)
    }

    /// The `schedulerName` of the only backend to which the clause applies, or `None` for all backends.
    pub fn backend(&self) -> Option<&'static str> {
        self.group().and_then(|group| group.backend)
    }

    /// Whether the clause applies to the backend, regardless of features. `external:NAME` is [`EXTERNAL`].
    pub fn applies_to_backend(&self, backend: &str) -> bool {
        let kind = backend.split_once(':').map_or(backend, |(kind, _)| kind);
        self.backend().is_none_or(|own| own == kind)
    }

    /// The class of the clause in Grove's proposal 592, in which every backend has gang scheduling.
    pub fn class(&self) -> Class {
        match (self.backend(), self.capability(), self.tier) {
            (Some(_), _, _) => Class::BackendSpecific,
            (None, Some(_), _) => Class::CapabilityBound,
            (None, None, Tier::Contract) => Class::Agnostic,
            (None, None, Tier::Scheduling) => Class::Sensitive,
        }
    }
}

/// The semantic version of the contract: a new or stricter required clause raises the minor number.
pub const VERSION: &str = "0.2.0";

/// The id of each clause as a constant, such as `AON_02`, written by the build script.
#[allow(missing_docs)]
pub mod ids {
    include!(concat!(env!("OUT_DIR"), "/ids.rs"));
}

/// Whether the contract has a clause with this id. `const`, so that an unknown id does not compile.
pub const fn is_known(id: &str) -> bool {
    let mut index = 0;
    while index < ids::ALL.len() {
        if is_same(ids::ALL[index].as_bytes(), id.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([first, one @ ..], [second, other @ ..]) => *first == *second && is_same(one, other),
        _ => false,
    }
}

/// Returns the clause with this id.
pub fn clause(id: &str) -> Option<&'static Clause> {
    CLAUSES.iter().find(|clause| clause.id == id)
}

/// The observations that decide a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// The API server alone: admission, objects and their order.
    Contract,
    /// The actions of a real scheduler on the pods.
    Scheduling,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Tier::Contract => "contract",
            Tier::Scheduling => "scheduling",
        })
    }
}

/// The class of a clause in Grove's proposal 592, which has three classes of suites for several backends. The
/// fourth class is for the promises of one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// Applies to every backend, and depends on the operator alone.
    Agnostic,
    /// Applies to every backend, and depends on the backend's scheduler.
    Sensitive,
    /// Applies to the backends that declare a feature.
    CapabilityBound,
    /// Applies to one backend, because it is about that backend's own resources.
    BackendSpecific,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of deleted clauses, which are never reused.
    const DELETED: [&str; 3] = ["KUBE-02", "KUBE-03", "VOL-04"];

    /// The released versions, each with the number of its new clauses.
    const RELEASED: [(&str, usize); 1] = [("0.1.0", 205)];

    #[test]
    fn the_ids_of_a_group_have_no_gaps_and_are_used_once() {
        for group in GROUPS.iter() {
            let ids = CLAUSES.iter().map(|clause| clause.id).chain(DELETED);
            let is_of_group = |id: &&str| id.split_once('-').is_some_and(|(prefix, _)| prefix == group.id);
            let mut ids: Vec<&str> = ids.filter(is_of_group).collect();
            ids.sort_unstable();
            let numbered: Vec<_> =
                (1..=ids.len()).map(|number| format!("{}-{number:02}", group.id)).collect();
            assert_eq!(ids, numbered);
        }
        assert!(CLAUSES.iter().all(|clause| clause.group().is_some()));
    }

    #[test]
    fn no_released_clause_disappears() {
        for (version, new) in RELEASED {
            assert_eq!(CLAUSES.iter().filter(|clause| clause.since == version).count(), new, "{version}");
        }
    }

    #[test]
    fn every_clause_has_a_constant() {
        let mut found: Vec<&str> = CLAUSES.iter().map(|clause| clause.id).collect();
        found.sort_unstable();
        assert_eq!(found, ids::ALL);
        assert!(is_known(ids::AON_02) && !is_known("AON-99") && !is_known("AON-0"));
    }

    #[test]
    fn every_clause_is_one_short_promise() {
        let words = |clause: &Clause| clause.requirement.split_whitespace().count();
        for clause in CLAUSES.iter() {
            let requirement = clause.requirement;
            assert!(clause.title.split(' ').count() <= 8, "{}: {:?}", clause.id, clause.title);
            assert!(words(clause) <= 40, "{}: {} words: {requirement:?}", clause.id, words(clause));
            let word = if clause.is_recommended() { "SHOULD" } else { "MUST" };
            assert!(requirement.contains(word), "{}: no {word}: {requirement:?}", clause.id);
            assert!(
                requirement.ends_with('.') && !requirement.contains("  "),
                "{}: {requirement:?}",
                clause.id
            );
            assert!(!clause.depends_on.is_empty(), "{}: dependsOn is empty", clause.id);
        }
        let mean = CLAUSES.iter().map(words).sum::<usize>() / CLAUSES.len();
        assert!(mean <= 25, "{mean} words on average");
    }

    #[test]
    fn exactly_the_required_clauses_have_sources() {
        for clause in CLAUSES.iter() {
            assert_eq!(clause.level == Level::Required, !clause.sources.is_empty(), "{}", clause.id);
            for source in clause.sources {
                assert!(source.address().is_some(), "{}: {source:?} has no address", clause.id);
            }
        }
    }

    #[test]
    fn references_between_clauses_exist() {
        for clause in CLAUSES.iter() {
            assert!(clause.restates.iter().all(|id| super::clause(id).is_some()), "{}", clause.id);
            let is_group = |id: &str| GROUPS.iter().any(|group| group.id == id);
            assert!(clause.rests_on.is_none_or(is_group), "{}", clause.id);
            assert!(clause.split_from.is_none_or(|id| super::clause(id).is_some()), "{}", clause.id);
        }
    }

    #[rstest::rstest]
    #[case("AON-01", "default-scheduler", true)]
    #[case("COEX-02", "volcano", true)]
    #[case("KUBE-07", "default-scheduler", true)]
    #[case("KUBE-07", "koord-scheduler", false)]
    #[case("KAI-04", "kai-scheduler", true)]
    #[case("VOL-05", "kai-scheduler", false)]
    #[case("EXT-01", "external:my-scheduler", true)]
    #[case("AON-01", "external:my-scheduler", true)]
    #[case("EXT-01", "volcano", false)]
    fn a_clause_about_one_backend_applies_to_no_other(
        #[case] id: &str,
        #[case] backend: &str,
        #[case] applies: bool,
    ) {
        assert_eq!(clause(id).unwrap().applies_to_backend(backend), applies);
    }

    #[rstest::rstest]
    #[case("GANG-01", Class::Agnostic)]
    #[case("COEX-02", Class::Agnostic)]
    #[case("AON-02", Class::Sensitive)]
    #[case("AON-08", Class::CapabilityBound)]
    #[case("GANG-12", Class::CapabilityBound)]
    #[case("KUBE-07", Class::BackendSpecific)]
    #[case("KAI-07", Class::BackendSpecific)]
    fn a_class_follows_from_tier_feature_and_group(#[case] id: &str, #[case] class: Class) {
        assert_eq!(clause(id).unwrap().class(), class);
    }
}
