use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::Program;
use conformance_programs::source::UNKNOWN;
use serde_json::Value;

use super::descriptions::installation;
use super::given::{GivenScheduler, crds_in};
use super::install::{Given, Install, ProgramSource, SchedulerProcess};
use crate::InstallError;

const DEPTH: usize = 8;

/// Finds the programs (of several, the one nearest to `path`) and CRDs of a scheduler in a folder. Returns
/// `None` for a scheduler that cannot be given in a folder.
pub fn in_folder(scheduler: Scheduler, path: &Path) -> Result<Option<GivenScheduler>, InstallError> {
    let install = installation(scheduler);
    match &install.programs {
        ProgramSource::Given(given) => Files::below(path, given.flag)?.scheduler(install, given).map(Some),
        ProgramSource::Kubernetes | ProgramSource::Built(_) => Ok(None),
    }
}

pub(crate) struct Files {
    flag: &'static str,
    path: PathBuf,
    all: Vec<PathBuf>,
}

impl Files {
    /// `flag` has the path, for messages.
    pub(crate) fn below(path: &Path, flag: &'static str) -> Result<Self, InstallError> {
        let no_folder = |source| InstallError::NoProgramFolder { flag, path: path.into(), source };
        let path = path.canonicalize().map_err(no_folder)?;
        std::fs::read_dir(&path).map_err(no_folder)?;
        let mut all = Vec::new();
        list(&path, DEPTH, &mut all);
        all.sort_by_key(|file| (file.components().count(), file.clone()));
        Ok(Self { flag, path, all })
    }

    fn scheduler(self, install: &Install, given: &Given) -> Result<GivenScheduler, InstallError> {
        let (mut programs, mut crds, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for wanted in install.own_crds()? {
            let name = &wanted["metadata"]["name"];
            match self.crd(name) {
                Some(crd) => crds.push(crd),
                None => {
                    missing.push(format!("a YAML file with the CRD {}", name.as_str().unwrap_or_default()))
                }
            }
        }
        for SchedulerProcess { name, optional, .. } in install.processes {
            let short = name.strip_prefix(given.prefix).unwrap_or(name);
            match self.program(&[name, short]) {
                Some(path) => programs.push(Program::given(name, UNKNOWN.into(), path.to_owned())?),
                None if optional.is_some() => {}
                None => missing.push(format!("a program {name} or {short}")),
            }
        }
        if !missing.is_empty() {
            return Err(InstallError::ProgramFolder { flag: self.flag, path: self.path, missing });
        }
        Ok(GivenScheduler { programs, crds, unknown_flags: Default::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(PathBuf::as_path)
    }

    /// The program with one of these names that is nearest to the top folder.
    pub(crate) fn program(&self, names: &[&str]) -> Option<&Path> {
        let has_name =
            |file: &Path| names.iter().any(|name| file.file_name().is_some_and(|found| found == *name));
        self.all().find(|file| has_name(file) && is_executable(file))
    }

    /// The CRD of this name. Searches the text of a file first, because parsing every file is slow.
    fn crd(&self, name: &Value) -> Option<Value> {
        let is_yaml =
            |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        self.all.iter().filter(is_yaml).find_map(|file| {
            let text = std::fs::read_to_string(file).ok()?;
            if !text.contains(name.as_str()?) || !text.contains("CustomResourceDefinition") {
                return None;
            }
            crds_in(file).ok()?.into_iter().find(|crd| crd["metadata"]["name"] == *name)
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{kai, volcano};

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode");
    }

    fn crd(name: &str) -> String {
        format!("kind: CustomResourceDefinition\nmetadata:\n  name: {name}\n")
    }

    #[test]
    fn all_missing_programs_and_crds_are_reported() {
        let folder = tempfile::tempdir().expect("folder");
        write(&folder.path().join("scheduler"), "not executable", 0o644);
        write(&folder.path().join("crds/queues.yaml"), &crd("queues.scheduling.run.ai"), 0o644);
        let Err(InstallError::ProgramFolder { flag: "--component kai-scheduler", missing, .. }) =
            in_folder(kai::SCHEDULER, folder.path())
        else {
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
    fn the_nearest_program_and_each_crd_are_found() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |path: &str| folder.path().join(path);
        write(&at("bin/kai-scheduler"), "near", 0o755);
        write(&at("deep/down/kai-scheduler"), "far", 0o755);
        write(&at("bin/binder"), "", 0o755);
        let own = installation(kai::SCHEDULER).own_crds().expect("KAI's own");
        let all: Vec<_> =
            own.iter().filter_map(|found| found["metadata"]["name"].as_str()).map(crd).collect();
        write(&at("chart/crds/all.yaml"), &all.join("---\n"), 0o644);
        let kai =
            in_folder(kai::SCHEDULER, folder.path()).expect("nothing is missing").expect("it may be given");
        let names: Vec<_> = kai.programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["kai-scheduler", "kai-binder"]);
        assert!(kai.programs[0].path.ends_with("bin/kai-scheduler"), "{kai:?}");
        assert_eq!(kai.crds.len(), 4);
    }

    #[test]
    fn a_scheduler_that_is_built_cannot_be_given_in_a_folder() {
        assert_eq!(in_folder(volcano::SCHEDULER, Path::new("/")).expect("nothing is read"), None);
    }
}
