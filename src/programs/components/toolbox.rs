//! Provides programs: those that the user gave, those of a release, cached ones, and newly built ones.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Instant;

use tokio::process::Command;

use super::build::{self, Build, BuiltBy, Target};
use super::component::Component;
use super::digests::digest;
use super::go_module::complete;
use super::overrides::{Overrides, Replacement, to_build_for};
use super::release::{ReleaseFolder, ReleasedProgram};
use super::toolchain::Toolchain;
use crate::blocking::in_place;
use crate::{ProgramError, home, preflight};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Built,
    Version,
    Given,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    pub name: String,
    /// The version that was built, or the `--version` output of a program that the user gave.
    pub version: String,
    pub path: PathBuf,
    pub sha256: String,
    pub source: Source,
    /// Seconds of the build, if this call built the program. One build may produce several programs.
    pub built_in: Option<f64>,
}

impl Program {
    pub fn given(name: &str, version: String, path: PathBuf) -> Result<Self, ProgramError> {
        let sha256 = digest(&path)?;
        Ok(Self { name: name.to_owned(), version, path, sha256, source: Source::Given, built_in: None })
    }

    pub fn verify(&self) -> Result<(), ProgramError> {
        let now = digest(&self.path)?;
        if now == self.sha256 {
            return Ok(());
        }
        let reason = format!("its digest is {now}, want {} as built", self.sha256);
        Err(ProgramError::Corrupt { component: self.name.clone(), reason })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedBuild {
    pub names: String,
    /// CPU seconds of the build, if known.
    pub seconds: Option<f64>,
}

pub trait Progress: Send + Sync {
    fn planned(&self, _builds: &[PlannedBuild]) {}
    fn building(&self, name: &str, version: &str);
    fn compiled(&self, name: &str, version: &str, packages: usize);
    fn built(&self, name: &str, version: &str, seconds: f64);
    fn waiting(&self, name: &str);
}

#[derive(Debug, Clone)]
pub struct Toolbox {
    programs: BTreeMap<String, Program>,
}

impl Toolbox {
    /// Finds or builds the programs of these components, unless the user gave them.
    pub async fn prepare_only(
        components: impl Iterator<Item = &'static Component>,
        overrides: &Overrides,
        progress: &dyn Progress,
    ) -> Result<Self, ProgramError> {
        let mut programs = BTreeMap::new();
        let mut not_given: Vec<&'static Component> = Vec::new();
        // Check the given programs first, because a build takes minutes.
        for component in components {
            not_given.extend(to_build_for(component, overrides));
            if let Some(Replacement::File(path)) = overrides.get(component.name) {
                programs.insert(component.name.to_owned(), given(component, path).await?);
            }
        }
        let released = in_place(|| released(&not_given))?;
        let to_build = Self::to_build(not_given.iter().copied()).await;
        if !not_given.is_empty() {
            preflight::require(preflight::checks(&to_build).await)?;
        }
        not_given.retain(|component| !released.iter().any(|program| program.name == component.name));
        programs.extend(released.into_iter().map(|program| (program.name.clone(), program)));
        progress.planned(&by_module(&to_build).iter().map(|group| planned(group)).collect::<Vec<_>>());
        for group in by_module(&not_given) {
            let built = cached_or_built(&group, progress).await?;
            programs.extend(built.into_iter().map(|program| (program.name.clone(), program)));
        }
        for program in programs.values_mut() {
            if matches!(overrides.get(&program.name), Some(Replacement::Version(_))) {
                program.source = Source::Version;
            }
        }
        Ok(Self { programs })
    }

    pub async fn to_build(components: impl Iterator<Item = &'static Component>) -> Vec<&'static Component> {
        let mut to_build = Vec::new();
        for component in components {
            if !Self::is_built(component).await {
                to_build.push(component);
            }
        }
        to_build
    }

    /// Whether a release or the cache has the component. A cached one counts only if the Go on PATH built it.
    pub async fn is_built(component: &'static Component) -> bool {
        if matches!(ReleaseFolder::of_this_program(), Ok(Some(release)) if release.lists(component)) {
            return true;
        }
        match Toolchain::find(component.module).await {
            Ok(go) => cached(component.name, &folder(component, &go)).is_some(),
            Err(_) => false,
        }
    }

    pub fn get(&self, name: &str) -> Result<&Program, ProgramError> {
        self.programs.get(name).ok_or_else(|| ProgramError::NoProgram {
            program: name.into(),
            reason: "there is no prepared program",
        })
    }

    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.values()
    }

    pub async fn verify(&self) -> Result<(), ProgramError> {
        for program in self.programs() {
            in_place(|| program.verify())?;
            let corrupt = |reason: String| ProgramError::Corrupt { component: program.name.clone(), reason };
            let reported = reported_version(&program.path).await.map_err(|e| corrupt(e.to_string()))?;
            if program.source != Source::Given && !reported.contains(program.version.trim_start_matches('v'))
            {
                return Err(corrupt(format!("`--version` prints {reported:?}, want {}", program.version)));
            }
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
enum VersionError {
    #[error(transparent)]
    NotRun(#[from] std::io::Error),
    #[error("`--version` ended with {0}")]
    Failed(ExitStatus),
}

async fn reported_version(path: &Path) -> Result<String, VersionError> {
    let answer = Command::new(path).arg("--version").output().await?;
    let text = String::from_utf8_lossy(&answer.stdout);
    // Volcano prints a line about its API before its version.
    let line = text.lines().find(|line| line.starts_with("Version:")).or_else(|| text.lines().next());
    match line {
        Some(line) if answer.status.success() => Ok(line.trim().to_owned()),
        _ => Err(VersionError::Failed(answer.status)),
    }
}

async fn given(component: &Component, path: &Path) -> Result<Program, ProgramError> {
    let refused =
        |reason: String| ProgramError::Override { name: component.name.into(), path: path.into(), reason };
    let path = path.canonicalize().map_err(|e| refused(e.to_string()))?;
    let version = reported_version(&path).await.map_err(|e| refused(e.to_string()))?;
    in_place(|| Program::given(component.name, version, path))
}

fn released(components: &[&'static Component]) -> Result<Vec<Program>, ProgramError> {
    let Some(release) = ReleaseFolder::of_this_program()? else { return Ok(Vec::new()) };
    let program = |found: ReleasedProgram| Program {
        name: found.component.name.to_owned(),
        version: found.component.version.to_owned(),
        path: found.path,
        sha256: found.sha256,
        source: Source::Built,
        built_in: None,
    };
    Ok(release.programs(components)?.into_iter().map(program).collect())
}

/// Groups components by module and version. The groups are in the order of their first components.
fn by_module(components: &[&'static Component]) -> Vec<Vec<&'static Component>> {
    let mut groups: Vec<Vec<&'static Component>> = Vec::new();
    for component in components {
        match groups.iter_mut().find(|group| group[0].is_built_with(component)) {
            Some(group) => group.push(component),
            None => groups.push(vec![component]),
        }
    }
    groups
}

fn planned(group: &[&'static Component]) -> PlannedBuild {
    let names: Vec<_> = group.iter().map(|component| component.name).collect();
    let measured = group.iter().map(|component| component.build_seconds());
    PlannedBuild { names: names.join(", "), seconds: measured.sum() }
}

async fn cached_or_built(
    components: &[&'static Component],
    progress: &dyn Progress,
) -> Result<Vec<Program>, ProgramError> {
    let (module, version) = (components[0].module, components[0].version);
    let go = Toolchain::find(module).await?;
    let target = |component: &&'static Component| Target {
        name: component.name,
        package: component.package,
        kept_in: folder(component, &go),
    };
    let programs: Vec<_> = components.iter().map(target).collect();
    let cached: Option<Vec<_>> =
        programs.iter().map(|program| cached(program.name, &program.kept_in)).collect();
    if let Some(programs) = cached {
        return Ok(programs);
    }
    let source = complete(module).await?;
    let build = Build { folder: &source, ldflags: &module.ldflags, version, programs: &programs };
    built_once(build, &go, progress).await
}

pub(crate) async fn built_once(
    build: Build<'_>,
    go: &Toolchain,
    progress: &dyn Progress,
) -> Result<Vec<Program>, ProgramError> {
    let missing = || {
        let programs = build.programs.iter();
        programs
            .filter(|program| cached(program.name, &program.kept_in).is_none())
            .cloned()
            .collect::<Vec<_>>()
    };
    let mut locks = Vec::new();
    for program in missing() {
        home::create_folder(&program.kept_in)?;
        locks.push(lock(program.name, &program.kept_in.join("lock"), progress).await?);
    }
    let to_build = missing();
    let seconds = match &to_build[..] {
        [] => None,
        programs => Some(compile(Build { programs, ..build }, go, progress).await?),
    };
    let mut programs = Vec::new();
    for program in build.programs {
        let Some(found) = cached(program.name, &program.kept_in) else {
            let reason = "it was deleted after its build".into();
            return Err(ProgramError::Corrupt { component: program.name.into(), reason });
        };
        let is_new = to_build.iter().any(|built| built.name == program.name);
        programs.push(Program { built_in: seconds.filter(|_| is_new), ..found });
    }
    Ok(programs)
}

async fn compile(build: Build<'_>, go: &Toolchain, progress: &dyn Progress) -> Result<f64, ProgramError> {
    let (names, version) = (build::names(build.programs), build.version);
    progress.building(&names, version);
    let start = Instant::now();
    let first = &build.programs[0];
    let unfinished = first.kept_in.join("unfinished");
    let log = home::cache().join("logs").join(format!("build-{}.log", first.name));
    build::build(build, &unfinished, &log, |packages| progress.compiled(&names, version, packages)).await?;
    let seconds = start.elapsed().as_secs_f64();
    for Target { name, kept_in, .. } in build.programs {
        let (output, program) = (unfinished.join(name), kept_in.join(name));
        let built = BuiltBy {
            name: (*name).into(),
            version: version.into(),
            go: go.version.clone(),
            sha256: in_place(|| digest(&output))?,
            bytes: std::fs::metadata(&output).ok().map(|file| file.len()),
            seconds,
        };
        std::fs::rename(&output, &program).map_err(ProgramError::file(&program))?;
        // Write this file last, because a folder without it is an unfinished build.
        let text = serde_json::to_string_pretty(&built).unwrap_or_default();
        home::write(&kept_in.join("built.json"), text)?;
    }
    std::fs::remove_dir_all(&unfinished).map_err(ProgramError::file(&unfinished))?;
    progress.built(&names, version, seconds);
    Ok(seconds)
}

fn folder(component: &Component, go: &Toolchain) -> PathBuf {
    home::cache().join("components").join(format!("{}-{}", component.name, build::key(component, go)))
}

pub(crate) fn cached(name: &str, folder: &Path) -> Option<Program> {
    let built: BuiltBy =
        serde_json::from_str(&std::fs::read_to_string(folder.join("built.json")).ok()?).ok()?;
    let path = folder.join(name);
    let is_complete = std::fs::metadata(&path)
        .is_ok_and(|file| file.is_file() && built.bytes.is_none_or(|bytes| bytes == file.len()));
    is_complete.then_some(Program {
        name: built.name,
        version: built.version,
        path,
        sha256: built.sha256,
        source: Source::Built,
        built_in: None,
    })
}

async fn lock(name: &str, path: &Path, progress: &dyn Progress) -> Result<File, ProgramError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(ProgramError::file(path))?;
    if file.try_lock().is_err() {
        progress.waiting(name);
    }
    // Poll, because a blocked thread would also delay Ctrl-C.
    while let Err(error) = file.try_lock() {
        if let std::fs::TryLockError::Error(source) = error {
            return Err(ProgramError::File { path: path.into(), source });
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A killed process, a full disk or an interrupted copy can leave an incomplete program in the cache.
    #[rstest::rstest]
    #[case::complete(Some(4), "prog", true)]
    #[case::of_an_older_version(None, "prog", true)]
    #[case::incomplete(Some(4), "pr", false)]
    fn an_incomplete_program_is_not_cached(
        #[case] bytes: Option<u64>,
        #[case] content: &str,
        #[case] is_cached: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let built = BuiltBy {
            name: "etcd".into(),
            version: "v1".into(),
            go: "go1".into(),
            sha256: String::new(),
            bytes,
            seconds: 1.0,
        };
        std::fs::write(folder.path().join("etcd"), content).unwrap();
        assert!(cached("etcd", folder.path()).is_none(), "its build has not ended");
        std::fs::write(folder.path().join("built.json"), serde_json::to_string(&built).unwrap()).unwrap();
        assert_eq!(cached("etcd", folder.path()).is_some(), is_cached);
    }
}
