use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum MutationError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    Syntax { path: PathBuf, source: syn::Error },
    #[error("{}: no file for `mod {module}`", path.display())]
    NoModule { path: PathBuf, module: String },
    #[error("{}: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("no mutation explains this error of the rewritten operator:\n{0}")]
    Unexplained(String),
    #[error("the rewritten operator still does not compile after {0} attempts")]
    TooManyRounds(usize),
    #[error("cargo failed: {0}")]
    Cargo(String),
    #[error(
        "{}: the folder has a build of other sources: remove the folder, or pass another one",
        .0.display()
    )]
    OtherSources(PathBuf),
}

impl MutationError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { path: path.into(), source }
    }

    pub(crate) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json { path: path.into(), source }
    }
}
