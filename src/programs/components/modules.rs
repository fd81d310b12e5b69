//! Checks whether Go has, or can download, the modules that a build needs. Without them, a build fails after
//! minutes, or hangs behind a firewall that drops packets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::amendment::NoCopy;
use super::build::{materialise, no_copy};
use super::component::{Component, Module};
use crate::ProgramError;

/// How long a module proxy may take to answer. The answer is a version and its go.mod.
pub(crate) const PROXY_ANSWER: Duration = Duration::from_secs(20);

/// The folders of `components/` whose modules Go must download before it can build these components. Fails
/// for the first module that is not cached and that Go cannot reach within `limit`.
pub(crate) async fn to_download(
    to_build: &[&'static Component],
    limit: Duration,
) -> Result<Vec<&'static str>, ProgramError> {
    let mut by_module: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for component in to_build {
        by_module.entry(component.module.name).or_default().push(*component);
    }
    let mut missing = Vec::new();
    for (module, components) in by_module {
        let folder = materialise(components[0].module)?;
        let missing_first = match missing_amended(components[0].module, &folder).await? {
            // Go cannot load packages before the copy exists.
            Some(amended) => Some(amended),
            None => first_missing(&folder, &components).await.map(|first| (folder, first)),
        };
        if let Some((folder, first)) = missing_first {
            let unreachable = |reason| ProgramError::Modules { module, reason };
            reachable(&folder, &first, limit).await.map_err(unreachable)?;
            missing.push(module);
        }
    }
    Ok(missing)
}

/// The amended module as PATH@VERSION and the folder to download it from, if Go must download it. Otherwise
/// this copies the module.
async fn missing_amended(
    module: &'static Module,
    folder: &Path,
) -> Result<Option<(PathBuf, String)>, ProgramError> {
    let Some(amendment) = module.amendment else { return Ok(None) };
    match amendment.copy_into(folder, Some("off")).await {
        Ok(()) => Ok(None),
        Err(NoCopy::NotCached) => Ok(Some((amendment.download_folder(folder), amendment.query()))),
        Err(error) => Err(no_copy(module, error)),
    }
}

/// The first module that Go would download to load these packages, as PATH@VERSION. The build reports other
/// problems of the packages.
async fn first_missing(folder: &Path, components: &[&Component]) -> Option<String> {
    let mut list = go(folder, &["list", "-mod=readonly", "-deps", "-f", ""]);
    list.args(components.iter().map(|component| component.package));
    let answer = list.env("GOPROXY", "off").env("CGO_ENABLED", "0").output().await.ok()?;
    let said = said(&answer);
    let named = said.lines().find_map(|line| line.strip_prefix("go: downloading ")?.split_once(' '));
    let (path, version) = named.unwrap_or((components[0].module_path(), components[0].version));
    said.contains("module lookup disabled").then(|| format!("{path}@{version}"))
}

/// Asks Go for this version without its source. Go's answer covers GOPROXY, GOPRIVATE, HTTPS_PROXY and
/// credentials.
async fn reachable(folder: &Path, module: &str, limit: Duration) -> Result<(), String> {
    let mut query = go(folder, &["list", "-mod=readonly", "-m", module]);
    // `direct` uses git, which may prompt for a password.
    query.env("GIT_TERMINAL_PROMPT", "0");
    let proxy = variable(folder, "GOPROXY").await?;
    within(limit, query).await.map_err(|reason| format!("{reason} (GOPROXY={proxy})"))
}

async fn within(limit: Duration, mut go: Command) -> Result<(), String> {
    match tokio::time::timeout(limit, go.output()).await {
        Ok(Ok(answer)) if answer.status.success() => Ok(()),
        Ok(Ok(answer)) => Err(said(&answer)),
        Ok(Err(error)) => Err(format!("`go` cannot be run: {error}")),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
    }
}

/// One of Go's own folders, which need not exist. Fails if there is no such folder, for example with
/// GOCACHE=off or without a home directory.
pub(crate) async fn folder_of_go(
    component: &'static Component,
    name: &'static str,
) -> Result<PathBuf, ProgramError> {
    let module = component.module;
    let failed = |reason| ProgramError::Go { reason, needed: module.go_version().into() };
    let value = variable(&materialise(module)?, name).await.map_err(failed)?;
    let path = PathBuf::from(&value);
    if path.is_absolute() { Ok(path) } else { Err(ProgramError::GoFolder { variable: name, value }) }
}

async fn variable(folder: &Path, name: &str) -> Result<String, String> {
    match go(folder, &["env", name]).output().await {
        Ok(answer) if answer.status.success() => {
            Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
        }
        Ok(answer) => Err(said(&answer)),
        Err(error) => Err(format!("`go` cannot be run: {error}")),
    }
}

fn said(answer: &Output) -> String {
    String::from_utf8_lossy(&answer.stderr).trim().to_owned()
}

fn go(folder: &Path, args: &[&str]) -> Command {
    let mut go = Command::new("go");
    go.args(args).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    go
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy that accepts connections and never answers, as behind a firewall.
    #[tokio::test]
    async fn a_silent_proxy_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("go.mod"), "module m\n\ngo 1.20\n").unwrap();
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", silent.local_addr().unwrap());
        let mut list = go(folder.path(), &["list", "-m", "-versions", "example.com/m"]);
        list.env("GOPROXY", &proxy);
        let begin = std::time::Instant::now();
        let refused = within(Duration::from_secs(1), list).await.unwrap_err();
        assert_eq!(refused, "no answer within 1 s");
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}
