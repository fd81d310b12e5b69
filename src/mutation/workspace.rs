//! The copy of the operator that is rewritten: its own workspace, with this one's versions and profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::MutationError;
use crate::rewrite::Rewritten;
use crate::sources::{LIBRARY, SUBJECTS};

pub(crate) const WRAPPER: &str = "rustc-with-mutations";
const WRAPPER_SCRIPT: &str = "#!/bin/sh\nexec \"$@\" --cfg mutants --cap-lints allow\n";
const SWITCH_MODULE: &str = include_str!("switch.rs.txt");
/// The operator includes files from this folder.
const INCLUDED: &str = "manifests/controller";

fn sections(manifest: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            sections.push((line, Vec::new()));
        } else if let Some((_, lines)) = sections.last_mut() {
            lines.push(line);
        }
    }
    sections
}

/// The folders of the built crates: those of the operator, and those of this workspace that they use.
fn members(root: &Path, manifest: &str) -> Result<BTreeSet<String>, MutationError> {
    let mut folders = BTreeMap::new();
    for line in manifest.lines() {
        if let Some((name, rest)) = line.split_once(" = { path = \"")
            && let Some((folder, _)) = rest.split_once('"')
        {
            folders.insert(name, folder);
        }
    }
    let mut members: BTreeSet<String> = BTreeSet::new();
    let mut left: Vec<String> = SUBJECTS.map(str::to_owned).to_vec();
    while let Some(folder) = left.pop() {
        let path = root.join(&folder).join("Cargo.toml");
        let text = std::fs::read_to_string(&path).map_err(MutationError::file(&path))?;
        for line in text.lines() {
            let name = line.strip_suffix(".workspace = true").unwrap_or_default();
            left.extend(
                folders.get(name).filter(|folder| !members.contains(**folder)).map(|one| (*one).to_owned()),
            );
        }
        members.insert(folder);
    }
    Ok(members)
}

fn manifest(original: &str, members: &BTreeSet<String>) -> String {
    let mut text = String::from("[workspace]\nresolver = \"3\"\nmembers = [\n");
    for member in members {
        let _ = writeln!(text, "    \"{member}\",");
    }
    text.push_str("]\n");
    for (heading, lines) in sections(original) {
        let is_kept = ["[workspace.", "[profile."].iter().any(|prefix| heading.starts_with(prefix));
        // Profiles of packages that the copy does not have would only cause warnings.
        if !is_kept || heading.contains("conformance-") {
            continue;
        }
        let _ = writeln!(text, "\n{heading}");
        for line in lines.into_iter().filter(|line| !line.contains("path = \"src/")) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

#[derive(Debug)]
pub(crate) struct Workspace {
    pub folder: PathBuf,
}

impl Workspace {
    /// Copies the operator, what it uses, and the pinned versions, except the files that will be rewritten.
    pub(crate) fn copy(root: &Path, folder: &Path) -> Result<Self, MutationError> {
        let this = Self { folder: folder.into() };
        let path = root.join("Cargo.toml");
        let original = std::fs::read_to_string(&path).map_err(MutationError::file(&path))?;
        let members = members(root, &original)?;
        this.write("Cargo.toml", &manifest(&original, &members))?;
        for file in ["Cargo.lock", "rust-toolchain.toml"] {
            let path = root.join(file);
            if path.is_file() {
                this.write(file, &std::fs::read_to_string(&path).map_err(MutationError::file(&path))?)?;
            }
        }
        for folder in members.iter().map(String::as_str).chain([INCLUDED]) {
            this.copy_folder(root, folder, &is_of_subject)?;
        }
        this.write(WRAPPER, WRAPPER_SCRIPT)?;
        let wrapper = this.folder.join(WRAPPER);
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755))
            .map_err(MutationError::file(&wrapper))?;
        Ok(this)
    }

    fn copy_folder(
        &self,
        root: &Path,
        folder: &str,
        is_left_out: &dyn Fn(&str) -> bool,
    ) -> Result<(), MutationError> {
        let from = root.join(folder);
        for entry in std::fs::read_dir(&from).map_err(MutationError::file(&from))? {
            let entry = entry.map_err(MutationError::file(&from))?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                self.copy_folder(root, &name, is_left_out)?;
            } else if !is_left_out(&name) {
                let text =
                    std::fs::read_to_string(entry.path()).map_err(MutationError::file(&entry.path()))?;
                self.write(&name, &text)?;
            }
        }
        Ok(())
    }

    /// Writes a file, unless it has this content: cargo compiles a crate again if a file is newer.
    fn write(&self, name: &str, text: &str) -> Result<(), MutationError> {
        let path = self.folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(MutationError::file(parent))?;
        }
        std::fs::write(&path, text).map_err(MutationError::file(&path))
    }

    /// Writes the rewritten files, and the switch into each crate. `mutations` is their number.
    pub(crate) fn write_sources(
        &self,
        root: &Path,
        files: &BTreeMap<String, Rewritten>,
        mutations: usize,
    ) -> Result<(), MutationError> {
        for (name, file) in files {
            let is_library = SUBJECTS.iter().any(|subject| *name == format!("{subject}/{LIBRARY}"));
            let end = if is_library { "\nmod mutation_switch;\n" } else { "" };
            self.write(name, &format!("{}{end}", file.text))?;
        }
        let switch = switch(mutations);
        for subject in SUBJECTS {
            self.write(&format!("{subject}/src/mutation_switch.rs"), &switch)?;
            self.copy_folder(root, &format!("{subject}/src"), &|name| files.contains_key(name))?;
        }
        Ok(())
    }
}

fn switch(mutations: usize) -> String {
    // Number 0 is no mutation.
    SWITCH_MODULE.replace("MUTATIONS", &(mutations + 1).to_string())
}

fn is_of_subject(name: &str) -> bool {
    SUBJECTS.iter().any(|subject| name.starts_with(&format!("{subject}/src/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace]
members = [\"reference/*\", \"src/*\"]

[workspace.dependencies]
grove-api = { path = \"reference/api\" }
conformance-run = { path = \"src/run\" }
kube = \"5\"

[package]
name = \"grove-conformance\"

[profile.dev]
debug = 1

[profile.dev.package.conformance-page]
opt-level = 2
";

    #[test]
    fn the_copy_has_the_same_versions_and_profiles() {
        let members = ["reference/api".to_owned()].into();
        assert_eq!(
            manifest(MANIFEST, &members),
            "[workspace]\nresolver = \"3\"\nmembers = [\n    \"reference/api\",\n]\n\n\
             [workspace.dependencies]\ngrove-api = { path = \"reference/api\" }\nkube = \"5\"\n\n\n\
             [profile.dev]\ndebug = 1\n\n"
        );
    }

    #[test]
    fn the_operator_is_copied_with_the_crates_that_it_uses() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let text = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = members(root, &text).unwrap();
        for folder in ["reference/operator", "reference/api", "reference/logging", "reference/yaml"] {
            assert!(members.contains(folder), "{members:?}");
        }
        assert!(!members.iter().any(|folder| folder.starts_with("src/")), "{members:?}");
    }

    #[test]
    fn the_switch_turns_on_one_mutation_and_records_each_once() {
        const MAIN: &str = "mod mutation_switch;
            use mutation_switch::{at_most, on};
            fn main() {
                for _ in 0..3 {
                    print!(\"{} {} {} \", on(1), on(2), (0..5).take(at_most(on(2))).count());
                }
            }";
        let folder = tempfile::tempdir().unwrap();
        let (main, sites) = (folder.path().join("main.rs"), folder.path().join("sites"));
        std::fs::write(&main, MAIN).unwrap();
        std::fs::write(folder.path().join("mutation_switch.rs"), switch(2)).unwrap();
        let program = folder.path().join("program");
        let rustc = std::process::Command::new("rustc")
            .args(["--edition=2024", "-o"])
            .args([&program, &main])
            .output()
            .unwrap();
        assert!(rustc.status.success(), "{}", String::from_utf8_lossy(&rustc.stderr));
        let printed = |number: &str| {
            let mut command = std::process::Command::new(&program);
            command.env(crate::VARIABLE, number).env(crate::SITES_VARIABLE, &sites);
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        assert_eq!(printed("2"), "false true 1 ".repeat(3));
        assert_eq!(std::fs::read_to_string(&sites).unwrap(), "1\n2\n");
        std::fs::remove_file(&sites).unwrap();
        assert_eq!(printed("0"), "false false 5 ".repeat(3));
        assert_eq!(std::fs::read_to_string(&sites).unwrap(), "1\n2\n");
    }
}
