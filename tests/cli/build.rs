use std::process::Command;

use crate::{Cli, assert_fails, stderr};

#[rstest::rstest]
#[case::no_go(None, "`go` cannot be run")]
#[case::old_go(
    Some("echo 'go: go.mod requires go >= 1.26.0 (running go 1.21.0)' >&2; exit 1"),
    "running go 1.21.0"
)]
#[case::does_not_compile(
    Some(
        "case $1$2 in envGOVERSION) echo go1.26.8 linux amd64;; env*) echo $HOME/go;; \
         *) echo 'main.go:1: syntax error' >&2; exit 1;; esac"
    ),
    "main.go:1: syntax error"
)]
fn a_toolchain_that_cannot_build_is_an_infrastructure_error(
    #[case] go: Option<&str>,
    #[case] expected: &str,
) {
    let output = Cli::new().with_go(&["dev", "components", "build"], go);
    assert_fails(&output, 3, &[expected]);
}

#[test]
fn all_missing_requirements_are_reported_at_once() {
    let cli = Cli::new();
    let file = cli.file("not-a-folder", "");
    let output = cli
        .command(&["run"])
        .env("PATH", cli.home.path().join("bin"))
        .env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache"))
        .env("GROVE_CONFORMANCE_STATE", format!("{file}/state"))
        .output()
        .expect("the program runs");
    let wanted =
        ["nothing has been built", "state folder: ", "set GROVE_CONFORMANCE_STATE", "go: `go` cannot be run"];
    assert_fails(&output, 3, &wanted);
}

/// A `go` script that has every pinned module, builds shell scripts, and adds a line per program to `builds`.
pub(crate) const QUICK_GO: &str = r#"case $1 in
env) case $2 in GOVERSION) echo go1.26.8 linux amd64;; GOPROXY) echo off;; *) echo "$HOME/go";; esac;;
mod)
    case $3 in -json) read -r _ _ sum < go.sum; echo "{\"Dir\": \"$PWD\", \"Sum\": \"$sum\"}";; esac;;
build)
    while [ "$1" != -o ]; do shift; done
    /bin/sleep 0.1
    output=$2
    shift 2
    for package; do
        case $output in */) program=$output${package##*/};; *) program=$output;; esac
        echo "$program" >> "$HOME/builds"
        echo '#!/bin/sh' > "$program"
    done;;
esac"#;

impl Cli {
    fn quick_build(&self) -> Command {
        self.go(QUICK_GO);
        self.command_with_bin(&["dev", "components", "build"])
    }

    pub(crate) fn builds(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.home.path().join("builds")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Cargo is needed only after Go has built for minutes, so its absence is reported first.
#[test]
fn kind_without_cargo_is_refused_before_anything_is_built() {
    let cli = Cli::new();
    let output = cli.with_go(&["run", "--provider", "kind"], Some(QUICK_GO));
    assert_fails(&output, 3, &["nothing has been built", "cargo: `cargo --version` failed", "containers: "]);
    assert!(cli.builds().is_empty());
}

/// Needs Go but no network.
#[rstest::rstest]
#[case::forbidden("off", "", "module lookup disabled by GOPROXY=off")]
#[case::nothing_answers("http://127.0.0.1:9", "", "connection refused")]
#[case::the_next_is_not_asked("http://127.0.0.1:9,direct", "", "connection refused")]
#[case::go_mod_may_be_edited("http://127.0.0.1:9", "-mod=mod", "connection refused")]
fn unavailable_modules_are_reported_before_anything_is_built(
    #[case] proxy: &str,
    #[case] flags: &str,
    #[case] expected: &str,
) {
    let cli = Cli::new();
    let mut command = cli.command(&["dev", "components", "build"]);
    let output = command
        .env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache"))
        .env("GOMODCACHE", cli.home.path().join("modules"))
        .env("GOPROXY", proxy)
        .env("GOFLAGS", flags)
        .output()
        .expect("the program runs");
    let said = stderr(&output);
    assert_fails(&output, 3, &["nothing has been built", "go modules: ", expected, "GOMODCACHE"]);
    assert!(!cli.home.path().join("cache/components").exists(), "{said}");
}

/// Go's cache is in the home. The home is a file, because root may write to any folder.
#[test]
fn every_unwritable_folder_is_reported() {
    let cli = Cli::new();
    let file = cli.file("read-only", "");
    let mut command = cli.quick_build();
    for name in ["GROVE_CONFORMANCE_CACHE", "GROVE_CONFORMANCE_STATE", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    let output = command.env("HOME", &file).output().expect("the program runs");
    let wanted =
        ["state folder: ", "cache folder: ", "set GROVE_CONFORMANCE_CACHE", "set GROVE_CONFORMANCE_STATE"];
    assert_fails(&output, 3, &wanted);
    let output = cli.quick_build().env("HOME", &file).output().expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("go build cache: ") && said.contains("set GOCACHE"), "{said}");
    let mut command = cli.command(&["dev", "components", "build"]);
    command.env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache")).env("GOCACHE", "off");
    let said = stderr(&command.output().expect("the program runs"));
    assert!(said.contains("GOCACHE is \"off\", not a folder") || said.contains("GOCACHE=off"), "{said}");
}

#[test]
fn incomplete_cache_entries_are_built_again() {
    let cli = Cli::new();
    let output = cli.quick_build().output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let built = cli.builds().len();
    let folder = |parent: &str, name: &str| {
        let entries = std::fs::read_dir(cli.home.path().join("cache").join(parent)).expect("it is there");
        let mut paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.find(|path| path.display().to_string().contains(&format!("/{name}-"))).expect("it is built")
    };
    let write = |path: std::path::PathBuf, text: &str| std::fs::write(path, text).expect("it can be written");
    // Damage a description, a program, a program whose build never ended, and a pinned module.
    write(folder("components", "etcd").join("built.json"), "{\"name\": \"etc");
    write(folder("components", "kwok").join("kwok"), "#!");
    let kind = folder("components", "kind");
    std::fs::create_dir(kind.join("unfinished")).expect("it was removed after the build");
    std::fs::rename(kind.join("kind"), kind.join("unfinished/kind")).expect("it was built");
    std::fs::remove_file(kind.join("built.json")).expect("it was built");
    write(folder("modules", "etcd").join("go.mod"), "module");
    let output = cli.quick_build().output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(cli.builds().len(), built + 3, "{}", stderr(&output));
    let go_mod = std::fs::read_to_string(folder("modules", "etcd").join("go.mod")).expect("it is there");
    assert!(go_mod.contains("require"), "{go_mod}");
}

#[test]
fn two_first_runs_at_once_build_everything_once() {
    let cli = Cli::new();
    let start = || {
        let mut command = cli.quick_build();
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().expect("the program runs")
    };
    let both = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    let said = both.each_ref().map(stderr).concat();
    for output in &both {
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    assert!(said.contains("waiting for another process that builds"), "{said}");
    let mut builds = cli.builds();
    let all = builds.len();
    builds.sort();
    builds.dedup();
    assert_eq!(builds.len(), all, "a program was built twice: {said}");
}
