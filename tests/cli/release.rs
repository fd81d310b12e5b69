use std::path::Path;
use std::process::{Command, Output};

use conformance_install::catalogue::module_files;
use conformance_install::schedulers;

use crate::build::QUICK_GO;
use crate::{Cli, assert_fails, stderr, stdout};

/// [`QUICK_GO`] with the source of every module in `source` in the home.
const GO_WITH_SOURCE: &str = r#"case $1 in list) echo "$HOME/source"; exit;; esac"#;

/// A release folder with the suite's real program. Its other programs are small scripts.
fn release() -> (Cli, std::path::PathBuf) {
    let cli = Cli::new();
    for files in module_files(&schedulers::all().collect(), true) {
        for file in files.files {
            let path = cli.home.path().join("source").join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
            std::fs::write(path, "kind: CustomResourceDefinition\n").expect("a file can be written");
        }
    }
    let go = format!("{GO_WITH_SOURCE}\n{QUICK_GO}");
    let output = cli.with_go(&["dev", "components", "fetch", "--to", "release"], Some(&go));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let folder = cli.home.path().join("release");
    let program = folder.join("grove-conformance");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_grove-conformance"), &program).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_grove-conformance"), &program).expect("the program can be copied");
    }
    (cli, folder)
}

/// Runs the program of a release folder. Nothing is on PATH, and the cache is empty.
fn of_release(cli: &Cli, folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(folder.join("grove-conformance"));
    command
        .args(args)
        .current_dir(cli.home.path())
        .env("PATH", "")
        .env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("unused"))
        .env("GROVE_CONFORMANCE_STATE", cli.home.path().join("state"));
    command.output().expect("the program runs")
}

#[test]
fn a_release_needs_no_go() {
    let (cli, folder) = release();
    let output = of_release(&cli, &folder, &["dev", "components", "list"]);
    let listed = stdout(&output);
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap_or(name).to_owned();
    for name in ["etcd ", "kube-apiserver ", "kwok ", "vc-scheduler ", "koord-scheduler ", "jobset "] {
        assert!(line(name).ends_with(" built") && !line(name).ends_with("not built"), "{listed}");
    }
    assert!(line("kind ").ends_with("not built"), "{listed}");
    // All programs are found, so the run fails only when it starts a script instead of etcd.
    let output = of_release(
        &cli,
        &folder,
        &["run", "--set", "programs.offline=true", "--backend", "volcano", "aon/one-pod-short"],
    );
    let said = stderr(&output);
    assert!(!said.contains("`go`") && !said.contains("neither in a release folder"), "{said}");
}

#[rstest::rstest]
#[case::altered(Some("#!/bin/sh\nexit 1\n"), "but SHA256SUMS lists ")]
#[case::missing(None, "SHA256SUMS lists this file, but it does not exist")]
fn an_altered_program_of_a_release_does_not_start(#[case] content: Option<&str>, #[case] expected: &str) {
    let (cli, folder) = release();
    let entries = std::fs::read_dir(folder.join("programs")).expect("it is there");
    let mut paths = entries.map(|entry| entry.expect("it can be read").path());
    let kwok = paths.find(|path| path.display().to_string().contains("/kwok-")).expect("it is there");
    match content {
        Some(text) => std::fs::write(kwok.join("kwok"), text).expect("it can be written"),
        None => std::fs::remove_file(kwok.join("kwok")).expect("it is there"),
    }
    let output = of_release(&cli, &folder, &["run", "aon/one-pod-short"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("/kwok: ") && said.contains(expected), "{said}");
    assert!(!said.contains("starting a control plane"), "{said}");
}

#[rstest::rstest]
#[case::run(&["run", "--set", "programs.offline=true", "--backend", "volcano", "AON-02"])]
#[case::cluster(&["cluster", "create", "--offline", "--backend", "volcano"])]
fn offline_lists_what_is_missing_and_builds_nothing(#[case] args: &[&str]) {
    let cli = Cli::new();
    let output = cli.with_go(args, Some(QUICK_GO));
    let said = stderr(&output);
    let wanted =
        ["etcd v", "vc-scheduler v", "manifests of volcano.sh/volcano v", "dev components fetch --to DIR"];
    assert_fails(&output, 3, &wanted);
    assert!(cli.builds().is_empty(), "{said}");
}

#[rstest::rstest]
#[case(&["dev", "components", "fetch", "--to", "."], "the folder is not empty")]
#[case(&["dev", "components", "--component", "etcd=./etcd", "fetch", "--to", "new"], "copies pinned programs; omit it")]
#[case(&["run", "--provider", "kind", "--set", "programs.offline=true"], "programs.offline needs --provider local or existing")]
fn fetch_and_offline_refuse_what_they_cannot_do(#[case] args: &[&str], #[case] expected: &str) {
    let cli = Cli::new();
    cli.file("etcd", "");
    let output = cli.run(args);
    assert_fails(&output, 2, &[expected]);
}
