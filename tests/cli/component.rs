use std::os::unix::fs::PermissionsExt;

use crate::build::QUICK_GO;
use crate::{Cli, assert_fails, processes_of, stderr, stdout};

#[test]
fn missing_helm_is_an_infrastructure_error() {
    let args = [
        "run",
        "--provider",
        "kind",
        "--component",
        "kai-scheduler=chart:pinned",
        "--backend",
        "kai-scheduler",
    ];
    let output = Cli::new().with_go(&args, None);
    assert_fails(&output, 3, &["`helm version --short` failed", "put `helm` on PATH", "omit the chart"]);
}

#[test]
fn a_kai_folder_names_each_missing_file() {
    let cli = Cli::new();
    let folder = cli.home.path().display().to_string();
    let output =
        cli.run(&["run", "--backend", "kai-scheduler", "--component", &format!("kai-scheduler={folder}")]);
    let wanted = [
        "kai-scheduler",
        "kai-binder",
        "podgroups.scheduling.run.ai",
        "queues.scheduling.run.ai",
        "bindrequests.scheduling.run.ai",
        "topologies.kai.scheduler",
    ];
    assert_fails(&output, 2, &wanted);
}

fn kai_source(cli: &Cli, main: &str) -> String {
    let folder = cli.home.path().join("kai");
    let put = |file: &str, text: &str| {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    };
    put("go.mod", "module github.com/kai-scheduler/KAI-scheduler\n\ngo 1.21\n");
    put("cmd/scheduler/main.go", &format!("package main\n\nfunc main() {{ {main} }}\n"));
    put("cmd/binder/main.go", "package main\n\nfunc main() {}\n");
    put("cmd/podgrouper/main.go", "package main\n\nfunc main() {}\n");
    for crd in [
        "scheduling.run.ai_podgroups",
        "scheduling.run.ai_queues",
        "scheduling.run.ai_bindrequests",
        "kai.scheduler_topologies",
    ] {
        put(&format!("deployments/kai-scheduler/crds/{crd}.yaml"), "kind: CustomResourceDefinition\n");
    }
    folder.display().to_string()
}

#[rstest::rstest]
#[case::no_checkout("src:/", "/ is not a checkout of kubeflow/trainer: it lacks go.mod")]
#[case::an_empty_folder(
    "EMPTY",
    "the folder lacks a program trainer-controller-manager; a folder with crds/"
)]
fn an_unusable_trainer_is_a_usage_error(#[case] source: &str, #[case] expected: &str) {
    let cli = Cli::new();
    let empty = cli.home.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder can be made");
    let source = source.replace("EMPTY", &empty.display().to_string());
    let component = format!("trainer-controller-manager={source}");
    let output = cli.run(&["trainjobs", "--component", &component]);
    assert_fails(&output, 2, &[expected]);
    let output = cli.run(&["run", "--component", &component]);
    assert!(stderr(&output).contains("only `trainjobs` runs the trainer"), "{}", stderr(&output));
}

#[rstest::rstest]
#[case::an_unknown_name(&["--component", "volcan=src:DIR"], "known: kube-scheduler, vc-scheduler, koord-scheduler, ")]
#[case::no_checkout(
    &["--component", "kai-scheduler=src:/"],
    "/ is not a checkout of kai-scheduler/KAI-Scheduler: it lacks go.mod"
)]
#[case::two_of_one(
    &["--component", "kai-scheduler=src:DIR", "--component", "kai-scheduler=DIR"],
    "--component kai-scheduler is given twice"
)]
#[case::no_folder(&["--component", "kai-scheduler"], "expected NAME=PATH, NAME=src:DIR")]
#[case::in_the_image_of_nodes(
    &["--component", "kube-scheduler=src:DIR", "--provider", "kind"],
    "the suite cannot deploy this program in a cluster: pass --provider local"
)]
fn an_unusable_working_tree_is_a_usage_error(#[case] flags: &[&str], #[case] expected: &str) {
    let cli = Cli::new();
    let dir = kai_source(&cli, "");
    let flags: Vec<_> = flags.iter().map(|flag| flag.replace("DIR", &dir)).collect();
    let all: Vec<_> =
        ["run", "--backend", "kai-scheduler"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let output = cli.with_go(&all, None);
    assert_fails(&output, 2, &[expected]);
    assert!(!cli.home.path().join("cache").exists(), "something was built");
}

/// Needs Go to build KAI's programs.
#[test]
fn a_working_tree_that_does_not_compile_is_reported_before_anything_else_is_built() {
    let cli = Cli::new();
    let dir = kai_source(&cli, "nothing()");
    let mut command = cli.command(&[
        "run",
        "--backend",
        "kai-scheduler",
        "--component",
        &format!("kai-scheduler=src:{dir}"),
    ]);
    command.env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache"));
    let output = command.output().expect("the program runs");
    let said = stderr(&output);
    assert_fails(&output, 3, &["building kai-scheduler unknown failed; log: ", "undefined: nothing"]);
    assert!(!said.contains("etcd"), "{said}");
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}

/// A `go` script whose module proxy has every version of etcd. It adds a line per version to `resolved`.
const GO_WITH_VERSIONS: &str = r#"case $1 in
get) echo "$2" >> "$HOME/resolved"; echo "m v1.0.0 h1:x" > go.sum; exit;;
mod)
    case $4 in go.etcd.io/*)
        echo "module go.etcd.io/etcd/server/v3" > "$HOME/own.mod"
        echo "{\"GoMod\": \"$HOME/own.mod\"}"
        exit;;
    esac;;
esac"#;

#[test]
fn another_version_is_resolved_and_built_once() {
    let cli = Cli::new();
    let go = format!("{GO_WITH_VERSIONS}\n{QUICK_GO}");
    let args = ["dev", "components", "--kubernetes", "1.36", "--component", "etcd=version:3.6.9", "build"];
    for state in ["built now", "cached"] {
        let output = cli.with_go(&args, Some(&go));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let printed = stdout(&output);
        let line = printed.lines().find(|line| line.starts_with("etcd ") && line.contains(" v3.6.9 "));
        assert!(line.is_some_and(|line| line.contains(state)), "{state}: {printed}");
        // The pinned version has a line of its own.
        let others = printed.lines().filter(|line| line.starts_with("etcd ") && !line.contains(" v3.6.9 "));
        assert_eq!(others.count(), 1, "{printed}");
    }
    let resolved = std::fs::read_to_string(cli.home.path().join("resolved")).expect("go was run");
    assert_eq!(resolved, "go.etcd.io/etcd/server/v3@v3.6.9\n");
}

#[rstest::rstest]
#[case::absent(
    "case $1 in env) echo https://proxy.example.org;; *) echo 'invalid version: unknown revision v3.6.99' >&2; exit 1;; esac",
    2,
    "go.etcd.io/etcd/server/v3 v3.6.99 is not published: invalid version: unknown revision v3.6.99"
)]
#[case::unreachable(
    "case $1 in env) echo off;; *) echo 'module lookup disabled by GOPROXY=off' >&2; exit 1;; esac",
    3,
    "the modules of go.etcd.io/etcd/server/v3 v3.6.99 cannot be resolved: module lookup disabled by GOPROXY=off"
)]
fn a_version_that_cannot_be_resolved_is_reported(
    #[case] go: &str,
    #[case] code: i32,
    #[case] expected: &str,
) {
    let cli = Cli::new();
    let output = cli.with_go(&["run", "--component", "etcd=version:3.6.99"], Some(go));
    assert_fails(&output, code, &[expected]);
    assert!(!cli.home.path().join("cache/components").exists(), "something was built");
}

#[test]
fn another_version_needs_go() {
    let output = Cli::new().with_go(&["run", "--component", "etcd=version:3.6.9"], None);
    assert_fails(&output, 3, &["Go builds versions other than the pinned one"]);
}

#[test]
fn newer_releases_are_listed_by_module() {
    let go = r#"case $1 in
        env) echo off;;
        list) echo "{\"Path\": \"$6\", \"Versions\": [\"v0.0.1\", \"v99.0.0\", \"v99.1.0-rc.1\"]}";;
    esac"#;
    let output = Cli::new().with_go(&["dev", "versions"], Some(go));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = stdout(&output);
    let row = |name: &str| {
        let mut rows = printed.lines().map(str::trim);
        rows.find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_default().to_owned()
    };
    for name in ["etcd", "kubernetes-1.37", "volcano", "kwok"] {
        assert!(row(name).ends_with(" v99.0.0"), "{name}: {printed}");
    }
    // Newer minors are in the row of the newest pin.
    assert!(row("kubernetes-1.36").ends_with(" none"), "{printed}");
}

#[test]
fn a_proxy_that_does_not_answer_leaves_versions_unknown() {
    let go = "case $1 in env) echo off;; *) echo 'module lookup disabled by GOPROXY=off' >&2; exit 1;; esac";
    let output = Cli::new().with_go(&["dev", "versions"], Some(go));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains(" unknown"), "{}", stdout(&output));
    let expected = "the versions of go.etcd.io/etcd/server/v3 cannot be listed: module lookup disabled";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

#[test]
fn a_scheduler_that_exits_at_start_is_reported_and_its_backend_is_skipped() {
    let cli = Cli::new();
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo v9.9.9 && exit 0\necho 'no plan to schedule by' >&2\nexit 1\n";
    let scheduler = cli.file("vc-scheduler", script);
    std::fs::set_permissions(&scheduler, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let bin = format!("vc-scheduler={scheduler}");
    let output = cli.run(&["run", "aon/exact-fit-bound", "--backend", "volcano", "--component", &bin]);
    let all = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(3), "{all}");
    for expected in ["backend volcano is not run", "no plan to schedule by"] {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}
