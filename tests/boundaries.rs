//! The line between what judges and what is judged: the suite and the report state names and expectations themselves,
//! the controller knows nothing of the suite. A name misspelt on one side must not be misspelt on the other.

use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder), &mut found);
    assert!(!found.is_empty(), "src/{folder} has no sources");
    found
}

#[rstest::rstest]
#[case("suite", &["api", "controller", "backend", "cli"])]
#[case("report", &["api", "controller", "backend", "cluster", "cli"])]
#[case("suite/judge", &["cluster"])]
#[case("api", &["controller", "backend", "cluster", "suite", "report", "cli"])]
#[case("backend", &["controller", "cluster", "suite", "report", "cli"])]
#[case("controller", &["cluster", "suite", "report", "cli"])]
#[case("cluster", &["suite", "report", "cli"])]
#[case("device_plugin", &["api", "controller", "backend", "cluster", "suite", "report", "cli"])]
fn arrows_go_one_way(#[case] folder: &str, #[case] forbidden: &[&str]) {
    for path in sources(folder) {
        let text = std::fs::read_to_string(&path).unwrap();
        for module in forbidden {
            let import = format!("crate::{module}::");
            let line =
                text.lines().position(|line| !line.trim_start().starts_with("//") && line.contains(&import));
            assert!(
                line.is_none(),
                "{}:{}: {folder} must not use {module}",
                path.display(),
                line.unwrap_or(0) + 1
            );
        }
    }
}
