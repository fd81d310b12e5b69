//! A scheduler from a working tree of its repository: what `--scheduler-source NAME=DIR` names. Its recipe
//! (`schedulers/NAME.yaml`) is data: packages of its programs, linker flags, CRDs, and where releases differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::scheduler::Scheduler;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::given::{GivenScheduler, crds_of};
use super::install::Install;
use super::{ALL, install::Recipe, of_program};
use crate::ClusterError;
use crate::components::{PlannedBuild, Progress};
use crate::source::{
    Buildable, Module, NoRelease, SourceError, Tree, VersionFrom, document, for_release, revision, top,
};

const KIND: &str = "SchedulerSource";

/// How a scheduler is built from its source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Description {
    /// Its repository, in messages.
    repository: String,
    /// Files that show that a folder is its source.
    #[serde(rename = "checkout")]
    _checkout: Vec<String>,
    version: VersionFrom,
    build: Build,
    /// Files with its CRDs.
    #[serde(default)]
    crds: Vec<String>,
    /// Flags that its programs do not have, by the names of their processes.
    #[serde(default)]
    unknown_flags: BTreeMap<String, Vec<String>>,
}

/// Several programs of one module.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Build {
    /// The folder of the module.
    module: String,
    /// Files and folders that decide what is built.
    inputs: Vec<String>,
    #[serde(default)]
    ldflags: String,
    /// Packages, by the names of the processes.
    programs: BTreeMap<String, String>,
}

/// A scheduler's working tree, whose programs may not be built yet.
#[derive(Debug, Clone)]
pub struct SchedulerSource {
    install: &'static Install,
    description: Description,
    tree: Tree,
}

/// The names that may be written before the `=`: of the first program of each scheduler.
pub fn names() -> Vec<&'static str> {
    ALL.iter().filter_map(|install| install.processes.first()).map(|process| process.name).collect()
}

impl SchedulerSource {
    /// Looks at the working tree of the scheduler whose program has that name; nothing is run or built.
    ///
    /// # Errors
    /// [`SourceError`].
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

    /// The scheduler.
    pub fn scheduler(&self) -> Scheduler {
        self.install.scheduler
    }

    /// Its working tree.
    pub fn dir(&self) -> &Path {
        &self.tree.dir
    }

    /// The version of its working tree.
    pub fn version(&self) -> &str {
        &self.tree.revision.version
    }

    /// Its programs, and whether each is built.
    ///
    /// # Errors
    /// [`SourceError::Go`], [`SourceError::Flags`]; [`ClusterError::File`].
    pub async fn programs_built(&self) -> Result<Vec<(&'static str, bool)>, ClusterError> {
        let module = self.module().await?;
        Ok(self.programs().map(|(name, package)| (name, module.is_built(name, package))).collect())
    }

    async fn module(&self) -> Result<Buildable, ClusterError> {
        let Build { module, inputs, ldflags, .. } = &self.description.build;
        self.tree.module(Module { folder: module, inputs, ldflags }).await
    }

    /// The scheduler with its programs, built unless they are in the cache, and the CRDs of the tree.
    ///
    /// # Errors
    /// [`SourceError::Go`]; [`ClusterError::Build`], [`ClusterError::Disk`], [`ClusterError::File`],
    /// [`ClusterError::Manifest`].
    pub async fn build(&self, progress: &dyn Progress) -> Result<GivenScheduler, ClusterError> {
        let Description { crds, unknown_flags, .. } = &self.description;
        // Read first: a file that is missing is known before minutes are spent.
        let read = |file: &String| crds_of(&self.tree.dir.join(file));
        let crds = crds.iter().map(read).collect::<Result<Vec<_>, _>>()?.concat();
        let module = self.module().await?;
        let missing = self.programs().filter(|(name, package)| !module.is_built(name, package));
        let planned = missing.map(|(name, _)| PlannedBuild { names: name.into(), seconds: None });
        progress.planned(&planned.collect::<Vec<_>>());
        let mut programs = Vec::new();
        for (name, package) in self.programs() {
            programs.push(module.build(name, package, progress).await?);
        }
        Ok(GivenScheduler { programs, crds, unknown_flags: unknown_flags.clone() })
    }

    /// Name and package of the program of each process that the recipe builds.
    fn programs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let packages = &self.description.build.programs;
        self.install
            .processes
            .iter()
            .filter_map(|process| packages.get(process.name).map(|package| (process.name, package.as_str())))
    }
}

impl Recipe {
    /// What it says of the release in a folder, which is the top of a checkout.
    fn read(&self, dir: &Path) -> Result<(Description, PathBuf), SourceError> {
        let wrong = |reason: String| SourceError::Recipe { path: self.path, reason };
        let mut fields = document(self.text, KIND).map_err(wrong)?;
        let of = fields.get("repository").and_then(Value::as_str).unwrap_or(self.path).to_owned();
        let dir = top(&of, dir, &fields)?;
        for_release(&mut fields, &dir, Path::new(self.path)).map_err(|no| match no {
            NoRelease::Document(reason) => wrong(reason),
            NoRelease::Refused(reason) => SourceError::Release { of, dir: dir.clone(), reason },
        })?;
        let description: Description = from(fields).map_err(wrong)?;
        Ok((description, dir))
    }
}

fn from(fields: Map<String, Value>) -> Result<Description, String> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
