//! The contract: the clauses a Grove backend is judged by.
//!
//! A clause is one promise with an id that never changes its meaning. Cases name the clauses they judge,
//! reports count clauses, and `contract/` is the only place that says what a clause demands, how it is
//! judged ([`Tier`]), of whom ([`Level`], and [`Group::backend`] where it is about one backend's own
//! resources) and whose promise it is ([`Clause::source`]).
//!
//! The module is plain data: it knows no cluster, no case and no verdict. The runner reads it to plan, and
//! `conformance_report` reads it to name and to count what was judged.

mod group;
mod level;
mod table;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use group::{EXTERNAL, Group, Workload, group};
pub use level::{Feature, Level, UnknownFeature, UnknownLevel};
pub use table::{CLAUSES, GROUPS};

/// One promise of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Group and number, such as `AON-02`.
    pub id: &'static str,
    /// What the clause is judged on.
    pub tier: Tier,
    /// Which of the backends it concerns owe it.
    pub level: Level,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// The promise itself.
    pub text: &'static str,
    /// Who made the promise, comma-separated: `G375`, `G498`, `G525`, `G531`, `G537`, `G677`, `G787` (Grove proposals),
    /// `GROVE` (upstream's behaviour, with the e2e scenario where there is one), `BRIEF` (the four promises
    /// this suite exists for), `KAR53` (the requirement on gang scheduling of the Kubernetes AI conformance programme), `LIFE` (read in upstream's code, where it promises nothing), `OWN` (ours, beyond
    /// upstream), `#N` (a thread of upstream's).
    pub source: &'static str,
    /// Whether it says anything of an external scheduler: not if it is about rules, resources or APIs that a backend
    /// has of its own, or about several backends.
    pub of_external: bool,
    /// Whether its cases need a topology constraint that is admitted.
    pub needs_topology: bool,
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
    /// Whether the promise is ours alone. Reports count these apart from upstream's, so that an operator
    /// that is not ours can be green on its own promises.
    pub fn is_own(&self) -> bool {
        self.source == OWN
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

    /// The feature a backend must declare to owe this clause; `None` for core.
    pub fn feature(&self) -> Option<Feature> {
        self.level.feature()
    }

    /// Its class in Grove's proposal 592.
    pub fn class(&self) -> Class {
        match (self.backend(), self.level, self.tier) {
            (Some(_), _, _) => Class::BackendSpecific,
            (None, Level::Extended(_), _) => Class::CapabilityBound,
            (None, Level::Core, Tier::Contract) => Class::Agnostic,
            (None, Level::Core, Tier::Scheduling) => Class::Sensitive,
        }
    }
}

/// The [`Clause::source`] of a promise that is ours alone.
pub const OWN: &str = "OWN";

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
            ("ADM", (1..=12).collect()),
            ("GANG", (1..=13).collect()),
            ("AON", (1..=13).collect()),
            ("TOPO", (1..=13).collect()),
            ("DEL", (1..=9).collect()),
            ("COEX", vec![1, 2]),
            ("KAI", vec![1, 2, 3, 4, 5, 6, 8, 9, 7]),
            ("KUBE", vec![1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            ("VOL", vec![1, 2, 3, 5]),
            ("KOORD", (1..=7).collect()),
            ("EXT", vec![1, 2, 3]),
            ("KLT", (1..=7).collect()),
            ("MIG", (1..=5).collect()),
            ("TRN", (1..=16).collect()),
            ("AIC", (1..=3).collect()),
            ("STAT", (1..=11).collect()),
            ("TERM", (1..=21).collect()),
            ("START", (1..=9).collect()),
            ("UPD", (1..=25).collect()),
            ("AUTO", (1..=10).collect()),
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
    fn every_clause_says_what_it_demands_and_who_demands_it() {
        let known = [
            "G375", "G498", "G525", "G531", "G537", "G677", "G787", "GROVE", "BRIEF", "LIFE", "T3186", "KPG",
            "TRAINER", "K5547", "KAR53", OWN,
        ];
        let is_thread = |origin: &str| origin.strip_prefix('#').is_some_and(|n| n.parse::<u32>().is_ok());
        for clause in CLAUSES.iter() {
            assert!(clause.title.split(' ').count() <= 8, "{}: {:?}", clause.id, clause.title);
            assert!(
                clause.text.len() > 15 && !clause.text.contains("  "),
                "{}: {:?}",
                clause.id,
                clause.text
            );
            for source in clause.source.split(", ") {
                let origin = source.split(' ').next().unwrap_or_default();
                assert!(known.contains(&origin) || is_thread(origin), "{}: source {source:?}", clause.id);
            }
        }
    }

    #[test]
    fn clauses_and_parts_that_clauses_name_exist() {
        for clause in CLAUSES.iter() {
            assert!(clause.restates.iter().all(|id| super::clause(id).is_some()), "{}", clause.id);
            let rests_on_a_part = |id: &str| GROUPS.iter().any(|group| group.id == id);
            assert!(clause.rests_on.is_none_or(rests_on_a_part), "{}", clause.id);
        }
    }

    #[test]
    fn only_a_source_of_exactly_own_is_ours() {
        let is_own = |id| clause(id).map(Clause::is_own);
        assert_eq!(is_own("ADM-05"), Some(true));
        assert_eq!(is_own("VOL-05"), Some(true));
        assert_eq!(is_own("DEL-02"), Some(false), "GROVE, OWN (Services)");
        assert_eq!(is_own("AON-02"), Some(false));
        assert_eq!(is_own("AON-99"), None);
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
    fn a_class_follows_from_tier_level_and_group(#[case] id: &str, #[case] class: Class) {
        assert_eq!(clause(id).unwrap().class(), class);
    }
}
