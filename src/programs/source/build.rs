//! Builds programs from a working tree. The cache keys each by a hash of the tree and all other inputs.

use std::path::PathBuf;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::checkout::{Revision, content};
use super::error::SourceError;
use super::placeholders::{UnknownPlaceholder, Values, fill};
use crate::components::toolchain::GoError;
use crate::components::{
    Build, COMPILER_FLAGS, Program, Progress, Target, Toolchain, built_once, cached, hex,
};
use crate::{ProgramError, home};

/// The module whose version determines the feature gates of programs that contain Kubernetes.
const KUBERNETES: &str = "k8s.io/kubernetes";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoBuild {
    pub module: String,
    pub package: String,
    /// Folders whose files determine the build output: those of the module, and those of its `replace` lines.
    pub inputs: Vec<String>,
    /// Linker flags with the placeholders `{version}`, `{commit}`, `{module}` (its path) and, for Kubernetes
    /// and modules that require it, `{kubernetes}`, `{kubernetes-major}` and `{kubernetes-minor}`.
    #[serde(default)]
    pub ldflags: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Module<'a> {
    pub folder: &'a str,
    pub inputs: &'a [String],
    /// The value of `-ldflags`, with the placeholders of [`GoBuild::ldflags`].
    pub ldflags: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub dir: PathBuf,
    pub revision: Revision,
}

#[derive(Debug)]
pub struct Buildable {
    folder: PathBuf,
    ldflags: String,
    go: Toolchain,
    key: Sha256,
    version: String,
}

impl Tree {
    pub async fn module(&self, module: Module<'_>) -> Result<Buildable, ProgramError> {
        let folder = self.dir.join(module.folder);
        let go_mod = std::fs::read_to_string(folder.join("go.mod")).unwrap_or_default();
        let too_old = |error: GoError| SourceError::Go {
            needed: go_line(&go_mod),
            module: folder.clone(),
            reason: error.to_string(),
        };
        let go = Toolchain::in_folder(&folder).await.map_err(too_old)?;
        Toolchain::check_version_for(&folder).await.map_err(too_old)?;
        let ldflags = fill(module.ldflags, &values(&go_mod, &self.revision))
            .map_err(|source| SourceError::Flags { module: folder.clone(), source })?;
        let content = content(&self.dir, module.inputs).await?;
        // GOFLAGS may select another go.mod or build tags.
        let flags = std::env::var("GOFLAGS").unwrap_or_default();
        let mut key = Sha256::new();
        for part in [&*content, module.folder, &ldflags, COMPILER_FLAGS, &go.version, &go.target, &flags] {
            key.update(part.as_bytes());
            key.update([0]);
        }
        Ok(Buildable { folder, ldflags, go, key, version: self.revision.version.clone() })
    }
}

impl Buildable {
    fn folder_of(&self, name: &str, package: &str) -> PathBuf {
        let hash = hex(&self.key.clone().chain_update(package).finalize());
        home::cache().join("components").join(format!("{name}-{}", &hash[..16]))
    }

    pub fn is_built(&self, name: &str, package: &str) -> bool {
        cached(name, &self.folder_of(name, package)).is_some()
    }

    pub async fn build(
        &self,
        name: &str,
        package: &str,
        progress: &dyn Progress,
    ) -> Result<Program, ProgramError> {
        let Self { folder, ldflags, version, .. } = self;
        let programs = [Target { name, package, kept_in: self.folder_of(name, package) }];
        let build = Build { folder, ldflags, version, programs: &programs };
        let [program] =
            <[Program; 1]>::try_from(built_once(build, &self.go, progress).await?).map_err(|_| {
                ProgramError::NoProgram { program: name.into(), reason: "the build produced no program" }
            })?;
        // Use the current version, because the content may have been committed or tagged after its build.
        Ok(Program { version: version.clone(), ..program })
    }
}

fn go_line(go_mod: &str) -> String {
    let line = go_mod.lines().find_map(|line| line.strip_prefix("go "));
    line.unwrap_or("of the version in its go.mod").trim().to_owned()
}

fn values(go_mod: &str, revision: &Revision) -> Values {
    let mut values: Values =
        [("version", revision.version.clone()), ("commit", revision.commit.clone().unwrap_or_default())]
            .into();
    let path = go_mod.lines().find_map(|line| line.strip_prefix("module ")).map(str::trim);
    values.extend(path.map(|path| ("module", path.to_owned())));
    let kubernetes = match path {
        Some(KUBERNETES) => Some(revision.version.as_str()),
        _ => required(go_mod, KUBERNETES),
    };
    let numbers = kubernetes.and_then(|version| version.strip_prefix('v')?.split_once('.'));
    if let (Some(version), Some((major, rest))) = (kubernetes, numbers) {
        let minor = rest.split('.').next().unwrap_or(rest);
        values.insert("kubernetes", version.to_owned());
        values.insert("kubernetes-major", major.to_owned());
        values.insert("kubernetes-minor", minor.to_owned());
    }
    values
}

pub fn linker_flags(text: &str, go_mod: &str, version: &str) -> Result<String, UnknownPlaceholder> {
    fill(text, &values(go_mod, &Revision { version: version.to_owned(), commit: None }))
}

fn required<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    let version_after = |words: &[&'a str]| match words {
        [path, version, ..] if *path == module && version.starts_with('v') => Some(*version),
        _ => None,
    };
    let mut required = None;
    for line in go_mod.lines() {
        let line = line.split("//").next().unwrap_or("");
        let words: Vec<_> = line.split_whitespace().collect();
        let words = match words.as_slice() {
            ["require" | "replace", rest @ ..] => rest,
            words => words,
        };
        if let Some(arrow) = words.iter().position(|word| *word == "=>")
            && words[0] == module
            && let Some(version) = version_after(&words[arrow + 1..])
        {
            return Some(version);
        }
        required = required.or_else(|| version_after(words));
    }
    required
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tempfile::TempDir;

    use super::super::checkout::{VersionFrom, revision};
    use super::*;

    fn put(dir: &Path, file: &str, content: &str) {
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn folder(files: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            put(folder.path(), file, "");
        }
        folder
    }

    fn git(dir: &Path, args: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let git = std::process::Command::new("git").arg("-C").arg(dir).args(identity).args(args).output();
        assert!(git.unwrap().status.success());
    }

    #[tokio::test]
    async fn the_version_comes_from_tags_or_else_from_a_file() {
        let from = VersionFrom { git_tags: Some("v[0-9]*".into()), file: Some("VERSION".into()) };
        let folder = folder(&["a.go"]);
        let dir = folder.path().canonicalize().unwrap();
        let now = || revision(&dir, &from);
        assert_eq!((now().await.version, now().await.commit), ("unknown".into(), None));
        put(&dir, "VERSION", "v1.2.3-dev\n");
        assert_eq!(now().await.version, "v1.2.3-dev");
        git(&dir, &["init", "-q"]);
        git(&dir, &["add", "."]);
        git(&dir, &["commit", "-q", "-m", "one"]);
        let commit = now().await.commit.unwrap();
        assert_eq!(now().await.version, format!("v1.2.3-dev-g{}", &commit[..8]));
        git(&dir, &["tag", "api/v9"]);
        git(&dir, &["tag", "v1.2.3"]);
        assert_eq!(now().await.version, "v1.2.3");
        put(&dir, "a.go", "package a");
        assert_eq!(now().await.version, "v1.2.3-dirty");
        let tagless = VersionFrom { git_tags: Some("w*".into()), file: None };
        assert_eq!(revision(&dir, &tagless).await.version, format!("{}-dirty", &commit[..8]));
        put(&dir, "inner/VERSION", "v7");
        assert_eq!(revision(&dir.join("inner"), &from).await.version, "v7");
        put(&dir, "Chart.yaml", "version: 0.1.0\nappVersion: v4\n");
        let chart = VersionFrom { git_tags: None, file: Some("Chart.yaml".into()) };
        assert!(revision(&dir, &chart).await.version.starts_with("v4-g"));
    }

    #[tokio::test]
    async fn only_inputs_that_git_does_not_ignore_change_the_content() {
        let folder = folder(&["operator/a.go", "docs/x.md", "operator/.hidden/b.go"]);
        let dir = folder.path().canonicalize().unwrap();
        let inputs = ["operator".to_owned()];
        let now = async || content(&dir, &inputs).await.unwrap();
        let first = now().await;
        put(&dir, "docs/x.md", "more");
        assert_eq!(now().await, first);
        put(&dir, "operator/a.go", "package a");
        let second = now().await;
        assert_ne!(second, first);
        git(&dir, &["init", "-q"]);
        put(&dir, ".gitignore", "bin/\n");
        put(&dir, "operator/bin/program", "built");
        let third = now().await;
        put(&dir, "operator/bin/program", "built again");
        assert_eq!(now().await, third, "what git ignores is no input");
    }

    #[tokio::test]
    async fn an_input_may_be_a_file_or_missing() {
        let folder = folder(&["go.mod", "docs/x.md"]);
        let inputs = ["go.mod", "vendor"].map(str::to_owned);
        let now = async || content(folder.path(), &inputs).await.unwrap();
        let first = now().await;
        put(folder.path(), "docs/x.md", "more");
        assert_eq!(now().await, first);
        put(folder.path(), "vendor/modules.txt", "");
        let second = now().await;
        assert_ne!(second, first);
        put(folder.path(), "go.mod", "module m");
        assert_ne!(now().await, second);
    }

    #[rstest::rstest]
    #[case::itself("module k8s.io/kubernetes\n", "v1.38.0-alpha.1-4-gabc", Some(("v1.38.0-alpha.1-4-gabc", "1", "38")))]
    #[case::without_tags("module k8s.io/kubernetes\n", "0a1b2c3d", None)]
    #[case::required("module m\nrequire (\n\tk8s.io/kubernetes v1.35.2 // indirect\n)\n", "v1", Some(("v1.35.2", "1", "35")))]
    #[case::replaced(
        "module m\nrequire k8s.io/kubernetes v1.34.0\nreplace k8s.io/kubernetes => k8s.io/kubernetes v1.35.2\n",
        "v1",
        Some(("v1.35.2", "1", "35"))
    )]
    #[case::another("module m\nrequire k8s.io/kubernetes-csi v1.35.2\n", "v1", None)]
    fn the_kubernetes_version_comes_from_the_module_itself_or_its_go_mod(
        #[case] go_mod: &str,
        #[case] version: &str,
        #[case] expected: Option<(&str, &str, &str)>,
    ) {
        let values = values(go_mod, &Revision { version: version.into(), commit: None });
        let value = |name| values.get(name).map(String::as_str);
        let found = value("kubernetes").zip(value("kubernetes-major")).zip(value("kubernetes-minor"));
        assert_eq!(found.map(|((whole, major), minor)| (whole, major, minor)), expected);
    }
}
