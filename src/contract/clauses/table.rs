use std::sync::LazyLock;

use serde::Deserialize;

use super::{Clause, Environment, Feature, Group, Level, Party, Source, Tier, Workload};
use crate::arena::Arena;

static TEXTS: Arena<String> = Arena::empty();
static NAMES: Arena<Vec<&'static str>> = Arena::empty();
static SOURCES: Arena<Vec<Source<'static>>> = Arena::empty();
static PARTIES: Arena<Vec<Party>> = Arena::empty();

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/", $name)))),*]
    };
}

const FILES: [(&str, &str); 22] = files![
    "adm.yaml",
    "gang.yaml",
    "aon.yaml",
    "topo.yaml",
    "del.yaml",
    "coex.yaml",
    "kai.yaml",
    "kube.yaml",
    "vol.yaml",
    "koord.yaml",
    "ext.yaml",
    "klt.yaml",
    "mig.yaml",
    "trn.yaml",
    "aic.yaml",
    "stat.yaml",
    "term.yaml",
    "start.yaml",
    "upd.yaml",
    "auto.yaml",
    "pre.yaml",
    "wake.yaml",
];

static CONTRACT: LazyLock<(Vec<Group>, Vec<Clause>)> = LazyLock::new(|| {
    let (mut groups, mut clauses) = (Vec::new(), Vec::new());
    for (name, text) in FILES {
        // Unreachable: the program contains the files, and a test parses each of them.
        let file: GroupFile =
            serde_yaml::from_str(text).unwrap_or_else(|error| panic!("contract/{name}: {error}"));
        clauses.extend(file.clauses.into_iter().map(ClauseEntry::clause));
        groups.push(Group {
            id: file.group,
            title: file.title,
            about: file.about,
            backend: file.backend,
            workload: file.workload,
            is_about_lifecycle: file.later_life,
        });
    }
    (groups, clauses)
});

/// All clauses, by group.
pub static CLAUSES: LazyLock<&'static [Clause]> = LazyLock::new(|| &CONTRACT.1);

/// All groups of the contract.
pub static GROUPS: LazyLock<&'static [Group]> = LazyLock::new(|| &CONTRACT.0);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupFile {
    #[serde(deserialize_with = "static_text")]
    group: &'static str,
    #[serde(deserialize_with = "static_text")]
    title: &'static str,
    #[serde(default, deserialize_with = "optional_static_text")]
    about: Option<&'static str>,
    #[serde(default, deserialize_with = "optional_static_text")]
    backend: Option<&'static str>,
    #[serde(default)]
    workload: Workload,
    #[serde(default)]
    later_life: bool,
    clauses: Vec<ClauseEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClauseEntry {
    #[serde(deserialize_with = "static_text")]
    id: &'static str,
    #[serde(deserialize_with = "static_text")]
    title: &'static str,
    #[serde(deserialize_with = "static_text")]
    requirement: &'static str,
    level: Level,
    feature: Option<Feature>,
    judged_on: Tier,
    depends_on: Vec<Party>,
    #[serde(default)]
    environment: Environment,
    sources: Vec<String>,
    #[serde(deserialize_with = "static_text")]
    rationale: &'static str,
    #[serde(default, deserialize_with = "optional_static_text")]
    split_from: Option<&'static str>,
    #[serde(default = "first_version", deserialize_with = "static_text")]
    since: &'static str,
    #[serde(default = "default_true")]
    of_external: bool,
    #[serde(default)]
    needs_topology: bool,
    #[serde(default)]
    needs_gang_resources: bool,
    #[serde(default)]
    only_on: Vec<String>,
    #[serde(default)]
    not_on: Vec<String>,
    #[serde(default, deserialize_with = "optional_static_text")]
    not_in_scope: Option<&'static str>,
    #[serde(default)]
    across_kinds: bool,
    #[serde(default)]
    restates: Vec<String>,
    #[serde(default, deserialize_with = "optional_static_text")]
    rests_on: Option<&'static str>,
    also_shows: Option<Feature>,
    #[serde(default, deserialize_with = "optional_static_text")]
    not_tested: Option<&'static str>,
}

impl ClauseEntry {
    fn clause(self) -> Clause {
        let sources = self.sources.into_iter().map(|source| Source(TEXTS.add(source)));
        Clause {
            id: self.id,
            title: self.title,
            requirement: self.requirement,
            level: self.level,
            feature: self.feature,
            tier: self.judged_on,
            depends_on: PARTIES.add(self.depends_on),
            environment: self.environment,
            sources: SOURCES.add(sources.collect()),
            rationale: self.rationale,
            split_from: self.split_from,
            since: self.since,
            applies_to_external: self.of_external,
            needs_topology: self.needs_topology,
            needs_gang_resources: self.needs_gang_resources,
            only_on: names(self.only_on),
            not_on: names(self.not_on),
            not_in_scope: self.not_in_scope,
            across_kinds: self.across_kinds,
            restates: names(self.restates),
            rests_on: self.rests_on,
            also_shows: self.also_shows,
            not_tested: self.not_tested,
        }
    }
}

fn default_true() -> bool {
    true
}

/// The clauses of the first version do not state it.
fn first_version() -> &'static str {
    "0.1.0"
}

fn names(of: Vec<String>) -> &'static [&'static str] {
    NAMES.add(of.into_iter().map(|name| TEXTS.add(name).as_str()).collect())
}

fn static_text<'de, D: serde::Deserializer<'de>>(value: D) -> Result<&'static str, D::Error> {
    String::deserialize(value).map(|text| TEXTS.add(text).as_str())
}

fn optional_static_text<'de, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<&'static str>, D::Error> {
    Option::<String>::deserialize(value).map(|text| text.map(|text| TEXTS.add(text).as_str()))
}
