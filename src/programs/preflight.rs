//! Checks whether this machine has everything that a run needs, and reports all problems together.

use std::collections::BTreeMap;
use std::path::Path;

use crate::components::component::Component;
use crate::components::modules::{PROXY_ANSWER, folder_of_go, to_download};
use crate::components::toolchain::Toolchain;
use crate::{ProgramError, available_memory, home, ports};

/// Peak memory of the largest build in MiB: linking kube-apiserver while two compilers run.
pub const BUILD_MEMORY_MIB: u64 = 2048;
/// Disk space of builds in MiB, with empty caches. Go's own caches are usually on the same disk.
pub(crate) const BUILD_DISK_MIB: u64 = 4096;
/// Disk space of a cluster's state, in MiB.
const STATE_DISK_MIB: u64 = 512;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub what: &'static str,
    /// The state of the machine, or the problem and what to do about it.
    pub found: Result<String, String>,
}

impl Check {
    pub fn new(what: &'static str, found: Result<String, impl std::fmt::Display>) -> Self {
        Self { what, found: found.map_err(|error| error.to_string()) }
    }
}

pub async fn checks(to_build: &[&'static Component]) -> Vec<Check> {
    let mut checks = vec![
        Check::new("state folder", writable(&home::state(), STATE_DISK_MIB, home::STATE_VARIABLE)),
        Check::new("ports", ports::check()),
    ];
    if !to_build.is_empty() {
        let memory = enough_memory(available_memory::in_mib(), BUILD_MEMORY_MIB);
        checks.push(Check::new("memory of builds", memory));
    }
    let disk = if to_build.is_empty() { 1 } else { BUILD_DISK_MIB };
    let cache = writable(&home::cache(), disk, home::CACHE_VARIABLE);
    let usable = cache.is_ok();
    checks.push(Check::new("cache folder", cache));
    // Check Go only if the cache is usable, because Go runs in the module's folder, which is there.
    if let (true, [first, ..]) = (usable, to_build) {
        let go = go_for(to_build).await;
        let usable = go.is_ok();
        checks.push(Check::new("go", go));
        if usable {
            checks.push(Check::new("go build cache", written_by_go(first, "GOCACHE").await));
            checks.push(Check::new("go modules", modules_for(to_build).await));
        }
    }
    checks
}

pub fn require(checks: Vec<Check>) -> Result<(), ProgramError> {
    let wrong = |check: Check| check.found.err().map(|reason| format!("{}: {reason}", check.what));
    let missing: Vec<_> = checks.into_iter().filter_map(wrong).collect();
    if missing.is_empty() { Ok(()) } else { Err(ProgramError::Preflight { missing }) }
}

async fn go_for(to_build: &[&'static Component]) -> Result<String, ProgramError> {
    let modules: BTreeMap<_, _> =
        to_build.iter().map(|component| (component.module.name, component.module)).collect();
    let mut versions = Vec::new();
    for module in modules.into_values() {
        let go = Toolchain::find(module).await?;
        let version = format!("{} {}", go.version, go.target);
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    Ok(versions.join(", "))
}

async fn modules_for(to_build: &[&'static Component]) -> Result<String, ProgramError> {
    let missing = to_download(to_build, PROXY_ANSWER).await?;
    let (Some(first), false) = (to_build.first(), missing.is_empty()) else { return Ok("cached".into()) };
    written_by_go(first, "GOMODCACHE").await?;
    Ok(format!("to be downloaded: {}", missing.join(", ")))
}

async fn written_by_go(
    component: &'static Component,
    variable: &'static str,
) -> Result<String, ProgramError> {
    writable(&folder_of_go(component, variable).await?, 1, variable)
}

fn writable(path: &Path, needed_mib: u64, variable: &'static str) -> Result<String, ProgramError> {
    let refused = |source| ProgramError::NotWritable { path: path.into(), variable, source };
    std::fs::create_dir_all(path).map_err(refused)?;
    tempfile::tempfile_in(path).map_err(refused)?;
    home::require_space(path, needed_mib, "here", variable)?;
    Ok(path.display().to_string())
}

pub fn enough_memory(available_mib: Option<u64>, needed_mib: u64) -> Result<String, ProgramError> {
    match available_mib {
        Some(available_mib) if available_mib < needed_mib => {
            Err(ProgramError::Memory { available_mib, needed_mib })
        }
        Some(mib) => Ok(format!("{mib} MiB available, {needed_mib} MiB needed")),
        None => Ok("unknown".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(
        Some(1024),
        2048,
        Err("1024 MiB of memory are available, 2048 MiB are needed; stop other programs")
    )]
    #[case(Some(4096), 2048, Ok("4096 MiB available, 2048 MiB needed"))]
    #[case(None, 2048, Ok("unknown"))]
    fn too_little_memory_is_reported(
        #[case] available: Option<u64>,
        #[case] needed: u64,
        #[case] found: Result<&str, &str>,
    ) {
        let found = found.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(enough_memory(available, needed).map_err(|error| error.to_string()), found);
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_reported_with_its_variable() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let below = file.path().join("cache");
        let error = writable(&below, 1, "SOME_VARIABLE").expect_err("a file is no folder").to_string();
        assert!(error.contains("cannot be written") && error.contains("set SOME_VARIABLE"), "{error}");
    }

    #[test]
    fn a_full_disk_is_reported_with_its_variable() {
        let folder = tempfile::tempdir().expect("a folder");
        let error =
            writable(folder.path(), u64::MAX, "SOME_VARIABLE").expect_err("no disk is so large").to_string();
        assert!(error.contains("SOME_VARIABLE"), "{error}");
    }
}
