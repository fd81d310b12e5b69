//! The build script of every suite. It lists the cases of each group's folder, so that a file with a `CASE` is
//! registered automatically.
//! `aon/one_clique_too_large.rs` becomes the case `aon/one-clique-too-large`, with the text of
//! `one_clique_too_large.yaml`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let mut groups = Vec::new();
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        if path.join("mod.rs").is_file() {
            groups.push(path);
        }
    }
    groups.sort();
    // A new group needs a line in lib.rs, so the script also runs after changes there.
    println!("cargo::rerun-if-changed=lib.rs");
    let mut list = String::from("/// Every case, group by group.\nstatic CASES: &[Case] = &[\n");
    for group in groups {
        println!("cargo::rerun-if-changed={}", group.display());
        cases(&group, &mut list)?;
    }
    list.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("cases.rs"), list)?;
    Ok(())
}

/// Appends a line for each file of a group's folder that has a `CASE`.
fn cases(group: &Path, list: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let name =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut files: Vec<_> = fs::read_dir(group)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
        if !fs::read_to_string(path)?.contains("const CASE: Case") {
            continue;
        }
        let (group, case) = (name(group), name(path));
        let id = format!("{group}/{}", case.replace('_', "-"));
        let manifest = path.with_extension("yaml");
        let manifest = match manifest.is_file() {
            true => format!("include_str!({:?})", manifest.display().to_string()),
            false => "\"\"".to_owned(),
        };
        writeln!(list, "    {group}::{case}::CASE.registered({id:?}, {manifest}),")?;
    }
    Ok(())
}
