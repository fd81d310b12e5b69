use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::component::Component;
use super::go_module::{complete, materialise};
use super::modules::missing_amended;
use super::release::ReleaseFolder;
use super::toolchain::GoError;
use crate::ProgramError;
use crate::blocking::in_place;

/// `go` arguments that print the folder of a module, or nothing if Go would have to download the module.
const LIST: [&str; 5] = ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}"];

pub async fn source(component: &'static Component) -> Result<PathBuf, ProgramError> {
    if let Some(folder) = in_place(|| released(component))? {
        return Ok(folder);
    }
    let module = component.module;
    let path = component.module_path();
    let missing =
        |error: GoError| ProgramError::Go { reason: error.to_string(), needed: module.go_version().into() };
    let folder = complete(module).await?;
    let mut found = go(&folder, &LIST, path, None).await.map_err(missing)?;
    if found.is_empty() {
        go(&folder, &["mod", "download"], path, None).await.map_err(missing)?;
        found = go(&folder, &LIST, path, None).await.map_err(missing)?;
    }
    if found.is_empty() {
        return Err(missing(GoError::Failed(format!(
            "`go list -m` prints no folder for {path}, although `go mod download` succeeded"
        ))));
    }
    Ok(found.into())
}

pub async fn has_source(component: &'static Component) -> Result<bool, ProgramError> {
    if in_place(|| released(component))?.is_some() {
        return Ok(true);
    }
    let folder = materialise(component.module)?;
    // Go lists nothing before the copy of an amended module exists.
    if !matches!(missing_amended(component.module, &folder).await, Ok(None)) {
        return Ok(false);
    }
    let found = go(&folder, &LIST, component.module_path(), Some("off")).await;
    Ok(found.is_ok_and(|found| !found.is_empty()))
}

fn released(component: &Component) -> Result<Option<PathBuf>, ProgramError> {
    ReleaseFolder::of_this_program()?.map_or(Ok(None), |release| release.module(component))
}

async fn go(folder: &Path, args: &[&str], path: &str, proxy: Option<&str>) -> Result<String, GoError> {
    let mut go = Command::new("go");
    go.args(args).arg(path).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    if let Some(proxy) = proxy {
        go.env("GOPROXY", proxy);
    }
    let answer = go.output().await.map_err(GoError::NotRun)?;
    if answer.status.success() {
        return Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned());
    }
    let reason = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
    Err(GoError::Failed(format!("`go {}` for {path} failed: {reason}", args.join(" "))))
}
