//! The folder of a release: built programs and files of their modules. Its user needs no compiler.
//!
//! `SHA256SUMS` lists the files with their digests. A file is used only if it has the listed digest, so an
//! altered or incomplete program never starts. `dev components fetch` writes such a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::component::Component;
use super::digests::digest;
use crate::ProgramError;

/// The list of files and digests, in the format of `sha256sum`.
pub(super) const SUMS: &str = "SHA256SUMS";
pub(super) const PROGRAMS: &str = "programs/";
pub(super) const MODULES: &str = "modules/";
/// Where a packager may install the folder, relative to the folder of the suite's program.
const LIBRARY: &str = "../lib/grove-conformance";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReleaseFolder {
    path: PathBuf,
    /// SHA-256 in hexadecimal, by the path below the folder.
    digests: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReleasedProgram {
    pub component: &'static Component,
    pub path: PathBuf,
    pub sha256: String,
}

/// The path of a program contains the pins, so that one for another version of the suite is not used.
pub(super) fn program_file(component: &Component) -> String {
    let Component { name, version, .. } = component;
    format!("{PROGRAMS}{name}-{version}-{}/{name}", component.pins())
}

pub(super) fn module_folder(component: &Component) -> String {
    format!("{MODULES}{}@{}/", component.module_path(), component.version)
}

impl ReleaseFolder {
    /// Returns `None` if the running program does not come from a release.
    pub(super) fn of_this_program() -> Result<Option<Self>, ProgramError> {
        std::env::current_exe().map_or(Ok(None), |program| Self::of(&program))
    }

    pub(super) fn of(program: &Path) -> Result<Option<Self>, ProgramError> {
        let Some(folder) = program.parent() else { return Ok(None) };
        for path in [folder.to_owned(), folder.join(LIBRARY)] {
            if let Some(found) = Self::open(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn open(path: PathBuf) -> Result<Option<Self>, ProgramError> {
        let sums = path.join(SUMS);
        let text = match std::fs::read(&sums) {
            Ok(raw) => String::from_utf8_lossy(&raw).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ProgramError::File { path: sums, source }),
        };
        let lines: Vec<_> = text.lines().map(listed).collect();
        if !lines.iter().flatten().any(|(file, _)| file.starts_with(PROGRAMS)) {
            return Ok(None);
        }
        let wrong = |reason: String| ProgramError::Release { path: sums.clone(), reason };
        if let Some(index) = lines.iter().position(Option::is_none) {
            return Err(wrong(format!("line {} is not a SHA-256 and a path", index + 1)));
        }
        if !text.ends_with('\n') {
            return Err(wrong("its last line is incomplete".into()));
        }
        Ok(Some(Self { path, digests: lines.into_iter().flatten().collect() }))
    }

    pub(super) fn lists(&self, component: &Component) -> bool {
        self.digests.contains_key(&program_file(component))
    }

    /// Returns the programs in the release. Checks digests in parallel, because files have about 100 MB each.
    pub(super) fn programs(
        &self,
        components: &[&'static Component],
    ) -> Result<Vec<ReleasedProgram>, ProgramError> {
        let listed = components.iter().copied().filter(|component| self.lists(component));
        std::thread::scope(|scope| {
            let checks: Vec<_> =
                listed.map(|component| scope.spawn(move || self.program(component))).collect();
            let ended = checks.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    fn program(&self, component: &'static Component) -> Result<ReleasedProgram, ProgramError> {
        let file = program_file(component);
        let path = self.checked(&file)?;
        let sha256 = self.digests.get(&file).cloned().unwrap_or_default();
        Ok(ReleasedProgram { component, path, sha256 })
    }

    /// Returns the folder with the files of the component's module, or `None` if the release has none.
    pub(super) fn module(&self, component: &Component) -> Result<Option<PathBuf>, ProgramError> {
        let folder = module_folder(component);
        let files: Vec<_> = self.digests.keys().filter(|file| file.starts_with(&folder)).collect();
        for file in &files {
            self.checked(file)?;
        }
        Ok((!files.is_empty()).then(|| self.path.join(&folder)))
    }

    fn checked(&self, file: &str) -> Result<PathBuf, ProgramError> {
        let path = self.path.join(file);
        let wrong = |reason: String| ProgramError::Release { path: path.clone(), reason };
        if !path.is_file() {
            return Err(wrong(format!("{SUMS} lists this file, but it does not exist")));
        }
        let found = digest(&path)?;
        match self.digests.get(file) {
            Some(wanted) if *wanted == found => Ok(path),
            Some(wanted) => Err(wrong(format!("its SHA-256 is {found}, but {SUMS} lists {wanted}"))),
            None => Err(wrong(format!("{SUMS} does not list it"))),
        }
    }
}

fn listed(line: &str) -> Option<(String, String)> {
    let (digest, file) = line.split_once("  ")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest && !file.is_empty()).then(|| (file.to_owned(), digest.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::super::component::Module;
    use super::super::digests::hex;
    use super::super::testing::{module, program};
    use super::*;

    const PACKAGE: &str = "example.com/m/cmd/m";
    static MODULE: Module = module("", None);
    static ETCD: Component = program("etcd", "v1.0.0", PACKAGE, &MODULE);
    static KWOK: Component = program("kwok", "v1.0.0", PACKAGE, &MODULE);

    fn sha256(content: &str) -> String {
        hex(&Sha256::digest(content))
    }

    fn release() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let module = format!("{}config/crd.yaml", module_folder(&ETCD));
        let mut sums = Vec::new();
        for (file, content) in
            [(program_file(&ETCD), "etcd"), (module, "kind: A\n"), ("grove-conformance".into(), "suite")]
        {
            crate::home::write(&folder.path().join(&file), content).unwrap();
            sums.push(format!("{}  {file}\n", sha256(content)));
        }
        std::fs::write(folder.path().join(SUMS), sums.concat()).unwrap();
        folder
    }

    fn opened(folder: &tempfile::TempDir) -> ReleaseFolder {
        ReleaseFolder::of(&folder.path().join("grove-conformance")).unwrap().expect("a release")
    }

    #[test]
    fn a_release_provides_its_programs_and_no_others() {
        let folder = release();
        let found = opened(&folder).programs(&[&KWOK, &ETCD]).unwrap();
        let path = folder.path().join(program_file(&ETCD));
        assert_eq!(found, [ReleasedProgram { component: &ETCD, path, sha256: sha256("etcd") }]);
        let module = opened(&folder).module(&ETCD).unwrap().expect("files of the module");
        assert!(module.join("config/crd.yaml").is_file());
    }

    #[test]
    fn the_folder_may_be_in_the_library_of_the_prefix() {
        let folder = release();
        let prefix = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(prefix.path().join("bin")).unwrap();
        std::fs::create_dir_all(prefix.path().join("lib")).unwrap();
        std::fs::rename(folder.keep(), prefix.path().join("lib/grove-conformance")).unwrap();
        let found = ReleaseFolder::of(&prefix.path().join("bin/grove-conformance")).unwrap();
        assert!(found.is_some_and(|release| release.lists(&ETCD)));
    }

    #[rstest::rstest]
    #[case::altered(Some("etcd with a bug"), format!("but SHA256SUMS lists {}", sha256("etcd")))]
    #[case::missing(None, "SHA256SUMS lists this file, but it does not exist".to_owned())]
    fn an_altered_program_is_an_error(#[case] content: Option<&str>, #[case] expected: String) {
        let folder = release();
        let path = folder.path().join(program_file(&ETCD));
        match content {
            Some(content) => std::fs::write(&path, content).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let error = opened(&folder).programs(&[&ETCD]).unwrap_err();
        assert!(!error.is_usage());
        let message = error.to_string();
        assert!(message.contains(&expected) && message.contains(&path.display().to_string()), "{message}");
    }

    #[test]
    fn an_altered_file_of_a_module_is_an_error() {
        let folder = release();
        let path = folder.path().join(module_folder(&ETCD)).join("config/crd.yaml");
        std::fs::write(path, "kind: B\n").unwrap();
        let message = opened(&folder).module(&ETCD).unwrap_err().to_string();
        assert!(message.contains("config/crd.yaml: its SHA-256 is"), "{message}");
    }

    #[rstest::rstest]
    #[case::cut_off("", "its last line is incomplete")]
    #[case::no_digest("\netcd\n", "line 4 is not a SHA-256 and a path")]
    fn a_damaged_list_is_an_error(#[case] end: &str, #[case] expected: &str) {
        let folder = release();
        let sums = folder.path().join(SUMS);
        let text = std::fs::read_to_string(&sums).unwrap();
        std::fs::write(&sums, format!("{}{end}", text.trim_end())).unwrap();
        let message = ReleaseFolder::of(&folder.path().join("x")).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn a_list_without_programs_belongs_to_something_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SUMS), format!("{}  other.iso\nnonsense", sha256(""))).unwrap();
        assert_eq!(ReleaseFolder::of(&folder.path().join("grove-conformance")).unwrap(), None);
    }

    #[test]
    fn a_program_with_other_pins_is_not_used() {
        static OTHER_MODULE: Module = module("example.com/n v1.0.0 h1:x\n", None);
        static OTHER: Component = program("etcd", "v1.0.0", PACKAGE, &OTHER_MODULE);
        assert_ne!(program_file(&OTHER), program_file(&ETCD));
        assert!(!opened(&release()).lists(&OTHER));
    }
}
