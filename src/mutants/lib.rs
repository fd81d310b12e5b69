//! Mutants: a backend, a scheduler or the traffic between them is broken on purpose, and certain clauses must
//! fail.
//!
//! A suite that passes on a broken backend is worthless, and one that fails on unrelated clauses cannot be
//! trusted. Each mutant lists the clauses that must fail, and those that may, with the reason. If any other
//! clause fails, the suite is defective. If no required clause fails, the mutant survives, and a case or a
//! check has a gap.
//!
//! Mutants are data in the tables next to this file, one per place where something is broken. `breakage` is
//! what they can break, `outcome` the result of one mutant, and `ratio` that of all.

mod breakage;
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
pub use outcome::{Found, Outcome, Verdict};
pub use ratio::{Kept, ratios, report};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Local processes.
    Local,
    /// Containers, for mutants of kubelets.
    Kind,
}

/// Each table, with the place of its mutants.
const TABLES: &[(Place, &str, &str)] = &[
    (Place::Local, "schedulers.yaml", include_str!("schedulers.yaml")),
    (Place::Local, "controller.yaml", include_str!("controller.yaml")),
    (Place::Local, "gangs-on-the-wire.yaml", include_str!("gangs-on-the-wire.yaml")),
    (Place::Local, "pods-on-the-wire.yaml", include_str!("pods-on-the-wire.yaml")),
    (Place::Local, "gang-resources-on-the-wire.yaml", include_str!("gang-resources-on-the-wire.yaml")),
    (Place::Local, "deletion-on-the-wire.yaml", include_str!("deletion-on-the-wire.yaml")),
    (Place::Local, "scheduler-on-the-wire.yaml", include_str!("scheduler-on-the-wire.yaml")),
    (Place::Local, "lifecycle.yaml", include_str!("lifecycle.yaml")),
    (Place::Local, "autoscaling.yaml", include_str!("autoscaling.yaml")),
    (Place::Local, "startup.yaml", include_str!("startup.yaml")),
    (Place::Local, "admission.yaml", include_str!("admission.yaml")),
    (Place::Local, "generated.yaml", include_str!("generated.yaml")),
    (Place::Local, "upgrades.yaml", include_str!("upgrades.yaml")),
    (Place::Local, "trainjobs.yaml", include_str!("trainjobs.yaml")),
    (Place::Local, "ai-conformance.yaml", include_str!("ai-conformance.yaml")),
    (Place::Kind, "kubelets.yaml", include_str!("kubelets.yaml")),
];

static MUTANTS: LazyLock<Result<Vec<(Place, Mutant)>, TableError>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (place, file, text) in TABLES {
        all.extend(table(file, text)?.into_iter().map(|mutant| (*place, mutant)));
    }
    Ok(all)
});

#[derive(Debug, Clone, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct TableError {
    file: String,
    reason: String,
}

/// Reads a table of mutants. The error names the file and the entry.
pub fn table(file: &str, text: &str) -> Result<Vec<Mutant>, TableError> {
    let wrong = |reason: String| TableError { file: file.to_owned(), reason };
    // Convert through JSON, as rules are read everywhere: direct YAML would have tags where they have maps.
    let entries: Vec<Value> = serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let read = |entry: Value| {
        let id = entry["id"].as_str().unwrap_or("a mutant without an id").to_owned();
        let of_it = |reason: String| wrong(format!("{id}: {reason}"));
        let mutant: Mutant = serde_json::from_value(entry).map_err(|error| of_it(error.to_string()))?;
        mutant.check().map_err(of_it)?;
        Ok(mutant)
    };
    entries.into_iter().map(read).collect()
}

impl Place {
    pub const ALL: [Self; 2] = [Self::Local, Self::Kind];

    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kind => "kind",
        }
    }

    pub fn mutants(self) -> Result<Vec<Mutant>, TableError> {
        let all = MUTANTS.as_ref().map_err(Clone::clone)?;
        Ok(all.iter().filter(|(place, _)| *place == self).map(|(_, mutant)| mutant.clone()).collect())
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mutant {
    pub id: String,
    /// The breakage in one line.
    pub breaks: String,
    pub by: Breakage,
    #[serde(default = "kube")]
    pub target: Target,
    /// At least one clause of each entry must fail; `GANG-01 | GANG-08` is an entry of two.
    #[serde(default)]
    pub must: Vec<AnyOf>,
    /// Clauses or whole groups that may fail, each with a reason.
    #[serde(default)]
    pub may: BTreeMap<String, String>,
    /// The cases to run, by id or group; by default those of the clauses that must fail.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Clauses that stay undecided, because the scheduler exits.
    pub unproven: Option<Unproven>,
    /// Whether it needs the target's real scheduler, which the user must provide; no stand-in is used.
    #[serde(default)]
    pub given: bool,
    /// Why it breaks no clause at all. Then nothing may fail.
    pub equivalent: Option<String>,
}

fn kube() -> Target {
    Target::KUBE_POD_GROUP
}

/// At least one of these clauses must fail.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct AnyOf(pub Vec<String>);

impl From<String> for AnyOf {
    fn from(text: String) -> Self {
        Self(text.split('|').map(|id| id.trim().to_owned()).collect())
    }
}

/// None of these clauses may pass, because the run ends in an error for this reason. The scheduler exits, or
/// the controller refuses everything, instead of breaking a clause.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unproven {
    pub clauses: Vec<String>,
    /// A part of the reason in the error.
    pub because: String,
}

fn is_alone(case: &Case) -> bool {
    matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade)
}

impl Mutant {
    /// Whether a case is run. Dedicated cases configure the controller themselves and could repair the
    /// breakage, so they are run only if they are named.
    pub fn runs(&self, case: &Case) -> bool {
        let is_alone = is_alone(case);
        let is_meant = match self.cases.as_slice() {
            [] => !is_alone && self.musts().any(|id| case.clauses.contains(&id)),
            words => words.iter().any(|word| case.id == *word || (!is_alone && case.is_called(word))),
        };
        is_meant && case.is_for(self.target)
    }

    /// Whether a case is run if all possible ones are. Dedicated cases again must be named.
    pub fn runs_with_all(&self, case: &Case) -> bool {
        self.runs(case) || (!is_alone(case) && case.is_for(self.target))
    }

    pub fn musts(&self) -> impl Iterator<Item = &str> {
        self.must.iter().flat_map(|set| &set.0).map(String::as_str)
    }

    /// The groups of the clauses that must fail or stay undecided.
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

    /// Whether the user must provide this scheduler for it.
    pub fn needs(&self, scheduler: Scheduler) -> bool {
        self.given && self.target.scheduler() == scheduler
    }

    fn check(&self) -> Result<(), String> {
        let is_known = |word: &str| {
            CLAUSES.iter().any(|clause| clause.id == word || clause.id.split('-').next() == Some(word))
        };
        let unproven = self.unproven.iter().flat_map(|unproven| &unproven.clauses).map(String::as_str);
        let mut words = self.musts().chain(self.may.keys().map(String::as_str)).chain(unproven);
        match words.find(|word| !is_known(word)) {
            Some(unknown) => Err(format!("there is no clause or group {unknown:?}")),
            None if self.must.is_empty() && self.unproven.is_none() && self.equivalent.is_none() => {
                Err("say which clauses must turn red (`must`), or are left unjudged (`unproven`), or why none is \
                     broken (`equivalent`)"
                    .into())
            }
            None if self.equivalent.is_some() && !(self.must.is_empty() && self.may.is_empty()) => {
                Err("what breaks no clause (`equivalent`) turns none red".into())
            }
            None => self.by.check(self.target),
        }
    }
}
