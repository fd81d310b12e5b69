//! The build script of every suite and of the observations. It registers each file that defines a `CASE` or
//! an `OBSERVATION`. For example, `aon/one_clique_too_large.rs` becomes the case `aon/one-clique-too-large`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The constant that a file defines, its type, and the name of the list of these constants.
const REGISTERED: [(&str, &str, &str); 2] =
    [("CASE", "Case", "CASES"), ("OBSERVATION", "Observation", "OBSERVATIONS")];

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
    for group in &groups {
        println!("cargo::rerun-if-changed={}", group.display());
    }
    let mut lists = String::new();
    for (constant, of_type, name) in REGISTERED {
        let mut list = String::new();
        for group in &groups {
            registered(group, constant, of_type, &mut list)?;
        }
        if !list.is_empty() {
            writeln!(lists, "/// All of them, group by group.\nstatic {name}: &[{of_type}] = &[\n{list}];")?;
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("cases.rs"), lists)?;
    Ok(())
}

fn registered(
    group: &Path,
    constant: &str,
    of_type: &str,
    list: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let name =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut files: Vec<_> = fs::read_dir(group)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
        if !fs::read_to_string(path)?.contains(&format!("const {constant}: {of_type}")) {
            continue;
        }
        let (group, case) = (name(group), name(path));
        let id = format!("{group}/{}", case.replace('_', "-"));
        let manifest = path.with_extension("yaml");
        let manifest = if manifest.is_file() {
            format!("include_str!({:?})", manifest.display().to_string())
        } else {
            "\"\"".to_owned()
        };
        writeln!(list, "    {group}::{case}::{constant}.registered({id:?}, {manifest}),")?;
    }
    Ok(())
}
