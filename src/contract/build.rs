//! Writes a constant for the id of each clause, so that code with an unknown id does not compile.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../contract");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut ids = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let text = fs::read_to_string(path)?;
            ids.extend(text.lines().filter_map(|line| line.strip_prefix("  - id: ")).map(str::to_owned));
        }
    }
    ids.sort();
    let mut code = String::new();
    for id in &ids {
        writeln!(code, "pub const {}: &str = {id:?};", id.replace('-', "_"))?;
    }
    writeln!(code, "pub(super) const ALL: &[&str] = &{ids:?};")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("ids.rs"), code)?;
    Ok(())
}
