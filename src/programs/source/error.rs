use std::path::PathBuf;

use super::placeholders::UnknownPlaceholder;

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("{} is not a checkout of {repository}: it lacks {}; pass the top folder of its repository", dir.display(), missing.join(", "))]
    Checkout { repository: String, dir: PathBuf, missing: Vec<String> },
    #[error("{}: this release of {program} is not supported: {reason}", dir.display())]
    Release { program: String, dir: PathBuf, reason: String },
    #[error("{}: {reason}\nGo {needed} or newer builds it; install it and put it on PATH, or let Go download it (GOTOOLCHAIN=auto)", module.display())]
    Go {
        module: PathBuf,
        reason: String,
        /// The `go` line of the source's go.mod, which states the minimum version.
        needed: String,
    },
    #[error(
        "{}: its version cannot be stamped into its programs: {source}\nthe version comes from git tags: run `git fetch --tags` in the clone",
        module.display()
    )]
    Flags { module: PathBuf, source: UnknownPlaceholder },
    #[error("{path}: {reason}")]
    Recipe { path: &'static str, reason: String },
    #[error("--component {name}=src:{}: unknown program; known: {}", dir.display(), known.join(", "))]
    Unknown { name: String, dir: PathBuf, known: Vec<&'static str> },
}

impl SourceError {
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Checkout { .. } | Self::Release { .. } | Self::Unknown { .. })
    }
}
