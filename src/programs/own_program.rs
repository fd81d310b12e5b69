//! Runs the programs of the reference implementation, which one executable contains; its first argument
//! selects one. `--component` replaces a program. Mutants use a separate build ([`crate::cargo`]).

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;

use crate::{ProgramError, docker};

pub const SUITE: &str = "grove-conformance";
/// The reference operator. Its ServiceAccount and its Deployment have the same name.
pub const CONTROLLER: &str = "grove-backend-controller";
pub const PLUGIN: &str = "fake-gpu-plugin";
/// The program of the init container that delays a pod until the pods of other cliques are ready.
pub const INIT: &str = "grove-initc";
/// The trainer's KAI plugin. Its ServiceAccount, its namespace and its Deployment have the same name.
pub const TRAINER_PLUGIN: &str = "trainer-kai-plugin";
pub const REFERENCE_PROGRAMS: &str = "reference-programs";
pub const PAUSE: &str = "pause";
pub const CONTROLLER_NAMESPACE: &str = "grove-system";

/// An executable, and the argument that selects the program in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProgram {
    pub path: PathBuf,
    verb: Option<&'static str>,
}

impl OwnProgram {
    pub fn controller_within(program: impl Into<PathBuf>) -> Self {
        Self { path: program.into(), verb: Some(CONTROLLER) }
    }

    pub fn trainer_plugin_within(program: impl Into<PathBuf>) -> Self {
        Self { path: program.into(), verb: Some(TRAINER_PLUGIN) }
    }

    pub fn alone(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), verb: None }
    }

    pub fn own_path(&self) -> Option<&Path> {
        self.verb.is_none().then_some(self.path.as_path())
    }

    pub fn args(&self, own: impl IntoIterator<Item = String>) -> Vec<String> {
        self.verb.map(str::to_owned).into_iter().chain(own).collect()
    }

    /// The objects that the program needs in a cluster, as `install-manifests` prints them with these flags.
    pub async fn manifests(
        &self,
        flags: impl IntoIterator<Item = String>,
    ) -> Result<Vec<Value>, ProgramError> {
        let text = self.printed("install-manifests", flags.into_iter().collect()).await?;
        grove_yaml::documents(&text)
            .map_err(|source| ProgramError::Manifest { path: self.path.clone(), source })
    }

    pub async fn printed(&self, verb: &str, flags: Vec<String>) -> Result<String, ProgramError> {
        let mut command = Command::new(&self.path);
        command.args(self.args([verb.to_owned()])).args(flags);
        docker::output(command).await
    }
}
