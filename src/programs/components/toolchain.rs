use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::component::Module;
use super::go_module::materialise;
use crate::ProgramError;

#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The output of `go env GOVERSION`, for example `go1.26.8`.
    pub version: String,
    pub target: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GoError {
    #[error("`go` cannot be run: {0}")]
    NotRun(std::io::Error),
    #[error("{0}")]
    Failed(String),
    #[error("`go env` printed {0:?}, not a version and a target")]
    Answer(String),
    #[error("`go` did not respond within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("{source} (GOPROXY={proxy})")]
    Proxy { source: Box<GoError>, proxy: String },
}

impl Toolchain {
    /// Runs `go env` inside the module, so that Go applies the module's `go` line and GOTOOLCHAIN.
    pub async fn find(module: &'static Module) -> Result<Self, ProgramError> {
        let folder = materialise(module)?;
        Self::in_folder(&folder).await.map_err(|error| ProgramError::Go {
            reason: error.to_string(),
            needed: module.go_version().into(),
        })
    }

    pub(crate) async fn in_folder(folder: &Path) -> Result<Self, GoError> {
        let mut go = Command::new("go");
        go.args(["env", "GOVERSION", "GOOS", "GOARCH"]).current_dir(folder);
        let answer = go.output().await.map_err(GoError::NotRun)?;
        if !answer.status.success() {
            return Err(GoError::Failed(String::from_utf8_lossy(&answer.stderr).trim().to_owned()));
        }
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut words = text.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(version), Some(os), Some(arch)) => {
                Ok(Self { version: version.into(), target: format!("{os}/{arch}") })
            }
            _ => Err(GoError::Answer(text)),
        }
    }

    /// Checks that Go is new enough for the module, with `go list -m`. `go env` succeeds with any `go` line.
    pub(crate) async fn check_version_for(module: &Path) -> Result<(), GoError> {
        let mut go = Command::new("go");
        go.args(["list", "-m"]).current_dir(module).stdin(Stdio::null());
        let answer = go.output().await.map_err(GoError::NotRun)?;
        let text = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        // Ignore other problems of the module, because its build reports them.
        let is_too_old = text.contains("requires go") || text.contains("toolchain");
        if answer.status.success() || !is_too_old { Ok(()) } else { Err(GoError::Failed(text)) }
    }
}
