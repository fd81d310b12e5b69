//! The contract: the clauses by which an operator and its schedulers are judged.
//!
//! A clause is one promise with an id that never changes its meaning. Cases name the clauses they judge,
//! reports count clauses, and `contract/` is the only place that says what a clause requires, what a breach
//! weighs ([`Level`]), who owes it ([`Feature`], and [`Group::backend`] where it is about one backend's own
//! resources) and who promised it ([`Source`]).
//!
//! The module is plain data: it knows no cluster, no case and no verdict. The runner reads it to plan, and
//! `conformance_report` reads it to name and to count what was judged.

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
    /// What it is about, in a few words.
    pub title: &'static str,
    /// The promise itself.
    pub requirement: &'static str,
    /// What a breach weighs.
    pub level: Level,
    /// The feature of those who owe it; `None` if everybody does.
    pub feature: Option<Feature>,
    /// What the clause is judged on.
    pub tier: Tier,
    /// Whose fault a breach can be.
    pub depends_on: &'static [Party],
    /// What a run needs to decide it.
    pub environment: Environment,
    /// Who promised it; empty for what only this suite asks for.
    pub sources: &'static [Source],
    /// What a breach means to users.
    pub rationale: &'static str,
    /// The clause of which it was a part.
    pub split_from: Option<&'static str>,
    /// The version of the contract that has it first.
    pub since: &'static str,
    /// Whether it says anything of an external scheduler: not if it is about rules, resources or APIs that a backend
    /// has of its own, or about several backends.
    pub of_external: bool,
    /// Whether its cases need a topology constraint that is admitted.
    pub needs_topology: bool,
    /// The only schedulers on which it says anything; empty for all.
    pub only_on: &'static [&'static str],
    /// The gang scope of its backend of which it says nothing.
    pub not_in_scope: Option<&'static str>,
    /// Whether it is judged by the order of objects of different kinds.
    pub across_kinds: bool,
    /// The clauses of which it says that they hold on its backend too: whatever shows one of them shows it.
    pub restates: &'static [&'static str],
    /// The part of the contract on which it rests, beside the features that are declared, where no case judges it: it
    /// follows from what was found about those.
    pub rests_on: Option<&'static str>,
    /// A feature that its cases show beside the one that it is owed with, on the targets that declare it.
    pub also_shows: Option<Feature>,
    /// The part of it that no case judges yet.
    pub not_tested: Option<&'static str>,
}

impl Clause {
    /// Whether only this suite asks for it.
    pub fn is_recommended(&self) -> bool {
        self.level == Level::Recommended
    }

    /// Whether it is required of everybody, or of everybody who declares gang scheduling.
    pub fn is_core(&self) -> bool {
        self.level == Level::Required && self.capability().is_none()
    }

    /// The feature with which it is owed beyond gang scheduling.
    pub fn capability(&self) -> Option<Feature> {
        self.feature.filter(|feature| *feature != Feature::GangScheduling)
    }

    /// The part of the contract it belongs to.
    pub fn group(&self) -> Option<&'static Group> {
        group(self.id)
    }

    /// Whether it is about what becomes of a PodCliqueSet after its creation.
    pub fn is_of_later_life(&self) -> bool {
        self.group().is_some_and(|group| group.is_later_life)
    }

    /// What it is about.
    pub fn workload(&self) -> Workload {
        self.group().map_or(Workload::PodCliqueSets, |group| group.workload)
    }

    /// The `schedulerName` of the only backend it speaks about; `None` where it speaks about all.
    pub fn backend(&self) -> Option<&'static str> {
        self.group().and_then(|group| group.backend)
    }

    /// Whether it speaks about the backend of that name at all; with a feature, that backend must also
    /// declare it. `external:NAME` owes what [`EXTERNAL`] owes.
    pub fn is_owed_by(&self, backend: &str) -> bool {
        let kind = backend.split_once(':').map_or(backend, |(kind, _)| kind);
        self.backend().is_none_or(|own| own == kind)
    }

    /// Its class in Grove's proposal 592. Gang scheduling is what that proposal's backends have in common.
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

/// The clause of that id.
pub fn clause(id: &str) -> Option<&'static Clause> {
    CLAUSES.iter().find(|clause| clause.id == id)
}

/// What a clause is judged on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// The API server alone: admission, objects and their order.
    Contract,
    /// What a real scheduler did with the pods.
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

/// What a clause's verdict depends on: the three classes into which Grove's proposal 592 sorts the suites it
/// runs on several backends, and a fourth for what one backend alone promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// The controller alone: every backend, no scheduler needed.
    Agnostic,
    /// What the backend's scheduler does: every backend, and each may differ.
    Sensitive,
    /// A feature: only backends that declare it.
    CapabilityBound,
    /// One backend's own resources: no other is asked.
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
            ("TERM", (1..=31).collect()),
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
