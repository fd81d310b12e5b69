use std::path::PathBuf;

use conformance_programs::ProgramError;

use crate::operator::OperatorError;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{flag} {}: the folder lacks {}", path.display(), missing.join("; "))]
    ProgramFolder { flag: &'static str, path: PathBuf, missing: Vec<String> },
    #[error("{flag} {}: {source}", path.display())]
    NoProgramFolder { flag: &'static str, path: PathBuf, source: std::io::Error },
    #[error(
        "{reason}\na chart (--component NAME=chart:REF) needs Helm 3.8 or newer: put `helm` on PATH (https://helm.sh/docs/intro/install), or omit the chart"
    )]
    Helm { reason: String },
    #[error(transparent)]
    Operator(#[from] OperatorError),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl InstallError {
    pub fn is_usage(&self) -> bool {
        match self {
            Self::ProgramFolder { .. } | Self::NoProgramFolder { .. } => true,
            Self::Operator(error) => error.is_usage(),
            Self::Program(error) => error.is_usage(),
            Self::Helm { .. } => false,
        }
    }
}
