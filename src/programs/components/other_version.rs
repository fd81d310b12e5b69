//! Another published version of a pinned module. Go selects the versions of all modules once: `go get`
//! completes a `go.mod` that the harness writes ([`super::version_go_mod`]). The cache keeps this `go.mod`
//! and its `go.sum`, so later builds use the same modules.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::amendment::Amendment;
use super::component::{Component, Module};
use super::go_module::no_copy;
use super::module_version::ModuleVersion;
use super::published::{is_absence, own_go_mod};
use super::toolchain::GoError;
use super::version_go_mod::{go_mod, kept_amendment};
use crate::{ProgramError, home};

const OWN: &str = "own.mod";

#[derive(Debug)]
pub struct OtherVersion {
    pinned: &'static Component,
    version: &'static str,
    own_go_mod: String,
    go_mod: &'static str,
    go_sum: &'static str,
    amendment: Option<&'static Amendment>,
}

impl OtherVersion {
    /// Resolves the modules with Go unless the cache has the result. The texts stay in memory.
    pub async fn find(pinned: &'static Component, version: &ModuleVersion) -> Result<Self, ProgramError> {
        let version = version.to_string();
        let folder = folder(pinned, &version);
        if !folder.is_dir() {
            resolve(pinned, &version, &folder).await?;
        }
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(ProgramError::file(path))
        };
        let own_go_mod = read(OWN)?;
        let amendment = kept_amendment(pinned, &version, &own_go_mod);
        let go_mod: &'static str = read("go.mod")?.leak();
        let go_sum: &'static str = read("go.sum")?.leak();
        Ok(Self { pinned, version: version.leak(), own_go_mod, go_mod, go_sum, amendment })
    }

    pub fn component(&self, ldflags: String) -> &'static Component {
        let Self { pinned, version, go_mod, go_sum, amendment, .. } = *self;
        // Programs with the same module name share one go.mod and are built together.
        let name: &'static str = format!("{}-{version}", pinned.name).leak();
        let module = Module { name, go_mod, go_sum, ldflags: Cow::Owned(ldflags), amendment };
        Box::leak(Box::new(Component {
            name: pinned.name,
            version,
            package: pinned.package,
            module: Box::leak(Box::new(module)),
            purpose: pinned.purpose,
        }))
    }

    pub fn stamped(&self) -> String {
        self.pinned.module.ldflags.replace(self.pinned.version, self.version)
    }

    pub fn own_go_mod(&self) -> &str {
        &self.own_go_mod
    }

    pub fn version(&self) -> &'static str {
        self.version
    }
}

/// Returns the folder of a version. Its name contains the pins, because an amended module depends on them.
fn folder(pinned: &Component, version: &str) -> PathBuf {
    home::cache().join("versions").join(format!("{}-{version}-{}", pinned.name, pinned.pins()))
}

/// Resolves the modules of a version into `folder`, which a final rename makes visible when complete.
async fn resolve(pinned: &'static Component, version: &str, folder: &Path) -> Result<(), ProgramError> {
    let own = own_go_mod(pinned.module_path(), version)
        .await
        .map_err(|error| refused(pinned, version, error.to_string()))?;
    let parent = folder.parent().unwrap_or(folder);
    home::create_folder(parent)?;
    let unfinished = tempfile::tempdir_in(parent).map_err(ProgramError::file(parent))?;
    home::write(&unfinished.path().join(OWN), &own)?;
    home::write(&unfinished.path().join("go.mod"), go_mod(pinned, version, &own))?;
    if let Some(amendment) = kept_amendment(pinned, version, &own) {
        let copied = amendment.copy_into(unfinished.path(), None).await;
        copied.map_err(|error| no_copy(pinned.module, error))?;
    }
    get(unfinished.path(), &format!("{}@{version}", pinned.package))
        .await
        .map_err(|error| unresolved(pinned, version, error.to_string()))?;
    match std::fs::rename(unfinished.path(), folder) {
        Ok(()) => drop(unfinished.keep()),
        Err(_) if folder.is_dir() => {}
        Err(source) => return Err(ProgramError::File { path: folder.into(), source }),
    }
    Ok(())
}

async fn get(folder: &Path, package: &str) -> Result<(), GoError> {
    let mut go = Command::new("go");
    go.args(["get", package]).current_dir(folder).env("CGO_ENABLED", "0").env("GIT_TERMINAL_PROMPT", "0");
    let answer = go.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(GoError::NotRun)?;
    if answer.status.success() {
        return Ok(());
    }
    Err(GoError::Failed(message(&String::from_utf8_lossy(&answer.stderr))))
}

fn message(stderr: &str) -> String {
    let is_progress = |line: &&str| line.starts_with("go: downloading ") || line.starts_with("go: added ");
    let lines: Vec<_> = stderr.lines().filter(|line| !is_progress(line)).collect();
    lines.join("\n").trim().to_owned()
}

fn refused(pinned: &Component, version: &str, reason: String) -> ProgramError {
    if !is_absence(&reason) {
        return unresolved(pinned, version, reason);
    }
    ProgramError::NoVersion {
        name: pinned.name,
        module: pinned.module_path(),
        version: version.to_owned(),
        reason,
    }
}

fn unresolved(pinned: &Component, version: &str, reason: String) -> ProgramError {
    ProgramError::Unresolved {
        name: pinned.name,
        module: pinned.module_path(),
        version: version.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::key;
    use super::super::component::Purpose;
    use super::super::toolchain::Toolchain;
    use super::*;

    static MODULE: Module = Module {
        name: "kubernetes-1.37",
        go_mod: "module grove-conformance/components/kubernetes-1.37\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.37.2\n",
        go_sum: "",
        ldflags: Cow::Borrowed("-s -w -X v.gitVersion=v1.37.2 -X v.gitMinor=37"),
        amendment: None,
    };
    static SCHEDULER: Component = Component {
        name: "kube-scheduler",
        version: "v1.37.2",
        package: "k8s.io/kubernetes/cmd/kube-scheduler",
        module: &MODULE,
        purpose: Purpose::ControlPlane,
    };

    fn resolved(version: &'static str) -> OtherVersion {
        let own_go_mod = "module k8s.io/kubernetes\n\ngo 1.26.0\n".to_owned();
        let go_mod: &'static str = go_mod(&SCHEDULER, version, &own_go_mod).leak();
        OtherVersion { pinned: &SCHEDULER, version, own_go_mod, go_mod, go_sum: "", amendment: None }
    }

    #[test]
    fn each_version_has_its_own_build() {
        let go = Toolchain { version: "go1.26.8".into(), target: "linux/amd64".into() };
        let [one, other] = ["v1.37.1", "v1.37.0"].map(|version| {
            let found = resolved(version);
            found.component(found.stamped())
        });
        assert_eq!((one.name, one.version), ("kube-scheduler", "v1.37.1"));
        assert_eq!(one.module.ldflags, "-s -w -X v.gitVersion=v1.37.1 -X v.gitMinor=37");
        assert_ne!(key(one, &go), key(other, &go));
        assert_ne!(key(one, &go), key(&SCHEDULER, &go));
        assert!(!one.is_built_with(other) && !one.is_built_with(&SCHEDULER));
        // A release contains only the pinned program.
        assert_ne!(one.pins(), SCHEDULER.pins());
        assert_ne!(folder(&SCHEDULER, "v1.37.1"), folder(&SCHEDULER, "v1.37.0"));
    }

    #[test]
    fn the_error_names_the_module_and_the_version() {
        let absent = refused(&SCHEDULER, "v1.37.99", "unknown revision v1.37.99".into());
        assert!(absent.is_usage());
        for expected in [
            "--component kube-scheduler=version:v1.37.99",
            "k8s.io/kubernetes",
            "`grove-conformance dev versions`",
        ] {
            assert!(absent.to_string().contains(expected), "{expected}: {absent}");
        }
        let unreachable = refused(&SCHEDULER, "v1.37.1", "`go` did not respond within 20 s".into());
        assert!(!unreachable.is_usage());
        for expected in [
            "k8s.io/kubernetes v1.37.1",
            "`go` did not respond within 20 s",
            "GOPROXY",
            "kube-scheduler=PATH",
        ] {
            assert!(unreachable.to_string().contains(expected), "{expected}: {unreachable}");
        }
    }

    #[test]
    fn the_progress_of_go_is_not_its_message() {
        let stderr = "go: downloading k8s.io/api v0.37.1\ngo: k8s.io/new@v0.0.0: unknown revision v0.0.0\n";
        assert_eq!(message(stderr), "go: k8s.io/new@v0.0.0: unknown revision v0.0.0");
    }
}
