//! Where this program keeps files: built components in a cache folder, clusters in a state folder.
//!
//! Both follow the XDG convention, and environment variables can move them. `GROVE_CONFORMANCE_CACHE` has
//! programs and build logs, which are worth keeping. `GROVE_CONFORMANCE_STATE` has one folder per cluster,
//! which is worthless once the cluster is deleted.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::ProgramError;

/// Moves the cache folder.
pub const CACHE_VARIABLE: &str = "GROVE_CONFORMANCE_CACHE";
/// Moves the state folder.
pub const STATE_VARIABLE: &str = "GROVE_CONFORMANCE_STATE";

fn folder(variable: &str, xdg: &str, below_home: &str) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| set(xdg).map(|base| base.join("grove-conformance"))).unwrap_or_else(|| {
        set("HOME").unwrap_or_else(std::env::temp_dir).join(below_home).join("grove-conformance")
    })
}

/// The folder of built components.
pub fn cache() -> PathBuf {
    folder(CACHE_VARIABLE, "XDG_CACHE_HOME", ".cache")
}

/// The folder of clusters.
pub fn state() -> PathBuf {
    folder(STATE_VARIABLE, "XDG_STATE_HOME", ".local/state")
}

/// The folder of one cluster's certificates, configuration, data and logs.
pub fn cluster(name: &str) -> PathBuf {
    state().join("clusters").join(name)
}

pub fn make(path: &Path) -> Result<(), ProgramError> {
    std::fs::create_dir_all(path).map_err(ProgramError::file(path))
}

/// Writes a file and creates its folder first.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), ProgramError> {
    if let Some(parent) = path.parent() {
        make(parent)?;
    }
    std::fs::write(path, content).map_err(ProgramError::file(path))
}

/// Replaces a file atomically: other processes see the old content or all of the new one.
pub(crate) fn replace(path: &Path, content: &str) -> Result<(), ProgramError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    make(folder)?;
    let mut whole = tempfile::NamedTempFile::new_in(folder).map_err(ProgramError::file(path))?;
    whole.write_all(content.as_bytes()).map_err(ProgramError::file(path))?;
    whole.persist(path).map(drop).map_err(|error| ProgramError::file(path)(error.error))
}

/// The last `lines` lines of a file; empty if it cannot be read.
pub fn tail(path: &Path, lines: usize) -> String {
    /// Longer than any number of lines that callers request. A log may be long.
    const END: u64 = 64 * 1024;
    let read = || {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
        let mut raw = Vec::new();
        file.read_to_end(&mut raw).map(|_| raw)
    };
    let raw: std::io::Result<Vec<u8>> = read();
    let text = String::from_utf8_lossy(&raw.unwrap_or_default()).into_owned();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Fails if the folder's disk has less than `needed_mib` MiB free. `variable` moves the folder.
pub fn require_space(
    path: &Path,
    needed_mib: u64,
    purpose: &'static str,
    variable: &'static str,
) -> Result<(), ProgramError> {
    make(path)?;
    let stat =
        rustix::fs::statvfs(path).map_err(|e| ProgramError::File { path: path.into(), source: e.into() })?;
    let free_mib = stat.f_bavail.saturating_mul(stat.f_frsize) / (1024 * 1024);
    if free_mib < needed_mib {
        return Err(ProgramError::Disk { path: path.into(), free_mib, needed_mib, purpose, variable });
    }
    Ok(())
}

/// A cluster folder, locked while its owner lives.
///
/// The kernel releases the lock when the process ends, however it ends. A folder without a lock holder was
/// left by a killed run.
#[derive(Debug)]
pub struct ClusterHome {
    pub path: PathBuf,
    _lock: File,
}

impl ClusterHome {
    /// Creates and locks the folder of a new cluster. Fails if a live process holds a folder of that name.
    pub fn take(name: &str) -> Result<Self, ProgramError> {
        let valid = !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !valid {
            return Err(ProgramError::InvalidName { name: name.into() });
        }
        let path = cluster(name);
        make(&path)?;
        let Some(lock) = try_hold(&path)? else {
            return Err(ProgramError::NameTaken { name: name.into() });
        };
        clear(&path)?;
        Ok(Self { path, _lock: lock })
    }

    pub fn remove(&self) -> Result<(), ProgramError> {
        std::fs::remove_dir_all(&self.path).map_err(ProgramError::file(&self.path))
    }
}

fn lock_file(home: &Path) -> PathBuf {
    home.join("lock")
}

fn try_hold(home: &Path) -> Result<Option<File>, ProgramError> {
    try_lock(&lock_file(home))
}

/// Whether a live process holds a cluster's folder. Does not create the lock file, because the folder may be
/// about to be deleted.
fn is_held(home: &Path) -> bool {
    let lock = File::options().write(true).open(lock_file(home));
    lock.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// Locks a file, and creates it if it is missing. Returns `None` if a live process holds it.
pub fn try_lock(path: &Path) -> Result<Option<File>, ProgramError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(ProgramError::file(path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(source)) => Err(ProgramError::File { path: path.into(), source }),
    }
}

fn clear(home: &Path) -> Result<(), ProgramError> {
    for entry in std::fs::read_dir(home).map_err(ProgramError::file(home))?.flatten() {
        let path = entry.path();
        if path == lock_file(home) {
            continue;
        }
        let gone = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        gone.map_err(ProgramError::file(&path))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    /// Whether a live process holds it.
    pub live: bool,
}

/// All cluster folders, by name.
pub fn clusters() -> Result<Vec<Found>, ProgramError> {
    let root = state().join("clusters");
    let Ok(entries) = std::fs::read_dir(&root) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        let live = is_held(&entry.path());
        found.push(Found { name: entry.file_name().to_string_lossy().into_owned(), live });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Removes the folder of an unfinished cluster when dropped, for example with a cancelled future. The caller
/// must have dropped the cluster's processes before.
#[derive(Debug)]
pub struct HalfMade(Option<PathBuf>);

impl HalfMade {
    /// The folder of the cluster of this name. The folder need not exist yet.
    pub fn new(name: &str) -> Self {
        Self(Some(cluster(name)))
    }

    /// Keeps the folder: the cluster is ready and has an owner, or it failed and its logs are useful.
    pub fn stays(mut self) {
        self.0 = None;
    }
}

impl Drop for HalfMade {
    fn drop(&mut self) {
        /// Processes that were just killed may still be writing.
        const ATTEMPTS: usize = 20;
        let Some(path) = &self.0 else { return };
        for _ in 0..ATTEMPTS {
            if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        tracing::warn!(path = %path.display(), "failed to delete the folder of a partially started cluster");
    }
}

/// Removes the folders of clusters that no process holds. Returns their names.
pub fn remove_abandoned() -> Result<Vec<String>, ProgramError> {
    let mut removed = Vec::new();
    for found in clusters()?.into_iter().filter(|found| !found.live) {
        let path = cluster(&found.name);
        match std::fs::remove_dir_all(&path) {
            Ok(()) => removed.push(found.name),
            // Its owner removed it first.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(ProgramError::File { path, source }),
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_the_cluster_that_nobody_waits_for() {
        let state = tempfile::tempdir().unwrap();
        let making = |name: &str| {
            let path = state.path().join(name);
            write(&path.join("logs/etcd.log"), "begun").unwrap();
            (HalfMade(Some(path.clone())), path)
        };
        let (dropped, path) = making("dropped");
        drop(dropped);
        assert!(!path.exists());
        let (finished, path) = making("finished");
        finished.stays();
        assert!(path.join("logs/etcd.log").exists());
    }
}
