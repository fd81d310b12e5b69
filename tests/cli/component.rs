//! `--component`: working trees, folders, charts, and a program that exits.

use std::os::unix::fs::PermissionsExt;

use crate::{Cli, processes_of, stderr, stdout};

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
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    for expected in ["`helm version --short` failed", "put `helm` on PATH", "omit the chart"] {
        assert!(stderr(&output).contains(expected), "{expected}: {}", stderr(&output));
    }
}

#[test]
fn a_kai_folder_names_each_missing_file() {
    let cli = Cli::new();
    let folder = cli.home.path().display().to_string();
    let output =
        cli.run(&["run", "--backend", "kai-scheduler", "--component", &format!("kai-scheduler={folder}")]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    for missing in [
        "kai-scheduler",
        "kai-binder",
        "podgroups.scheduling.run.ai",
        "queues.scheduling.run.ai",
        "bindrequests.scheduling.run.ai",
        "topologies.kai.scheduler",
    ] {
        assert!(stderr(&output).contains(missing), "{missing}: {}", stderr(&output));
    }
}

/// A folder that looks like a checkout of KAI, whose scheduler has this `main`.
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
#[case::an_empty_folder("EMPTY", "it lacks a program trainer-controller-manager; a folder with crds/")]
fn an_unusable_trainer_is_a_usage_error(#[case] source: &str, #[case] expected: &str) {
    let cli = Cli::new();
    let empty = cli.home.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder can be made");
    let source = source.replace("EMPTY", &empty.display().to_string());
    let component = format!("trainer-controller-manager={source}");
    let output = cli.run(&["trainjobs", "--component", &component]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
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
    "it cannot be deployed in a cluster: pass --provider local"
)]
fn an_unusable_working_tree_is_a_usage_error(#[case] flags: &[&str], #[case] expected: &str) {
    let cli = Cli::new();
    let dir = kai_source(&cli, "");
    let flags: Vec<_> = flags.iter().map(|flag| flag.replace("DIR", &dir)).collect();
    let all: Vec<_> =
        ["run", "--backend", "kai-scheduler"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let output = cli.with_go(&all, None);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
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
    assert_eq!(output.status.code(), Some(3), "{said}");
    for expected in ["building kai-scheduler unknown failed; log: ", "undefined: nothing"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("etcd"), "{said}");
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}

/// Needs the components, and Go once to build them.
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
