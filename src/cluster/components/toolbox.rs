//! Hands out programs: the user's own (`--bin NAME=PATH`), else cached, else built now.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::build::{self, Build, BuiltBy, Target, Toolchain, hex};
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
    /// Seconds that the build of it, and of what was built with it, took, if this call had to build it.
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
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedBuild {
    /// What is built: one program, or `etcd, etcdctl`.
    pub names: String,
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
        progress.planned(&by_module(&to_build).iter().map(|group| planned(group)).collect::<Vec<_>>());
        for group in by_module(&ours) {
            let built = cached_or_built(&group, progress).await?;
            programs.extend(built.into_iter().map(|program| (program.name.clone(), program)));
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

/// Components of the same module and version together, in the order of the first of each.
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

/// Programs of one module.
async fn cached_or_built(
    components: &[&'static Component],
    progress: &dyn Progress,
) -> Result<Vec<Program>, ClusterError> {
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
    let source = build::complete(module).await?;
    let build = Build { folder: &source, ldflags: &module.ldflags, version, programs: &programs };
    built_once(build, &go, progress).await
}

/// Programs in their folders of the cache, in their order; those that are not there are built now.
///
/// # Errors
/// [`ClusterError::Build`], [`ClusterError::Disk`], [`ClusterError::File`].
pub(crate) async fn built_once(
    build: Build<'_>,
    go: &Toolchain,
    progress: &dyn Progress,
) -> Result<Vec<Program>, ClusterError> {
    let missing = || {
        let programs = build.programs.iter();
        programs
            .filter(|program| cached(program.name, &program.kept_in).is_none())
            .cloned()
            .collect::<Vec<_>>()
    };
    // Every process takes them in the same order, so that no two wait for each other.
    let mut locks = Vec::new();
    for program in missing() {
        home::make(&program.kept_in)?;
        locks.push(hold(program.name, &program.kept_in.join("lock"), progress).await?);
    }
    // Another process may have finished some meanwhile.
    let to_build = missing();
    let seconds = match &to_build[..] {
        [] => None,
        programs => Some(compile(Build { programs, ..build }, go, progress).await?),
    };
    let whole = |program: &Target<'_>| {
        let is_new = to_build.iter().any(|built| built.name == program.name);
        let found = cached(program.name, &program.kept_in);
        found.map(|found| Program { built_in: seconds.filter(|_| is_new), ..found }).ok_or_else(|| {
            ClusterError::Corrupt {
                component: program.name.into(),
                reason: "it vanished after its build".into(),
            }
        })
    };
    build.programs.iter().map(whole).collect()
}

/// Builds programs and keeps them; how many seconds that took.
async fn compile(build: Build<'_>, go: &Toolchain, progress: &dyn Progress) -> Result<f64, ClusterError> {
    let (names, version) = (build::names(build.programs), build.version);
    progress.building(&names, version);
    let start = Instant::now();
    let first = &build.programs[0];
    let unfinished = first.kept_in.join("unfinished");
    let log = home::cache().join("logs").join(format!("build-{}.log", first.name));
    build::build(build, &unfinished, &log, |packages| progress.compiled(&names, version, packages)).await?;
    let seconds = start.elapsed().as_secs_f64();
    for Target { name, kept_in, .. } in build.programs {
        let (made, program) = (unfinished.join(name), kept_in.join(name));
        let built = BuiltBy {
            name: (*name).into(),
            version: version.into(),
            go: go.version.clone(),
            sha256: digest(&made)?,
            bytes: std::fs::metadata(&made).ok().map(|file| file.len()),
            seconds,
        };
        std::fs::rename(&made, &program).map_err(ClusterError::file(&program))?;
        // Written last: a folder without it is an unfinished build.
        let text = serde_json::to_string_pretty(&built).unwrap_or_default();
        home::write(&kept_in.join("built.json"), text)?;
    }
    std::fs::remove_dir_all(&unfinished).map_err(ClusterError::file(&unfinished))?;
    progress.built(&names, version, seconds);
    Ok(seconds)
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
