//! Writes the folder of a release, which [`super::release`] reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::component::Component;
use super::digests::digest;
use super::module_source::source;
use super::release::{MODULES, PROGRAMS, SUMS, module_folder, program_file};
use super::toolbox::Program;
use crate::blocking::in_place;
use crate::{ProgramError, home};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFiles {
    pub component: &'static Component,
    pub files: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    pub files: usize,
    pub bytes: u64,
}

/// Copies the files into an empty folder. If one copy fails, for example on a full disk, removes all.
pub async fn fetch(
    to: &Path,
    programs: &[(&'static Component, Program)],
    modules: &[ModuleFiles],
) -> Result<Fetched, ProgramError> {
    let mut copies: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (component, program) in programs {
        copies.insert(program_file(component), program.path.clone());
    }
    for ModuleFiles { component, files } in modules {
        let folder = source(component).await?;
        for file in files {
            copies.insert(format!("{}{file}", module_folder(component)), folder.join(file));
        }
    }
    let written = in_place(|| write(to, &copies));
    if written.is_err() {
        for name in [PROGRAMS, MODULES, SUMS] {
            let path = to.join(name);
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
    written
}

/// Writes the copies, and the list of digests last. A folder without the list is not a release.
fn write(to: &Path, copies: &BTreeMap<String, PathBuf>) -> Result<Fetched, ProgramError> {
    let mut bytes = 0;
    for path in copies.values() {
        bytes += std::fs::metadata(path).map_err(ProgramError::file(path))?.len();
    }
    home::require_space(to, bytes / (1024 * 1024) + 1, "for the programs", "--to")?;
    let mut sums = Vec::new();
    for (file, from) in copies {
        let target = to.join(file);
        home::create_folder(target.parent().unwrap_or(to))?;
        std::fs::copy(from, &target).map_err(ProgramError::file(&target))?;
        sums.push(format!("{}  {file}\n", digest(&target)?));
    }
    home::write(&to.join(SUMS), sums.concat())?;
    Ok(Fetched { files: copies.len(), bytes })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::release::ReleaseFolder;
    use super::super::{Module, testing};
    use super::*;

    fn copies(folder: &Path) -> BTreeMap<String, PathBuf> {
        let program = folder.join("built");
        home::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        [(format!("{PROGRAMS}etcd-v1-0/etcd"), program)].into()
    }

    #[test]
    fn the_written_folder_is_a_release_with_executable_programs() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let fetched = write(to.path(), &copies(from.path())).unwrap();
        assert_eq!(fetched, Fetched { files: 1, bytes: 10 });
        let mode = std::fs::metadata(to.path().join("programs/etcd-v1-0/etcd")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
        let list = std::fs::read_to_string(to.path().join(SUMS)).unwrap();
        let digest = digest(&from.path().join("built")).unwrap();
        assert_eq!(list, format!("{digest}  programs/etcd-v1-0/etcd\n"));
        assert!(ReleaseFolder::of(&to.path().join("grove-conformance")).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_failed_copy_leaves_nothing() {
        static MODULE: Module = testing::module("", None);
        static ETCD: Component = testing::program("etcd", "v1.0.0", "example.com/m", &MODULE);
        let to = tempfile::tempdir().unwrap();
        let program = Program {
            name: "etcd".into(),
            version: "v1.0.0".into(),
            path: to.path().join(".."),
            sha256: String::new(),
            source: super::super::Source::Built,
            built_in: None,
        };
        assert!(fetch(to.path(), &[(&ETCD, program)], &[]).await.is_err());
        assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0);
    }
}
