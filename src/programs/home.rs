//! Folders of this program, by the XDG convention. The cache folder has programs and build logs for later
//! runs. The state folder has one folder per cluster, which is deleted with the cluster.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::ProgramError;

pub const CACHE_VARIABLE: &str = "GROVE_CONFORMANCE_CACHE";
pub const STATE_VARIABLE: &str = "GROVE_CONFORMANCE_STATE";

fn folder(variable: &str, xdg: &str, below_home: &str) -> PathBuf {
    let path_in = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = path_in(variable) {
        return path;
    }
    let base =
        path_in(xdg).unwrap_or_else(|| path_in("HOME").unwrap_or_else(std::env::temp_dir).join(below_home));
    base.join("grove-conformance")
}

pub fn cache() -> PathBuf {
    folder(CACHE_VARIABLE, "XDG_CACHE_HOME", ".cache")
}

pub fn state() -> PathBuf {
    folder(STATE_VARIABLE, "XDG_STATE_HOME", ".local/state")
}

pub fn cluster(name: &str) -> PathBuf {
    state().join("clusters").join(name)
}

pub fn create_folder(path: &Path) -> Result<(), ProgramError> {
    std::fs::create_dir_all(path).map_err(ProgramError::file(path))
}

pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), ProgramError> {
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    std::fs::write(path, content).map_err(ProgramError::file(path))
}

/// Writes a file atomically, so that other processes never see a part of the new content.
pub(crate) fn replace(path: &Path, content: &str) -> Result<(), ProgramError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    create_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(ProgramError::file(path))?;
    file.write_all(content.as_bytes()).map_err(ProgramError::file(path))?;
    file.persist(path).map(drop).map_err(|error| ProgramError::file(path)(error.error))
}

/// Returns the last lines of a file, or an empty string if the file cannot be read.
pub fn tail(path: &Path, lines: usize) -> String {
    /// Only this many bytes are read, because logs may be long. Callers need fewer lines than that.
    const END: u64 = 64 * 1024;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
        let mut raw = Vec::new();
        file.read_to_end(&mut raw)?;
        Ok(raw)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Fails if the folder has too little free space. The environment variable `variable` moves it.
pub fn require_space(
    path: &Path,
    needed_mib: u64,
    purpose: &'static str,
    variable: &'static str,
) -> Result<(), ProgramError> {
    create_folder(path)?;
    let free_mib = free_mib(path)?;
    if free_mib < needed_mib {
        return Err(ProgramError::Disk { path: path.into(), free_mib, needed_mib, purpose, variable });
    }
    Ok(())
}

pub fn free_mib(path: &Path) -> Result<u64, ProgramError> {
    let stat =
        rustix::fs::statvfs(path).map_err(|e| ProgramError::File { path: path.into(), source: e.into() })?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize) / (1024 * 1024))
}

/// The folder of a cluster, locked until its owner exits. An unlocked folder belongs to a killed run.
#[derive(Debug)]
pub struct ClusterHome {
    pub path: PathBuf,
    _lock: File,
}

impl ClusterHome {
    pub fn take(name: &str) -> Result<Self, ProgramError> {
        let valid = !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !valid {
            return Err(ProgramError::InvalidName { name: name.into() });
        }
        let path = cluster(name);
        create_folder(&path)?;
        let Some(lock) = try_lock(&lock_file(&path))? else {
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

/// Whether a live process has locked the folder. Creates no lock file: the folder may be being deleted.
fn is_locked(home: &Path) -> bool {
    let lock = File::options().write(true).open(lock_file(home));
    lock.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// Locks a file, which is created if it is missing. Returns `None` if a live process has locked the file.
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
        let removed =
            if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(ProgramError::file(&path))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub live: bool,
}

pub fn clusters() -> Result<Vec<Found>, ProgramError> {
    let root = state().join("clusters");
    let Ok(entries) = std::fs::read_dir(&root) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        let live = is_locked(&entry.path());
        found.push(Found { name: entry.file_name().to_string_lossy().into_owned(), live });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Removes the folder when dropped. The cluster's processes must be dropped first.
#[derive(Debug)]
pub struct UnfinishedCluster(Option<PathBuf>);

impl UnfinishedCluster {
    pub fn new(name: &str) -> Self {
        Self(Some(cluster(name)))
    }

    /// Keeps the folder: the cluster is ready and has an owner, or it failed and its logs are useful.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for UnfinishedCluster {
    fn drop(&mut self) {
        /// Number of tries. Processes that were just killed may still be writing.
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

pub fn remove_abandoned() -> Result<Vec<String>, ProgramError> {
    let mut removed = Vec::new();
    for found in clusters()?.into_iter().filter(|found| !found.live) {
        let path = cluster(&found.name);
        match std::fs::remove_dir_all(&path) {
            Ok(()) => removed.push(found.name),
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
    fn the_folder_of_a_cluster_is_removed_unless_it_is_kept() {
        let state = tempfile::tempdir().unwrap();
        let unfinished = |name: &str| {
            let path = state.path().join(name);
            write(&path.join("logs/etcd.log"), "started").unwrap();
            (UnfinishedCluster(Some(path.clone())), path)
        };
        let (dropped, path) = unfinished("dropped");
        drop(dropped);
        assert!(!path.exists());
        let (finished, path) = unfinished("finished");
        finished.keep();
        assert!(path.join("logs/etcd.log").exists());
    }
}
