//! Hands out programs: the user's own (`--bin NAME=PATH`), else cached, else built now.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::build::{self, Build, BuiltBy, Toolchain, hex};
use super::component::Component;
use crate::{ClusterError, home, preflight};

/// Where a program came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Built from the pinned module, or found in the cache.
    Built,
    /// Given by the user.
    Given,
}

/// A program that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Pinned version, or what a given program's `--version` says.
    pub version: String,
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256, hex.
    pub sha256: String,
    /// Where it came from.
    pub source: Source,
    /// Seconds that the build took, if this call had to build it.
    pub built_in: Option<f64>,
}

impl Program {
    /// Recomputes its digest.
    ///
    /// # Errors
    /// [`ClusterError::Corrupt`] if it is not what it should be; [`ClusterError::File`].
    pub fn verify(&self) -> Result<(), ClusterError> {
        let now = digest(&self.path)?;
        if now == self.sha256 {
            return Ok(());
        }
        let reason = format!("its digest is {now}, {} was built", self.sha256);
        Err(ClusterError::Corrupt { component: self.name.clone(), reason })
    }
}

/// Programs that the user gave: name to path.
pub type Overrides = BTreeMap<String, PathBuf>;

/// A build that is to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedBuild {
    /// What is built.
    pub name: &'static str,
    /// How many CPU seconds it takes, where that was measured.
    pub seconds: Option<f64>,
}

/// Told about builds.
pub trait Progress: Send + Sync {
    /// These are to be built, in this order; none if everything is cached.
    fn planned(&self, _builds: &[PlannedBuild]) {}
    /// A build began.
    fn building(&self, name: &str, version: &str);
    /// This many packages are compiled so far.
    fn compiled(&self, name: &str, version: &str, packages: usize);
    /// A build ended.
    fn built(&self, name: &str, version: &str, seconds: f64);
    /// Another process builds the same program.
    fn waiting(&self, name: &str);
}

/// All programs of a cluster.
#[derive(Debug, Clone)]
pub struct Toolbox {
    programs: BTreeMap<String, Program>,
}

impl Toolbox {
    /// These programs, building what is missing.
    ///
    /// # Errors
    /// [`ClusterError::Override`], [`ClusterError::Preflight`], [`ClusterError::Go`], [`ClusterError::Build`],
    /// [`ClusterError::Disk`].
    pub async fn prepare_only(
        components: impl Iterator<Item = &'static Component>,
        overrides: &Overrides,
        progress: &dyn Progress,
    ) -> Result<Self, ClusterError> {
        let mut programs = BTreeMap::new();
        let mut ours = Vec::new();
        // What was given is looked at before minutes are spent on the rest.
        for component in components {
            match overrides.get(component.name) {
                Some(path) => drop(programs.insert(component.name.to_owned(), given(component, path).await?)),
                None => ours.push(component),
            }
        }
        let to_build = Self::to_build(ours.iter().copied()).await;
        if !ours.is_empty() {
            preflight::require(preflight::checks(&to_build).await)?;
        }
        let planned = |component: &&Component| PlannedBuild {
            name: component.name,
            seconds: component.build_seconds(),
        };
        progress.planned(&to_build.iter().map(planned).collect::<Vec<_>>());
        let mut go: BTreeMap<&str, Toolchain> = BTreeMap::new();
        for component in ours {
            let module = component.module;
            if !go.contains_key(module.name) {
                go.insert(module.name, Toolchain::find(module).await?);
            }
            let program = cached_or_built(component, &go[module.name], progress).await?;
            programs.insert(component.name.to_owned(), program);
        }
        Ok(Self { programs })
    }

    /// Those of these components that are not in the cache.
    pub async fn to_build(components: impl Iterator<Item = &'static Component>) -> Vec<&'static Component> {
        let mut to_build = Vec::new();
        for component in components {
            if !Self::is_built(component).await {
                to_build.push(component);
            }
        }
        to_build
    }

    /// Whether a component is in the cache, built by the Go that is on PATH now.
    pub async fn is_built(component: &'static Component) -> bool {
        match Toolchain::find(component.module).await {
            Ok(go) => cached(component.name, &folder(component, &go)).is_some(),
            Err(_) => false,
        }
    }

    /// A program by name.
    ///
    /// # Errors
    /// [`ClusterError::NoProgram`] for a name that was not prepared.
    pub fn get(&self, name: &str) -> Result<&Program, ClusterError> {
        self.programs.get(name).ok_or_else(|| ClusterError::NoProgram {
            program: name.into(),
            reason: "nothing was prepared that is called",
        })
    }

    /// All of them, by name.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.values()
    }

    /// Recomputes each program's digest and has it say its version.
    ///
    /// # Errors
    /// [`ClusterError::Corrupt`] for the first that is not what it should be.
    pub async fn verify(&self) -> Result<(), ClusterError> {
        for program in self.programs() {
            program.verify()?;
            let corrupt = |reason: String| ClusterError::Corrupt { component: program.name.clone(), reason };
            let said = say_version(&program.path).await.map_err(&corrupt)?;
            if program.source == Source::Built && !said.contains(program.version.trim_start_matches('v')) {
                return Err(corrupt(format!("it calls itself {said:?}, not {}", program.version)));
            }
        }
        Ok(())
    }
}

/// Refuses a `--bin` for a program that no cluster here would start.
///
/// # Errors
/// [`ClusterError::Override`].
pub fn must_be_of(
    overrides: &Overrides,
    components: impl Iterator<Item = &'static Component>,
) -> Result<(), ClusterError> {
    let known: Vec<_> = components.map(|component| component.name).collect();
    match overrides.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, path)) => {
            let reason = format!("no component has that name here; there are {}", known.join(", "));
            Err(ClusterError::Override { name: name.clone(), path: path.clone(), reason })
        }
    }
}

/// SHA-256 of a file, hex.
///
/// # Errors
/// [`ClusterError::File`].
pub fn digest(path: &Path) -> Result<String, ClusterError> {
    let mut hash = Sha256::new();
    let mut file = File::open(path).map_err(ClusterError::file(path))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer).map_err(ClusterError::file(path))?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..read]);
    }
}

async fn say_version(path: &Path) -> Result<String, String> {
    let answer = Command::new(path).arg("--version").output().await.map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&answer.stdout);
    // Most say it in one line; Volcano's line follows one about its API.
    let said = text.lines().find(|line| line.starts_with("Version:")).or_else(|| text.lines().next());
    match said {
        Some(line) if answer.status.success() => Ok(line.trim().to_owned()),
        _ => Err(format!("`--version` {}", answer.status)),
    }
}

async fn given(component: &Component, path: &Path) -> Result<Program, ClusterError> {
    let refused =
        |reason: String| ClusterError::Override { name: component.name.into(), path: path.into(), reason };
    let path = path.canonicalize().map_err(|e| refused(e.to_string()))?;
    let version = say_version(&path).await.map_err(refused)?;
    let sha256 = digest(&path)?;
    let name = component.name.to_owned();
    Ok(Program { name, version, path, sha256, source: Source::Given, built_in: None })
}

async fn cached_or_built(
    component: &'static Component,
    go: &Toolchain,
    progress: &dyn Progress,
) -> Result<Program, ClusterError> {
    let folder = folder(component, go);
    if let Some(program) = cached(component.name, &folder) {
        return Ok(program);
    }
    let module = build::complete(component.module).await?;
    let program = Build {
        name: component.name,
        version: component.version,
        folder: &module,
        package: component.package,
        ldflags: &component.module.ldflags,
    };
    built_once(program, go, &folder, progress).await
}

/// The program in its cache folder, built now unless it is there.
///
/// # Errors
/// [`ClusterError::Build`], [`ClusterError::Disk`], [`ClusterError::File`].
pub(crate) async fn built_once(
    build: Build<'_>,
    go: &Toolchain,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Program, ClusterError> {
    let Build { name, version, .. } = build;
    if let Some(program) = cached(name, folder) {
        return Ok(program);
    }
    home::make(folder)?;
    let _lock = hold(name, &folder.join("lock"), progress).await?;
    // Another process may have finished it meanwhile.
    if let Some(program) = cached(name, folder) {
        return Ok(program);
    }
    progress.building(name, version);
    let start = Instant::now();
    let unfinished = folder.join("unfinished");
    let log = home::cache().join("logs").join(format!("build-{name}.log"));
    build::build(build, &unfinished, &log, |packages| progress.compiled(name, version, packages)).await?;
    let seconds = start.elapsed().as_secs_f64();
    let built = BuiltBy {
        name: name.into(),
        version: version.into(),
        go: go.version.clone(),
        sha256: digest(&unfinished)?,
        bytes: std::fs::metadata(&unfinished).ok().map(|file| file.len()),
        seconds,
    };
    let program = folder.join(name);
    std::fs::rename(&unfinished, &program).map_err(ClusterError::file(&program))?;
    // Written last: a folder without it is an unfinished build.
    let text = serde_json::to_string_pretty(&built).unwrap_or_default();
    home::write(&folder.join("built.json"), text)?;
    progress.built(name, version, seconds);
    cached(name, folder).map(|program| Program { built_in: Some(seconds), ..program }).ok_or_else(|| {
        ClusterError::Corrupt { component: name.into(), reason: "it vanished after its build".into() }
    })
}

fn folder(component: &Component, go: &Toolchain) -> PathBuf {
    home::cache().join("components").join(format!("{}-{}", component.name, build::key(component, go)))
}

/// The program that a cache folder has, whole.
pub(crate) fn cached(name: &str, folder: &Path) -> Option<Program> {
    let built: BuiltBy =
        serde_json::from_str(&std::fs::read_to_string(folder.join("built.json")).ok()?).ok()?;
    let path = folder.join(name);
    // A copy that was cut off half way is none.
    let whole = std::fs::metadata(&path)
        .is_ok_and(|file| file.is_file() && built.bytes.is_none_or(|bytes| bytes == file.len()));
    whole.then_some(Program {
        name: built.name,
        version: built.version,
        path,
        sha256: built.sha256,
        source: Source::Built,
        built_in: None,
    })
}

async fn hold(name: &str, path: &Path, progress: &dyn Progress) -> Result<File, ClusterError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(ClusterError::file(path))?;
    if file.try_lock().is_err() {
        progress.waiting(name);
    }
    // Asked again and again rather than waited for: a blocked thread would keep Ctrl-C waiting too.
    while let Err(error) = file.try_lock() {
        if let std::fs::TryLockError::Error(source) = error {
            return Err(ClusterError::File { path: path.into(), source });
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// What a killed process, a full disk or an interrupted copy leaves in the cache.
    #[rstest]
    #[case::whole(Some(4), "prog", true)]
    #[case::of_an_older_version(None, "prog", true)]
    #[case::cut_off(Some(4), "pr", false)]
    fn a_program_that_is_not_whole_is_built_again(
        #[case] bytes: Option<u64>,
        #[case] content: &str,
        #[case] is_there: bool,
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
        assert!(cached("etcd", folder.path()).is_none(), "a build that has not ended");
        std::fs::write(folder.path().join("built.json"), serde_json::to_string(&built).unwrap()).unwrap();
        assert_eq!(cached("etcd", folder.path()).is_some(), is_there);
    }
}
