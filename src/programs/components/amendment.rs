//! Adds files to a module for a build, for example a constant that no published version of the module has.
//!
//! Go builds only the files of a module, and an overlay must not change the module cache. So `go.mod`
//! replaces the module with a copy that has the added files. `go.sum` does not cover a folder, so the digests
//! of the module are pinned next to its version. Go compares the digests when it downloads the module.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::blocking::in_place;
use crate::{ProgramError, home};

#[derive(Debug, PartialEq, Eq)]
pub struct Amendment {
    pub module: &'static str,
    pub version: &'static str,
    /// The digest of the module's files, as in `go.sum`.
    pub sum: &'static str,
    /// The digest of the module's `go.mod`, as in `go.sum`.
    pub go_mod_sum: &'static str,
    /// The name of the copy's folder, in the folder of the build's `go.mod`.
    pub folder: &'static str,
    /// The added files: paths in the module, and contents.
    pub files: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(super) enum NoCopy {
    NotCached,
    Go(String),
    File(ProgramError),
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Download {
    #[serde(default)]
    dir: String,
    #[serde(default)]
    sum: String,
    #[serde(default)]
    error: String,
}

impl Amendment {
    pub(super) fn query(&self) -> String {
        format!("{}@{}", self.module, self.version)
    }

    /// Returns the folder in which Go runs to download the module. Its `go.mod` has no `replace` line.
    pub(super) fn download_folder(&self, parent: &Path) -> PathBuf {
        parent.join(format!("download-{}", self.folder))
    }

    pub(super) fn hash_into(&self, hash: &mut Sha256) {
        let pins = [self.module, self.version, self.sum, self.go_mod_sum, self.folder];
        let files = self.files.iter().flat_map(|(path, content)| [*path, *content]);
        for part in pins.into_iter().chain(files) {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
    }

    pub(super) async fn copy_into(&self, parent: &Path, proxy: Option<&str>) -> Result<(), NoCopy> {
        let target = parent.join(self.folder);
        if target.is_dir() {
            return Ok(());
        }
        let module = self.download(parent, proxy).await?;
        if module.sum != self.sum {
            let Download { sum, .. } = module;
            return Err(NoCopy::Go(format!("{} has the digest {sum}, not {}", self.query(), self.sum)));
        }
        in_place(|| self.create_copy(Path::new(&module.dir), parent, &target)).map_err(NoCopy::File)
    }

    async fn download(&self, parent: &Path, proxy: Option<&str>) -> Result<Download, NoCopy> {
        let folder = self.download_folder(parent);
        let Self { module, version, sum, go_mod_sum, .. } = self;
        let go_sum = format!("{module} {version} {sum}\n{module} {version}/go.mod {go_mod_sum}\n");
        home::replace(&folder.join("go.mod"), "module download\n").map_err(NoCopy::File)?;
        home::replace(&folder.join("go.sum"), &go_sum).map_err(NoCopy::File)?;
        let mut go = Command::new("go");
        go.args(["mod", "download", "-json", &self.query()]).current_dir(&folder);
        go.stdin(Stdio::null()).kill_on_drop(true);
        if let Some(proxy) = proxy {
            go.env("GOPROXY", proxy);
        }
        let answer = go.output().await.map_err(|e| NoCopy::Go(format!("`go` cannot be run: {e}")))?;
        let failed = || String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        let found: Download = serde_json::from_slice(&answer.stdout).map_err(|_| NoCopy::Go(failed()))?;
        if answer.status.success() && found.error.is_empty() {
            return Ok(found);
        }
        let reason = if found.error.is_empty() { failed() } else { found.error };
        let is_refused = reason.contains("module lookup disabled");
        Err(if is_refused { NoCopy::NotCached } else { NoCopy::Go(reason) })
    }

    /// Creates the copy with the added files. A final rename hides an incomplete copy from other processes.
    fn create_copy(&self, source: &Path, parent: &Path, target: &Path) -> Result<(), ProgramError> {
        let unfinished = tempfile::tempdir_in(parent).map_err(ProgramError::file(parent))?;
        copy(source, unfinished.path())?;
        for (path, content) in self.files {
            let path = unfinished.path().join(path);
            if path.exists() {
                let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
                return Err(ProgramError::File { path, source });
            }
            home::write(&path, content)?;
        }
        match std::fs::rename(unfinished.path(), target) {
            Ok(()) => drop(unfinished.keep()),
            Err(_) if target.is_dir() => {}
            Err(source) => return Err(ProgramError::File { path: target.into(), source }),
        }
        Ok(())
    }
}

/// Copies files and folders without their modes, because files in the module cache are read-only.
fn copy(from: &Path, to: &Path) -> Result<(), ProgramError> {
    home::create_folder(to)?;
    for entry in std::fs::read_dir(from).map_err(ProgramError::file(from))? {
        let path = entry.map_err(ProgramError::file(from))?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            home::write(&to.join(name), std::fs::read(&path).map_err(ProgramError::file(&path))?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDED: &[(&str, &str)] = &[("pkg/added.go", "package pkg\n")];

    fn amendment(files: &'static [(&'static str, &'static str)]) -> Amendment {
        let (module, version) = ("example.com/m", "v1.0.0");
        Amendment { module, version, sum: "h1:s", go_mod_sum: "h1:m", folder: "m", files }
    }

    fn digest(amendment: &Amendment) -> Vec<u8> {
        let mut hash = Sha256::new();
        amendment.hash_into(&mut hash);
        hash.finalize().to_vec()
    }

    fn module() -> tempfile::TempDir {
        let source = tempfile::tempdir().unwrap();
        home::write(&source.path().join("go.mod"), "module example.com/m\n").unwrap();
        home::write(&source.path().join("pkg/there.go"), "package pkg\n").unwrap();
        source
    }

    #[test]
    fn a_copy_has_the_files_of_the_module_and_the_added_files() {
        let (source, parent) = (module(), tempfile::tempdir().unwrap());
        let target = parent.path().join("m");
        for path in ["pkg/there.go", "pkg"] {
            let path = source.path().join(path);
            let mut mode = std::fs::metadata(&path).unwrap().permissions();
            mode.set_readonly(true);
            std::fs::set_permissions(&path, mode).unwrap();
        }
        amendment(ADDED).create_copy(source.path(), parent.path(), &target).unwrap();
        for path in ["go.mod", "pkg/there.go", "pkg/added.go"] {
            assert!(!std::fs::metadata(target.join(path)).unwrap().permissions().readonly(), "{path}");
        }
        amendment(ADDED).create_copy(source.path(), parent.path(), &target).unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1, "an unfinished copy is left");
    }

    #[test]
    fn a_file_of_the_module_is_not_overwritten() {
        let (source, parent) = (module(), tempfile::tempdir().unwrap());
        let target = parent.path().join("m");
        let refused = amendment(&[("pkg/there.go", "")]).create_copy(source.path(), parent.path(), &target);
        assert!(refused.is_err());
        assert!(!target.exists());
    }

    #[test]
    fn the_hash_changes_with_the_added_files() {
        assert_eq!(digest(&amendment(ADDED)), digest(&amendment(ADDED)));
        assert_ne!(digest(&amendment(ADDED)), digest(&amendment(&[("pkg/added.go", "package other\n")])));
        assert_ne!(digest(&amendment(ADDED)), digest(&amendment(&[("added.go", "package pkg\n")])));
    }

    #[tokio::test]
    async fn a_missing_module_is_not_downloaded_with_goproxy_off() {
        let parent = tempfile::tempdir().unwrap();
        let answer = amendment(ADDED).copy_into(parent.path(), Some("off")).await;
        assert!(matches!(answer, Err(NoCopy::NotCached)), "{answer:?}");
        assert!(!parent.path().join("m").exists());
    }

    #[tokio::test]
    async fn a_module_with_another_digest_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let files = parent.path().join("proxy/example.com/m/@v");
        home::write(&files.join("v1.0.0.mod"), "module example.com/m\n").unwrap();
        home::write(&files.join("v1.0.0.info"), r#"{"Version":"v1.0.0"}"#).unwrap();
        let proxy = format!("file://{}", parent.path().join("proxy").display());
        let answer = amendment(ADDED).copy_into(parent.path(), Some(&proxy)).await;
        let Err(NoCopy::Go(reason)) = answer else { panic!("{answer:?}") };
        assert!(reason.contains("checksum mismatch"), "{reason}");
    }
}
