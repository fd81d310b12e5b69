//! A folder with KAI's programs and CRDs, as unpacked or built by the user: the files may be anywhere below it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::crds_of;
use crate::ClusterError;

/// Names of the CRDs that the scheduler needs; without one it waits forever.
const CRDS: [&str; 4] = [
    "podgroups.scheduling.run.ai",
    "queues.scheduling.run.ai",
    "bindrequests.scheduling.run.ai",
    "topologies.kai.scheduler",
];
/// How far below the folder files are looked for.
const DEPTH: usize = 8;

/// The files of a KAI that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KaiDir {
    scheduler: PathBuf,
    binder: PathBuf,
    pod_grouper: Option<PathBuf>,
    crds: Vec<PathBuf>,
}

impl KaiDir {
    /// Looks for the files below `path`. Each program goes by the name with or without `kai-`; of several the one
    /// nearest to `path` is taken. CRDs are known by their names inside YAML files.
    ///
    /// # Errors
    /// [`ClusterError::KaiDir`] naming everything that is missing; [`ClusterError::NoKaiDir`] if `path` is no folder.
    pub fn open(path: &Path) -> Result<Self, ClusterError> {
        let no_folder = |source| ClusterError::NoKaiDir { path: path.into(), source };
        let path = &path.canonicalize().map_err(no_folder)?;
        let mut files = Vec::new();
        // The first reading fails loudly; a folder below that cannot be read has nothing for us.
        std::fs::read_dir(path).map_err(no_folder)?;
        list(path, DEPTH, &mut files);
        files.sort_by_key(|file| (file.components().count(), file.clone()));
        let program = |name: &str| {
            let names = [format!("kai-{name}"), name.to_owned()];
            let called =
                |file: &&PathBuf| names.iter().any(|name| file.file_name().is_some_and(|is| is == &**name));
            files.iter().filter(called).find(|file| is_executable(file)).cloned()
        };
        let manifest = |crd: &str| {
            let is_yaml = |file: &&PathBuf| file.extension().is_some_and(|is| is == "yaml" || is == "yml");
            files.iter().filter(is_yaml).find(|file| has_crd(file, crd)).cloned()
        };
        let crds: Vec<_> = CRDS.iter().map(|crd| (crd, manifest(crd))).collect();
        let mut missing: Vec<_> = crds
            .iter()
            .filter(|(_, file)| file.is_none())
            .map(|(crd, _)| format!("a YAML file with the CRD {crd}"))
            .collect();
        match (program("scheduler"), program("binder")) {
            (Some(scheduler), Some(binder)) if missing.is_empty() => Ok(Self {
                scheduler,
                binder,
                pod_grouper: program("podgrouper"),
                crds: crds.into_iter().filter_map(|(_, file)| file).collect(),
            }),
            (scheduler, binder) => {
                for (name, file) in [("scheduler", scheduler), ("binder", binder)] {
                    if file.is_none() {
                        missing.push(format!("a program kai-{name} or {name}"));
                    }
                }
                Err(ClusterError::KaiDir { path: path.clone(), missing })
            }
        }
    }

    /// The program of its process of that name.
    pub fn program(&self, name: &str) -> Option<&Path> {
        match name {
            "kai-scheduler" => Some(&self.scheduler),
            "kai-binder" => Some(&self.binder),
            "kai-podgrouper" => self.pod_grouper.as_deref(),
            _ => None,
        }
    }

    /// The CRDs, each once.
    pub(super) fn crds(&self) -> Result<Vec<Value>, ClusterError> {
        let mut all: Vec<Value> = Vec::new();
        for path in &self.crds {
            for crd in crds_of(path)? {
                let name = &crd["metadata"]["name"];
                let known = CRDS.iter().any(|known| name == known);
                if known && all.iter().all(|other| other["metadata"]["name"] != *name) {
                    all.push(crd);
                }
            }
        }
        Ok(all)
    }
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => list(&path, depth - 1, files),
            Ok(kind) if !kind.is_dir() && path.is_file() => files.push(path),
            _ => {}
        }
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

/// Whether a file defines that CRD. Most files are told apart by their text, without being parsed.
fn has_crd(file: &Path, crd: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.contains(crd)
        && text.contains("CustomResourceDefinition")
        && crds_of(file).is_ok_and(|all| all.iter().any(|object| object["metadata"]["name"] == crd))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode");
    }

    fn crd(name: &str) -> String {
        format!("kind: CustomResourceDefinition\nmetadata:\n  name: {name}\n")
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let folder = tempfile::tempdir().expect("folder");
        write(&folder.path().join("scheduler"), "not executable", 0o644);
        write(&folder.path().join("crds/queues.yaml"), &crd("queues.scheduling.run.ai"), 0o644);
        let Err(ClusterError::KaiDir { missing, .. }) = KaiDir::open(folder.path()) else {
            panic!("nothing is missing")
        };
        insta::assert_yaml_snapshot!(missing, @r"
        - a YAML file with the CRD podgroups.scheduling.run.ai
        - a YAML file with the CRD bindrequests.scheduling.run.ai
        - a YAML file with the CRD topologies.kai.scheduler
        - a program kai-scheduler or scheduler
        - a program kai-binder or binder
        ");
    }

    #[test]
    fn files_are_found_wherever_they_are_and_each_crd_once() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |path: &str| folder.path().join(path);
        write(&at("bin/kai-scheduler"), "", 0o755);
        write(&at("deep/down/kai-scheduler"), "", 0o755);
        write(&at("bin/binder"), "", 0o755);
        let all = CRDS.map(crd).join("---\n");
        write(&at("chart/crds/all.yaml"), &all, 0o644);
        let kai = KaiDir::open(folder.path()).expect("all is there");
        assert!(kai.scheduler.ends_with("bin/kai-scheduler"), "{kai:?}");
        assert_eq!(kai.pod_grouper, None);
        assert_eq!(kai.crds().expect("they can be read").len(), CRDS.len());
    }
}
