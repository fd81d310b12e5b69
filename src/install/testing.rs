use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn put(dir: &Path, file: &str, content: &str) {
    let path = dir.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

pub(crate) fn folder(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        put(folder.path(), file, "");
    }
    folder
}

pub(crate) fn assert_manifests(file: &str, objects: &[Value]) {
    let mut text =
        "# Written by: WRITE_MANIFESTS=1 cargo test -p conformance-install --lib manifests_of_schedulers\n"
            .to_owned();
    for object in objects {
        text.push_str("---\n");
        text.push_str(&grove_yaml::write(object).unwrap());
    }
    let path = format!("{}/../../manifests/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WRITE_MANIFESTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{path}");
}
