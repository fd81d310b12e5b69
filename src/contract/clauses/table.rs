//! The clauses and their groups, read from `contract/` at the top of the repository, in the order in which reports print them.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Clause, Feature, Group, Level, Tier, Workload};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/", $name)))),*]
    };
}

/// One file per group, in the order of the contract.
const FILES: [(&str, &str); 20] = files![
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
];

static CONTRACT: LazyLock<(Vec<Group>, Vec<Clause>)> = LazyLock::new(|| {
    let (mut groups, mut clauses) = (Vec::new(), Vec::new());
    for (name, text) in FILES {
        // The files are embedded: a test reads each before any user does.
        let file: GroupFile =
            serde_yaml::from_str(text).unwrap_or_else(|error| panic!("contract/{name}: {error}"));
        clauses.extend(file.clauses.into_iter().map(ClauseEntry::clause));
        groups.push(Group {
            id: file.group,
            title: file.title,
            about: file.about,
            backend: file.backend,
            workload: file.workload,
            is_later_life: file.later_life,
        });
    }
    (groups, clauses)
});

/// Every clause this suite judges, by group.
pub static CLAUSES: LazyLock<&'static [Clause]> = LazyLock::new(|| &CONTRACT.1);

/// Every part of the contract.
pub static GROUPS: LazyLock<&'static [Group]> = LazyLock::new(|| &CONTRACT.0);

/// A file of `contract/`. All of it lives as long as the program.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupFile {
    #[serde(deserialize_with = "kept")]
    group: &'static str,
    #[serde(deserialize_with = "kept")]
    title: &'static str,
    #[serde(default, deserialize_with = "kept_if_any")]
    about: Option<&'static str>,
    #[serde(default, deserialize_with = "kept_if_any")]
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
    #[serde(deserialize_with = "kept")]
    id: &'static str,
    #[serde(deserialize_with = "kept")]
    title: &'static str,
    #[serde(deserialize_with = "kept")]
    text: &'static str,
    judged_on: Tier,
    feature: Option<Feature>,
    sources: Vec<String>,
    #[serde(default = "yes")]
    of_external: bool,
    #[serde(default)]
    needs_topology: bool,
    #[serde(default, deserialize_with = "kept_if_any")]
    not_in_scope: Option<&'static str>,
    #[serde(default)]
    across_kinds: bool,
    #[serde(default)]
    restates: Vec<String>,
    #[serde(default, deserialize_with = "kept_if_any")]
    rests_on: Option<&'static str>,
    also_shows: Option<Feature>,
    #[serde(default, deserialize_with = "kept_if_any")]
    not_tested: Option<&'static str>,
}

impl ClauseEntry {
    fn clause(self) -> Clause {
        let restates: Vec<&'static str> = self.restates.into_iter().map(keep).collect();
        Clause {
            id: self.id,
            tier: self.judged_on,
            level: self.feature.map_or(Level::Core, Level::Extended),
            title: self.title,
            text: self.text,
            source: keep(self.sources.join(", ")),
            of_external: self.of_external,
            needs_topology: self.needs_topology,
            not_in_scope: self.not_in_scope,
            across_kinds: self.across_kinds,
            restates: restates.leak(),
            rests_on: self.rests_on,
            also_shows: self.also_shows,
            not_tested: self.not_tested,
        }
    }
}

fn yes() -> bool {
    true
}

fn keep(text: String) -> &'static str {
    text.leak()
}

fn kept<'de, D: serde::Deserializer<'de>>(value: D) -> Result<&'static str, D::Error> {
    String::deserialize(value).map(keep)
}

fn kept_if_any<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<&'static str>, D::Error> {
    Option::<String>::deserialize(value).map(|text| text.map(keep))
}
