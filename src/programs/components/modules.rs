//! Checks whether Go has, or can download, the modules that a build needs. Without this check, a build would
//! fail only after minutes, or hang behind a firewall that drops packets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::amendment::NoCopy;
use super::component::{Component, Module};
use super::go_module::{materialise, no_copy};
use super::toolchain::GoError;
use crate::ProgramError;

pub(crate) const PROXY_ANSWER: Duration = Duration::from_secs(20);

/// Returns the folders of `components/` whose modules Go must download before it can build these components.
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
            // Go cannot load packages before the copy of the amended module exists.
            Some(amended) => Some(amended),
            None => first_missing(&folder, &components).await.map(|first| (folder, first)),
        };
        if let Some((folder, first)) = missing_first {
            let unreachable = |error: GoError| ProgramError::Modules { module, reason: error.to_string() };
            query(&folder, &first, limit).await.map_err(unreachable)?;
            missing.push(module);
        }
    }
    Ok(missing)
}

pub(super) async fn missing_amended(
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

/// Returns the first missing module as PATH@VERSION. Other problems of the packages are left to the build.
async fn first_missing(folder: &Path, components: &[&Component]) -> Option<String> {
    let mut list = go(folder, &["list", "-mod=readonly", "-deps", "-f", ""]);
    list.args(components.iter().map(|component| component.package));
    let answer = list.env("GOPROXY", "off").env("CGO_ENABLED", "0").output().await.ok()?;
    let message = stderr(&answer);
    let named = message.lines().find_map(|line| line.strip_prefix("go: downloading ")?.split_once(' '));
    let (path, version) = named.unwrap_or((components[0].module_path(), components[0].version));
    message.contains("module lookup disabled").then(|| format!("{path}@{version}"))
}

/// Asks the module proxy for a module, without a download. The result depends on GOPROXY, GOPRIVATE,
/// HTTPS_PROXY and credentials, as for a download.
async fn query(folder: &Path, module: &str, limit: Duration) -> Result<(), GoError> {
    ask(folder, &["list", "-mod=readonly", "-m", module], limit).await.map(drop)
}

pub(super) async fn ask(folder: &Path, args: &[&str], limit: Duration) -> Result<String, GoError> {
    let mut question = go(folder, args);
    // With `direct`, Go uses git, which may prompt for a password.
    question.env("GIT_TERMINAL_PROMPT", "0");
    let proxy = variable(folder, "GOPROXY").await?;
    let answer = run(question, limit).await;
    let answer = answer.map_err(|source| GoError::Proxy { source: Box::new(source), proxy })?;
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

async fn run(mut go: Command, limit: Duration) -> Result<Output, GoError> {
    match tokio::time::timeout(limit, go.output()).await {
        Ok(Ok(answer)) if answer.status.success() => Ok(answer),
        // With `-json`, Go writes some errors to its standard output.
        Ok(Ok(answer)) if answer.stderr.is_empty() => {
            Err(GoError::Failed(String::from_utf8_lossy(&answer.stdout).trim().to_owned()))
        }
        Ok(Ok(answer)) => Err(GoError::Failed(stderr(&answer))),
        Ok(Err(error)) => Err(GoError::NotRun(error)),
        Err(_) => Err(GoError::Timeout(limit)),
    }
}

pub(crate) async fn folder_of_go(
    component: &'static Component,
    name: &'static str,
) -> Result<PathBuf, ProgramError> {
    let module = component.module;
    let failed =
        |error: GoError| ProgramError::Go { reason: error.to_string(), needed: module.go_version().into() };
    let value = variable(&materialise(module)?, name).await.map_err(failed)?;
    let path = PathBuf::from(&value);
    if path.is_absolute() { Ok(path) } else { Err(ProgramError::GoFolder { variable: name, value }) }
}

async fn variable(folder: &Path, name: &str) -> Result<String, GoError> {
    let answer = go(folder, &["env", name]).output().await.map_err(GoError::NotRun)?;
    if !answer.status.success() {
        return Err(GoError::Failed(stderr(&answer)));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

fn stderr(answer: &Output) -> String {
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

    #[tokio::test]
    async fn a_silent_proxy_leads_to_a_timeout() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("go.mod"), "module m\n\ngo 1.20\n").unwrap();
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", silent.local_addr().unwrap());
        let mut list = go(folder.path(), &["list", "-m", "-versions", "example.com/m"]);
        list.env("GOPROXY", &proxy);
        let begin = std::time::Instant::now();
        let error = run(list, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "`go` did not respond within 1 s");
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}
