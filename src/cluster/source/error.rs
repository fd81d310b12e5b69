//! What can be wrong with a working tree, and what to do about it.

use std::path::PathBuf;

/// Why nothing can be built from a folder.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A folder that is not what it should be.
    #[error("{} is no checkout of {of}: it lacks {}; give the folder at the top of its repository", dir.display(), lacks.join(", "))]
    Checkout {
        /// Whose checkout it should be.
        of: String,
        /// The folder.
        dir: PathBuf,
        /// What it should have.
        lacks: Vec<String>,
    },
    /// A release that no variant is about, or that the suite cannot judge.
    #[error("{}: this release of {of} cannot be judged: {reason}", dir.display())]
    Release {
        /// Whose.
        of: String,
        /// The folder.
        dir: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A Go toolchain that cannot build it.
    #[error("{}: {reason}\nGo {needed} or newer builds it; install it and put it on PATH, or let Go fetch it (GOTOOLCHAIN=auto)", module.display())]
    Go {
        /// The module's folder.
        module: PathBuf,
        /// What `go` answered.
        reason: String,
        /// The `go` line of its go.mod.
        needed: String,
    },
    /// Linker flags with a placeholder that has no value, because the version is not known.
    #[error(
        "{}: its version cannot be stamped into its programs: {reason}\nthe version is that of git's tags: give a clone that has its tags (git fetch --tags)",
        module.display()
    )]
    Flags {
        /// The module's folder.
        module: PathBuf,
        /// Which placeholder.
        reason: String,
    },
    /// A recipe that does not serve.
    #[error("{path}: {reason}")]
    Recipe {
        /// Which.
        path: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A name that no scheduler has.
    #[error("--scheduler-source {name}={}: no scheduler has that program; there are {}", dir.display(), known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The folder given for it.
        dir: PathBuf,
        /// The names that there are.
        known: Vec<&'static str>,
    },
}

impl SourceError {
    /// Whether the command line, or a folder that it names, is wrong.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Checkout { .. } | Self::Release { .. } | Self::Unknown { .. })
    }
}
