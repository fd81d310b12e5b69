//! A scheduler from a checkout: `--component NAME=src:DIR`. Its recipe is `schedulers/NAME.yaml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::scheduler::Scheduler;
use conformance_programs::ProgramError;
use conformance_programs::components::{PlannedBuild, Progress};
use conformance_programs::source::{
    Buildable, Module, NoRelease, SourceError, Tree, VersionFrom, document, for_release, revision, top,
};
use serde::Deserialize;
use serde_json::Value;

use super::ALL;
use super::descriptions::of_program;
use super::given::{GivenScheduler, crds_in};
use super::install::{Install, Recipe};

const KIND: &str = "SchedulerSource";

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Description {
    repository: String,
    #[serde(rename = "checkout")]
    _checkout: Vec<String>,
    version: VersionFrom,
    pub build: Build,
    #[serde(default)]
    pub crds: Vec<String>,
    /// Flags that the scheduler's programs do not have, by process name.
    #[serde(default)]
    pub unknown_flags: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Build {
    module: String,
    inputs: Vec<String>,
    #[serde(default)]
    pub ldflags: String,
    programs: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub struct SchedulerSource {
    install: &'static Install,
    description: Description,
    tree: Tree,
}

/// The names that can be built from a checkout: the first program of each scheduler.
pub fn names() -> Vec<&'static str> {
    ALL.iter().filter_map(|install| install.processes.first()).map(|process| process.name).collect()
}

impl SchedulerSource {
    /// `name` is the scheduler's first program.
    pub async fn open(name: &str, dir: &Path) -> Result<Self, SourceError> {
        let install = of_program(name).ok_or_else(|| SourceError::Unknown {
            name: name.into(),
            dir: dir.into(),
            known: names(),
        })?;
        let (description, dir) = install.recipe.read(dir)?;
        let revision = revision(&dir, &description.version).await;
        Ok(Self { install, description, tree: Tree { dir, revision } })
    }

    pub fn scheduler(&self) -> Scheduler {
        self.install.scheduler
    }

    pub fn dir(&self) -> &Path {
        &self.tree.dir
    }

    pub fn version(&self) -> &str {
        &self.tree.revision.version
    }

    pub async fn programs_built(&self) -> Result<Vec<(&'static str, bool)>, ProgramError> {
        let module = self.module().await?;
        Ok(self.programs().map(|(name, package)| (name, module.is_built(name, package))).collect())
    }

    async fn module(&self) -> Result<Buildable, ProgramError> {
        let Build { module, inputs, ldflags, .. } = &self.description.build;
        self.tree.module(Module { folder: module, inputs, ldflags }).await
    }

    /// Builds the programs unless they are cached, and returns the scheduler with the tree's CRDs.
    pub async fn build(&self, progress: &dyn Progress) -> Result<GivenScheduler, ProgramError> {
        let Description { crds, unknown_flags, .. } = &self.description;
        // Read the CRDs first, so that a missing file is reported before the build, which takes minutes.
        let mut found_crds = Vec::new();
        for file in crds {
            found_crds.extend(crds_in(&self.tree.dir.join(file))?);
        }
        let module = self.module().await?;
        let mut planned = Vec::new();
        for (name, package) in self.programs() {
            if !module.is_built(name, package) {
                planned.push(PlannedBuild { names: name.into(), seconds: None });
            }
        }
        progress.planned(&planned);
        let mut programs = Vec::new();
        for (name, package) in self.programs() {
            programs.push(module.build(name, package, progress).await?);
        }
        Ok(GivenScheduler { programs, crds: found_crds, unknown_flags: unknown_flags.clone() })
    }

    fn programs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let packages = &self.description.build.programs;
        self.install
            .processes
            .iter()
            .filter_map(|process| packages.get(process.name).map(|package| (process.name, package.as_str())))
    }
}

impl Recipe {
    pub(super) fn read(&self, dir: &Path) -> Result<(Description, PathBuf), SourceError> {
        let wrong = |error: &dyn std::error::Error| SourceError::Recipe {
            path: self.path,
            reason: error.to_string(),
        };
        let mut fields = document(self.text, KIND).map_err(|error| wrong(&error))?;
        let repository = fields.get("repository").and_then(Value::as_str).unwrap_or(self.path).to_owned();
        let dir = top(&repository, dir, &fields)?;
        for_release(&mut fields, &dir, Path::new(self.path)).map_err(|error| match error {
            NoRelease::Variants(_) => wrong(&error),
            NoRelease::Refused(reason) => {
                SourceError::Release { program: repository, dir: dir.clone(), reason }
            }
        })?;
        let description = serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(&error))?;
        Ok((description, dir))
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
