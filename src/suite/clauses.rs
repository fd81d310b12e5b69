//! The contract: the clauses a Grove backend is judged by.
//!
//! A clause is one promise with an id that never changes its meaning. Cases name the clauses they judge,
//! reports count clauses, and this table is the only place that says what a clause demands, how it is
//! judged ([`Tier`]), of whom ([`Level`]) and whose promise it is ([`Clause::source`]).
//!
//! The module is plain data: it knows no cluster, no case and no verdict. The runner reads it to plan, and
//! `crate::report` reads it to name and to count what was judged.

mod table;

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

pub use table::CLAUSES;

/// One promise of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Group and number, such as `AON-02`.
    pub id: &'static str,
    /// What the clause is judged on.
    pub tier: Tier,
    /// Which backends owe it.
    pub level: Level,
    /// The promise itself.
    pub text: &'static str,
    /// Who made the promise, comma-separated: `G375`, `G525`, `G531`, `G537` (Grove proposals), `GROVE`
    /// (upstream's behaviour, with the e2e scenario where there is one), `BRIEF` (the four promises this
    /// suite exists for), `OWN` (ours, beyond upstream).
    pub source: &'static str,
}

impl Clause {
    /// Whether the promise is ours alone. Reports count these apart from upstream's, so that an operator
    /// that is not ours can be green on its own promises.
    pub fn is_own(&self) -> bool {
        self.source == OWN
    }

    /// The part of the id before the number, such as `AON`.
    pub fn group(&self) -> &'static str {
        self.id.split_once('-').map_or(self.id, |(group, _)| group)
    }

    /// The feature a backend must declare to owe this clause; `None` for core.
    pub fn feature(&self) -> Option<Feature> {
        self.level.feature()
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

/// Which backends owe a clause. Written `core` or `ext:<Feature>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Level {
    /// Every backend.
    Core,
    /// Backends that declare the feature; for the others the clause is *unsupported*, never *pass*.
    Extended(Feature),
}

impl Level {
    /// The feature of an extended clause.
    pub fn feature(self) -> Option<Feature> {
        match self {
            Level::Core => None,
            Level::Extended(feature) => Some(feature),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Core => f.pad("core"),
            Level::Extended(feature) => f.pad(&format!("ext:{feature}")),
        }
    }
}

impl From<Level> for String {
    fn from(level: Level) -> Self {
        level.to_string()
    }
}

impl TryFrom<String> for Level {
    type Error = UnknownLevel;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.strip_prefix("ext:") {
            None if text == "core" => Ok(Level::Core),
            Some(name) if let Ok(feature) = name.parse() => Ok(Level::Extended(feature)),
            _ => Err(UnknownLevel(text)),
        }
    }
}

impl JsonSchema for Level {
    fn schema_name() -> Cow<'static, str> {
        "Level".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let levels: Vec<String> = std::iter::once(Level::Core)
            .chain(Feature::ALL.into_iter().map(Level::Extended))
            .map(String::from)
            .collect();
        json_schema!({
            "description": "Which backends owe the clause: all (core), or those that declare the feature.",
            "type": "string",
            "enum": levels,
        })
    }
}

/// A level that is neither `core` nor `ext:` with a known feature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level {0:?}: expected core or ext:<Feature>")]
pub struct UnknownLevel(pub String);

/// What a backend may promise beyond core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Feature {
    /// The hard gang of a whole PodGang is bound atomically, not each podgroup for itself.
    AtomicPodGang,
    /// A required topology level holds all pods of a gang in one domain.
    TopologyRequired,
    /// Constraints on scaling groups.
    TopologyPerGroup,
    /// Constraints on cliques.
    TopologyPerClique,
    /// Constraints on PodCliqueSet, scaling group and clique at once.
    TopologyNested,
    /// Preferred topology levels.
    TopologyPreferred,
    /// ClusterTopologyBindings become, or are compared with, the backend's own topology resource.
    TopologyResource,
    /// Backend resources that were deleted or edited by hand are restored.
    SelfHealing,
}

impl Feature {
    /// Every feature, in the order of the contract.
    pub const ALL: [Feature; 8] = [
        Feature::AtomicPodGang,
        Feature::TopologyRequired,
        Feature::TopologyPerGroup,
        Feature::TopologyPerClique,
        Feature::TopologyNested,
        Feature::TopologyPreferred,
        Feature::TopologyResource,
        Feature::SelfHealing,
    ];
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The contract spells features as the variants are spelt.
        f.pad(&format!("{self:?}"))
    }
}

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Feature::ALL
            .into_iter()
            .find(|feature| feature.to_string() == name)
            .ok_or_else(|| UnknownFeature(name.to_owned()))
    }
}

/// A name that is no [`Feature`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown feature {0:?}")]
pub struct UnknownFeature(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of each group. KUBE-02 and 03 do not exist; 09 to 12 belong to Kubernetes 1.37.
    fn contract() -> Vec<String> {
        let groups: [(&str, Vec<u32>); 6] = [
            ("ADM", (1..=11).collect()),
            ("GANG", (1..=13).collect()),
            ("AON", (1..=13).collect()),
            ("TOPO", (1..=11).collect()),
            ("DEL", (1..=9).collect()),
            ("KUBE", vec![1, 4, 5, 6, 7, 8, 13, 14, 15]),
        ];
        groups
            .iter()
            .flat_map(|(group, numbers)| numbers.iter().map(move |number| format!("{group}-{number:02}")))
            .collect()
    }

    #[test]
    fn ids_are_complete_unique_and_sorted_by_group() {
        let ids: Vec<&str> = CLAUSES.iter().map(|clause| clause.id).collect();
        assert_eq!(ids, contract());
    }

    #[test]
    fn every_clause_says_what_it_demands_and_who_demands_it() {
        let known = ["G375", "G525", "G531", "G537", "GROVE", "BRIEF", OWN];
        for clause in CLAUSES {
            assert!(
                clause.text.len() > 15 && !clause.text.contains("  "),
                "{}: {:?}",
                clause.id,
                clause.text
            );
            for source in clause.source.split(", ") {
                let origin = source.split(' ').next().unwrap_or_default();
                assert!(known.contains(&origin), "{}: source {source:?}", clause.id);
            }
        }
    }

    #[test]
    fn only_a_source_of_exactly_own_is_ours() {
        let is_own = |id| clause(id).map(Clause::is_own);
        assert_eq!(is_own("ADM-05"), Some(true));
        assert_eq!(is_own("DEL-02"), Some(false), "GROVE, OWN (Services)");
        assert_eq!(is_own("AON-02"), Some(false));
        assert_eq!(is_own("AON-99"), None);
    }

    #[test]
    fn a_level_is_read_as_it_is_written() {
        for clause in CLAUSES {
            assert_eq!(Level::try_from(clause.level.to_string()), Ok(clause.level));
        }
        let unknown = Level::try_from("ext:Telepathy".to_owned());
        assert_eq!(unknown, Err(UnknownLevel("ext:Telepathy".to_owned())));
    }
}
