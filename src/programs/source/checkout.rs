//! A folder with the source of a program: a clone, a worktree, or an unpacked archive without git.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::ProgramError;
use crate::blocking::in_place;
use crate::components::hex;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VersionFrom {
    /// Pattern of tags that are versions, for `git describe --match`.
    pub git_tags: Option<String>,
    /// A text file that contains only the version, or a Helm chart's Chart.yaml.
    pub file: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub version: String,
    pub commit: Option<String>,
}

pub const UNKNOWN: &str = "unknown";

pub async fn revision(dir: &Path, from: &VersionFrom) -> Revision {
    let in_file = || from.file.as_ref().and_then(|file| version_in(&dir.join(file)));
    if !is_top(dir).await {
        return Revision { version: in_file().unwrap_or_else(|| UNKNOWN.into()), commit: None };
    }
    let commit = git(dir, &["rev-parse", "HEAD"]).await;
    let described = match &from.git_tags {
        Some(tags) => git(dir, &["describe", "--tags", "--dirty", "--match", tags]).await,
        None => None,
    };
    let version = match described {
        Some(version) => version,
        // In a clone without tags, combine the version from the file with the commit from git.
        None => match (
            in_file(),
            git(dir, &["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]).await,
        ) {
            (Some(version), Some(commit)) => format!("{version}-g{commit}"),
            (version, commit) => version.or(commit).unwrap_or_else(|| UNKNOWN.into()),
        },
    };
    Revision { version, commit }
}

async fn is_top(dir: &Path) -> bool {
    let top = git(dir, &["rev-parse", "--show-toplevel"]).await;
    top.and_then(|top| PathBuf::from(top).canonicalize().ok()).is_some_and(|top| top == dir)
}

async fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let answer = Command::new("git").arg("-C").arg(dir).args(args).output().await.ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    (answer.status.success() && !text.is_empty()).then_some(text)
}

fn version_in(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    if path.extension().is_none_or(|extension| extension != "yaml") {
        return Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    }
    let chart = grove_yaml::documents(&text).ok()?.into_iter().next()?;
    let field = |name: &str| chart[name].as_str().map(str::to_owned);
    field("appVersion").or_else(|| field("version"))
}

/// Returns a hash of the input files that git does not ignore or, without git, of those that are not hidden.
/// Missing inputs are skipped, because not every tree has a vendor folder.
pub(super) async fn content(dir: &Path, inputs: &[String]) -> Result<String, ProgramError> {
    let mut files = Vec::new();
    if is_top(dir).await {
        let mut args = vec!["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
        args.extend(inputs.iter().map(String::as_str));
        let listed = git(dir, &args).await.unwrap_or_default();
        files.extend(listed.split('\0').map(PathBuf::from).filter(|file| dir.join(file).is_file()));
    }
    if files.is_empty() {
        for input in inputs {
            match dir.join(input) {
                path if path.is_file() => files.push(input.into()),
                path if path.is_dir() => list(dir, Path::new(input), &mut files)?,
                _ => {}
            }
        }
    }
    files.sort();
    files.dedup();
    in_place(|| hash_files(dir, &files))
}

fn hash_files(dir: &Path, files: &[PathBuf]) -> Result<String, ProgramError> {
    let mut hash = Sha256::new();
    for file in files {
        let path = dir.join(file);
        let bytes = std::fs::read(&path).map_err(ProgramError::file(&path))?;
        hash.update(file.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    Ok(hex(&hash.finalize()))
}

fn list(dir: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ProgramError> {
    let path = dir.join(folder);
    for entry in std::fs::read_dir(&path).map_err(ProgramError::file(&path))?.flatten() {
        let name = entry.file_name();
        let kind = entry.file_type().map_err(ProgramError::file(entry.path()))?;
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        match kind {
            kind if kind.is_dir() => list(dir, &folder.join(&name), files)?,
            kind if kind.is_file() => files.push(folder.join(&name)),
            _ => {}
        }
    }
    Ok(())
}
