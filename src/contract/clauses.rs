//! The clauses of the contract, with which operators and their schedulers are tested.
//!
//! A clause is one promise, with an id that never changes its meaning. Cases name their clauses, and reports
//! count clauses. Only `contract/` says what a clause requires, how severe a violation is ([`Level`]), who
//! must satisfy it ([`Feature`], and [`Group::backend`] for one backend's own resources) and who promised it
//! ([`Source`]).
//!
//! The module is plain data, without clusters, cases or verdicts. The runner reads it to plan, and
//! `conformance_report` to name and count clauses.

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
    /// The environment that a run needs to decide it.
    pub environment: Environment,
    /// Who promised it; empty for what only this suite asks for.
    pub sources: &'static [Source<'static>],
    /// What a violation means for users.
    pub rationale: &'static str,
    /// The clause from which it was split.
    pub split_from: Option<&'static str>,
    /// The first version of the contract that has it.
    pub since: &'static str,
    /// Whether it applies to an external scheduler. It does not if it is about a backend's own rules,
    /// resources or APIs, or about several backends.
    pub of_external: bool,
    /// Whether its cases need an admitted topology constraint.
    pub needs_topology: bool,
    /// The only schedulers to which it applies; empty for all.
    pub only_on: &'static [&'static str],
    /// The gang scope of its backend to which it does not apply.
    pub not_in_scope: Option<&'static str>,
    /// Whether the order of objects of different kinds decides it.
    pub across_kinds: bool,
    /// Clauses that it repeats for its own backend: evidence for one of them counts for it.
    pub restates: &'static [&'static str],
    /// For a clause without a case: the part of the contract from which it follows, together with the
    /// declared features.
    pub rests_on: Option<&'static str>,
    /// A second feature that its cases show, on the targets that declare it.
    pub also_shows: Option<Feature>,
    /// The part of it that no case covers yet.
    pub not_tested: Option<&'static str>,
}

impl Clause {
    /// Whether only this suite asks for it.
    pub fn is_recommended(&self) -> bool {
        self.level == Level::Recommended
    }

    /// Whether it is required of every backend, or of every backend with gang scheduling.
    pub fn is_core(&self) -> bool {
        self.level == Level::Required && self.capability().is_none()
    }

    /// The feature that requires it, other than gang scheduling.
    pub fn capability(&self) -> Option<Feature> {
        self.feature.filter(|feature| *feature != Feature::GangScheduling)
    }

    /// The part of the contract it belongs to.
    pub fn group(&self) -> Option<&'static Group> {
        group(self.id)
    }

    /// Whether it is about the lifecycle of a PodCliqueSet after its creation.
    pub fn is_of_later_life(&self) -> bool {
        self.group().is_some_and(|group| group.is_later_life)
    }

    /// The kind of workload it is about.
    pub fn workload(&self) -> Workload {
        self.group().map_or(Workload::PodCliqueSets, |group| group.workload)
    }

    /// The `schedulerName` of the only backend to which it applies; `None` if it applies to all.
    pub fn backend(&self) -> Option<&'static str> {
        self.group().and_then(|group| group.backend)
    }

    /// Whether it applies to the backend of that name. If it has a feature, the backend must also declare
    /// that feature. `external:NAME` counts as [`EXTERNAL`].
    pub fn is_owed_by(&self, backend: &str) -> bool {
        let kind = backend.split_once(':').map_or(backend, |(kind, _)| kind);
        self.backend().is_none_or(|own| own == kind)
    }

    /// Its class in Grove's proposal 592. All backends of that proposal have gang scheduling.
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

/// The id of each clause as a constant, such as `AON_02`. The build script reads them from `contract/`.
#[allow(missing_docs)]
pub mod ids {
    include!(concat!(env!("OUT_DIR"), "/ids.rs"));
}

/// Whether the contract has a clause with that id. In a constant, this is decided at compile time.
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

/// The clause with that id.
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

/// The class of a clause in Grove's proposal 592, which sorts the suites it runs on several backends into
/// three classes; and a fourth class for the promises of one backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// Decided by the operator alone: every backend, no scheduler needed.
    Agnostic,
    /// Decided by the backend's scheduler: every backend, and each may differ.
    Sensitive,
    /// Requires a feature: only backends that declare it.
    CapabilityBound,
    /// One backend's own resources: no other backend is asked.
    BackendSpecific,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// The numbers of each group, in the contract's order. KUBE-02 and 03 and VOL-04 do not exist.
    fn contract() -> Vec<String> {
        let numbers: [(&str, Vec<u32>); 20] = [
            ("ADM", (1..=23).collect()),
            ("GANG", (1..=26).collect()),
            ("AON", (1..=20).collect()),
            ("TOPO", (1..=18).collect()),
            ("DEL", (1..=13).collect()),
            ("COEX", vec![1, 2, 3]),
            ("KAI", vec![1, 2, 3, 4, 5, 6, 8, 9, 7, 10, 11, 12, 13]),
            ("KUBE", std::iter::once(1).chain(4..=21).collect()),
            ("VOL", vec![1, 2, 3, 5, 6, 7, 8, 9, 10]),
            ("KOORD", (1..=15).collect()),
            ("EXT", vec![1, 2, 3, 4, 5]),
            ("KLT", (1..=8).collect()),
            ("MIG", (1..=7).collect()),
            ("TRN", (1..=26).collect()),
            ("AIC", (1..=4).collect()),
            ("STAT", (1..=17).collect()),
            ("TERM", (1..=32).collect()),
            ("START", (1..=11).collect()),
            ("UPD", (1..=37).collect()),
            ("AUTO", (1..=17).collect()),
        ];
        assert!(numbers.iter().map(|(group, _)| *group).eq(GROUPS.iter().map(|group| group.id)));
        numbers
            .iter()
            .flat_map(|(group, numbers)| numbers.iter().map(move |number| format!("{group}-{number:02}")))
            .collect()
    }

    #[test]
    fn ids_are_complete_and_in_the_order_of_the_contract() {
        let ids: Vec<&str> = CLAUSES.iter().map(|clause| clause.id).collect();
        assert_eq!(ids, contract());
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
            assert!(!clause.depends_on.is_empty(), "{}: of whom it asks", clause.id);
        }
        let mean = CLAUSES.iter().map(words).sum::<usize>() / CLAUSES.len();
        assert!(mean <= 25, "{mean} words on average");
    }

    #[test]
    fn a_clause_is_required_exactly_if_somebody_promised_it() {
        for clause in CLAUSES.iter() {
            assert_eq!(clause.level == Level::Required, !clause.sources.is_empty(), "{}", clause.id);
            for source in clause.sources {
                assert!(source.address().is_some(), "{}: {source:?} leads nowhere", clause.id);
            }
        }
    }

    #[test]
    fn clauses_and_parts_that_clauses_name_exist() {
        for clause in CLAUSES.iter() {
            assert!(clause.restates.iter().all(|id| super::clause(id).is_some()), "{}", clause.id);
            let rests_on_a_part = |id: &str| GROUPS.iter().any(|group| group.id == id);
            assert!(clause.rests_on.is_none_or(rests_on_a_part), "{}", clause.id);
            assert!(clause.split_from.is_none_or(|id| super::clause(id).is_some()), "{}", clause.id);
        }
    }

    #[rstest]
    #[case("AON-01", "default-scheduler", true)]
    #[case("COEX-02", "volcano", true)]
    #[case("KUBE-07", "default-scheduler", true)]
    #[case("KUBE-07", "koord-scheduler", false)]
    #[case("KAI-04", "kai-scheduler", true)]
    #[case("VOL-05", "kai-scheduler", false)]
    #[case("EXT-01", "external:my-scheduler", true)]
    #[case("AON-01", "external:my-scheduler", true)]
    #[case("EXT-01", "volcano", false)]
    fn only_its_own_backend_owes_a_clause_about_one(
        #[case] id: &str,
        #[case] backend: &str,
        #[case] owed: bool,
    ) {
        assert_eq!(clause(id).unwrap().is_owed_by(backend), owed);
    }

    #[rstest]
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
