//! The command line as users see it: texts, exit codes, and what remains after a process is killed. Tests
//! that start a cluster need the components, and Go to build them once.

mod build;
mod cluster;
mod component;
mod config;
mod help;
mod interrupt;
mod list;
mod nodes;
mod own_cluster;
mod release;
mod replay;
mod report;
mod usage;
mod workload;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

struct Cli {
    home: TempDir,
}

impl Cli {
    fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a folder can be made") }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grove-conformance"));
        command
            .args(args)
            .current_dir(self.home.path())
            .env("GROVE_CONFORMANCE_STATE", self.home.path().join("state"))
            .env_remove("KUBECONFIG")
            .env_remove("RUST_LOG");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    }

    fn go(&self, script: &str) {
        let go = self.home.path().join("bin/go");
        // Keep an existing script, because a second process may be running it.
        if go.exists() {
            return;
        }
        std::fs::create_dir_all(self.home.path().join("bin")).expect("a folder can be made");
        std::fs::write(&go, format!("#!/bin/sh\n{script}\n")).expect("a script can be written");
        std::fs::set_permissions(&go, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    }

    /// PATH has only `bin`, the component cache is empty, and there is no cargo.
    fn command_with_bin(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command
            .env("PATH", self.home.path().join("bin"))
            .env("HOME", self.home.path())
            .env("GROVE_CONFORMANCE_CACHE", self.home.path().join("cache"))
            .env_remove("CARGO");
        command
    }

    fn with_go(&self, args: &[&str], script: Option<&str>) -> Output {
        if let Some(script) = script {
            self.go(script);
        }
        self.command_with_bin(args).output().expect("the program runs")
    }
}

#[track_caller]
fn assert_fails(output: &Output, code: i32, expected: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for text in expected {
        assert!(said.contains(*text), "{text:?} is not in: {said}");
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn processes_of(folder: &Path) -> usize {
    let folder = folder.display().to_string();
    std::fs::read_dir("/proc")
        .expect("this is Linux")
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(&folder))
        .count()
}
