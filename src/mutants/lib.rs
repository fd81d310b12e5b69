//! Mutants: an operator, a scheduler or the traffic between them is broken, and certain clauses must fail.
//!
//! A suite that passes on a broken backend is worthless, and one in which unrelated clauses fail cannot be
//! trusted. A mutant lists the clauses that must fail, and those that may, with the reason. The suite is
//! defective if another clause fails. If a required one does not, the mutant survives: the suite has a gap.
//!
//! Mutants are data in the tables next to this file, one table per place of the defect.

mod breakage;
pub mod cargo_test;
mod outcome;
mod ratio;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use conformance_contract::clauses::CLAUSES;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation};
use conformance_install::cluster_spec::ClusterSpec;
use serde::Deserialize;
use serde_json::Value;

pub use breakage::{Breakage, Given};
pub use outcome::{MutantResult, MutantVerdict, RunFindings};
pub use ratio::{StoredResult, ratios, report};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutantTier {
    Local,
    /// Containers, for mutants of kubelets.
    Kind,
}

const TABLES: &[(MutantTier, &str, &str)] = &[
    (MutantTier::Local, "schedulers.yaml", include_str!("schedulers.yaml")),
    (MutantTier::Local, "operator.yaml", include_str!("operator.yaml")),
    (MutantTier::Local, "rewritten-gangs.yaml", include_str!("rewritten-gangs.yaml")),
    (MutantTier::Local, "rewritten-pods.yaml", include_str!("rewritten-pods.yaml")),
    (MutantTier::Local, "rewritten-gang-resources.yaml", include_str!("rewritten-gang-resources.yaml")),
    (MutantTier::Local, "rewritten-deletion.yaml", include_str!("rewritten-deletion.yaml")),
    (MutantTier::Local, "rewritten-scheduler.yaml", include_str!("rewritten-scheduler.yaml")),
    (MutantTier::Local, "lifecycle.yaml", include_str!("lifecycle.yaml")),
    (MutantTier::Local, "preemption.yaml", include_str!("preemption.yaml")),
    (MutantTier::Local, "autoscaling.yaml", include_str!("autoscaling.yaml")),
    (MutantTier::Local, "startup.yaml", include_str!("startup.yaml")),
    (MutantTier::Local, "admission.yaml", include_str!("admission.yaml")),
    (MutantTier::Local, "generated.yaml", include_str!("generated.yaml")),
    (MutantTier::Local, "upgrades.yaml", include_str!("upgrades.yaml")),
    (MutantTier::Local, "trainjobs.yaml", include_str!("trainjobs.yaml")),
    (MutantTier::Local, "ai-conformance.yaml", include_str!("ai-conformance.yaml")),
    (MutantTier::Kind, "kubelets.yaml", include_str!("kubelets.yaml")),
];

static MUTANTS: LazyLock<Result<Vec<(MutantTier, Mutant)>, TableError>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (tier, file, text) in TABLES {
        all.extend(table(file, text)?.into_iter().map(|mutant| (*tier, mutant)));
    }
    Ok(all)
});

#[derive(Debug, Clone, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct TableError {
    file: String,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidMutant {
    #[error("there is no clause or group {0:?}")]
    UnknownClause(String),
    #[error("there is no scheduler {0:?}")]
    UnknownScheduler(String),
    #[error(
        "say which clauses must fail (`must`), stay undecided (`unproven`), or why none fails (`equivalent`)"
    )]
    NothingExpected,
    #[error("a mutant that breaks no clause (`equivalent`) makes none fail: omit `must` and `may`")]
    EquivalentFails,
    #[error("the mutant breaks nothing: write in `by` what it breaks")]
    NothingBroken,
}

pub fn table(file: &str, text: &str) -> Result<Vec<Mutant>, TableError> {
    let wrong = |reason: String| TableError { file: file.to_owned(), reason };
    // serde_yaml expects enum variants as tags. In the tables they are maps, as in JSON.
    let entries: Vec<Value> = serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let read = |entry: Value| {
        let id = entry["id"].as_str().unwrap_or("a mutant without an id").to_owned();
        let wrong_entry = |error: &dyn std::fmt::Display| wrong(format!("{id}: {error}"));
        let mutant: Mutant = serde_json::from_value(entry).map_err(|error| wrong_entry(&error))?;
        mutant.check().map_err(|error| wrong_entry(&error))?;
        Ok(mutant)
    };
    entries.into_iter().map(read).collect()
}

impl MutantTier {
    pub const ALL: [Self; 2] = [Self::Local, Self::Kind];

    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kind => "kind",
        }
    }

    pub fn mutants(self) -> Result<Vec<Mutant>, TableError> {
        let all = MUTANTS.as_ref().map_err(Clone::clone)?;
        Ok(all.iter().filter(|(tier, _)| *tier == self).map(|(_, mutant)| mutant.clone()).collect())
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mutant {
    pub id: String,
    pub breaks: String,
    pub by: Breakage,
    #[serde(default = "kube")]
    pub target: Target,
    /// At least one clause of each entry must fail. `GANG-01 | GANG-08` is an entry of two clauses.
    #[serde(default)]
    pub must: Vec<AnyOf>,
    /// Clauses or whole groups that may fail, each with the reason.
    #[serde(default)]
    pub may: BTreeMap<String, String>,
    /// The cases to run, by id or group. By default, they are those of the clauses that must fail.
    #[serde(default)]
    pub cases: Vec<String>,
    pub unproven: Option<Unproven>,
    /// The mutant needs the real scheduler of its target, which the user must provide.
    #[serde(default)]
    pub given: bool,
    /// Why the mutant breaks no clause at all. Then no clause may fail.
    pub equivalent: Option<String>,
}

fn kube() -> Target {
    Target::KUBE_POD_GROUP
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct AnyOf(pub Vec<String>);

impl From<String> for AnyOf {
    fn from(text: String) -> Self {
        Self(text.split('|').map(|id| id.trim().to_owned()).collect())
    }
}

/// None of these may pass: the run ends in an error, as the scheduler exits or the operator rejects all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unproven {
    pub clauses: Vec<String>,
    pub because: String,
}

/// A case with its own control plane configures the operator, which could repair the defect.
fn has_own_control_plane(case: &Case) -> bool {
    matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade)
}

impl Mutant {
    /// Whether the mutant runs a case. A case with its own control plane runs only if `cases` names it.
    pub fn runs(&self, case: &Case) -> bool {
        let is_separate = has_own_control_plane(case);
        let is_selected = match self.cases.as_slice() {
            [] => !is_separate && self.musts().any(|id| case.clauses.contains(&id)),
            names => names.iter().any(|name| case.id == *name || (!is_separate && case.is_called(name))),
        };
        is_selected && case.is_for(self.target)
    }

    /// Whether `--every-case` runs the case: with its own control plane, only if `cases` names it.
    pub fn runs_with_all(&self, case: &Case) -> bool {
        self.runs(case) || (!has_own_control_plane(case) && case.is_for(self.target))
    }

    pub fn musts(&self) -> impl Iterator<Item = &str> {
        self.must.iter().flat_map(|set| &set.0).map(String::as_str)
    }

    pub fn groups(&self) -> BTreeSet<&str> {
        let unproven = self.unproven.iter().flat_map(|unproven| &unproven.clauses).map(String::as_str);
        self.musts().chain(unproven).filter_map(|id| id.split('-').next()).collect()
    }

    pub fn allows(&self, id: &str) -> bool {
        let group = id.split_once('-').map_or(id, |(group, _)| group);
        self.musts().any(|must| must == id) || [id, group].iter().any(|word| self.may.contains_key(*word))
    }

    pub fn spec(&self, given: Given) -> ClusterSpec {
        self.by.spec(self.target, given)
    }

    pub fn needs(&self, scheduler: Scheduler) -> bool {
        self.given && self.target.scheduler() == scheduler
    }

    fn check(&self) -> Result<(), InvalidMutant> {
        let is_known = |word: &str| {
            CLAUSES.iter().any(|clause| clause.id == word || clause.id.split('-').next() == Some(word))
        };
        let unproven = self.unproven.iter().flat_map(|unproven| &unproven.clauses).map(String::as_str);
        let mut words = self.musts().chain(self.may.keys().map(String::as_str)).chain(unproven);
        match words.find(|word| !is_known(word)) {
            Some(unknown) => Err(InvalidMutant::UnknownClause(unknown.to_owned())),
            None if self.must.is_empty() && self.unproven.is_none() && self.equivalent.is_none() => {
                Err(InvalidMutant::NothingExpected)
            }
            None if self.equivalent.is_some() && !(self.must.is_empty() && self.may.is_empty()) => {
                Err(InvalidMutant::EquivalentFails)
            }
            None => self.by.check(self.target),
        }
    }
}
