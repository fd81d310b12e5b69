use std::sync::Mutex;

use tempfile::TempDir;

use super::*;
use crate::schedulers::{installation, kai};
use crate::testing::{folder, put};

const TOPOLOGIES: &str = "deployments/kai-scheduler/crds/kai.scheduler_topologies.yaml";
const EMBEDDED: &str = "deployments/kai-scheduler/crds/embed.go";
const LOG_FORMAT: &str = "pkg/common/flags/json_flag.go";

fn kai(files: &[&str]) -> TempDir {
    let folder = folder(files);
    put(folder.path(), "go.mod", "module github.com/kai-scheduler/KAI-scheduler\n\ngo 1.21\n");
    for program in ["scheduler", "binder", "podgrouper"] {
        put(folder.path(), &format!("cmd/{program}/main.go"), "package main\n\nfunc main() {}\n");
    }
    for crd in ["podgroups", "queues", "bindrequests"] {
        let text = format!("kind: CustomResourceDefinition\nmetadata: {{name: {crd}}}\n");
        put(folder.path(), &format!("deployments/kai-scheduler/crds/scheduling.run.ai_{crd}.yaml"), &text);
    }
    folder
}

async fn opened(folder: &TempDir) -> SchedulerSource {
    SchedulerSource::open("kai-scheduler", folder.path()).await.unwrap()
}

#[test]
fn every_recipe_matches_the_processes_of_its_scheduler() {
    for install in ALL {
        let recipe = &install.recipe;
        let mut fields = document(recipe.text, KIND).unwrap();
        fields.remove("variants");
        let description: Description = serde_json::from_value(Value::Object(fields)).unwrap();
        let processes: Vec<_> = install.processes.iter().map(|process| process.name).collect();
        let build = &description.build;
        assert!(build.programs.keys().all(|name| processes.contains(&name.as_str())), "{}", recipe.path);
        for process in install.processes.iter().filter(|process| process.optional.is_none()) {
            assert!(build.programs.contains_key(process.name), "{}: {}", recipe.path, process.name);
        }
        for package in build.programs.values() {
            let folder = package.trim_start_matches("./");
            let is_input = build.inputs.iter().any(|input| folder.starts_with(input.as_str()));
            assert!(is_input, "{}: a change of {package} would not lead to a new build", recipe.path);
        }
    }
    // Users pass these names.
    for name in [
        "kube-scheduler",
        "vc-scheduler",
        "koord-scheduler",
        "kai-scheduler",
        "scheduler-plugins-scheduler",
        "kueue",
    ] {
        assert!(names().contains(&name), "{name}");
    }
}

#[rstest::rstest]
#[case::newest(&[TOPOLOGIES, EMBEDDED, LOG_FORMAT], true, true)]
#[case::without_the_log_flag(&[TOPOLOGIES, EMBEDDED], false, true)]
#[case::without_both_flags(&[TOPOLOGIES], false, false)]
#[tokio::test]
async fn flags_that_a_release_does_not_have_are_removed(
    #[case] files: &[&str],
    #[case] log: bool,
    #[case] label: bool,
) {
    let source = opened(&kai(files)).await;
    let unknown_flags = source.description.unknown_flags;
    let given = GivenScheduler { programs: Vec::new(), crds: Vec::new(), unknown_flags };
    let args =
        ["--log-json", "--queue-label-key=kai.scheduler/queue", "--log-json-path=x"].map(str::to_owned);
    let kept = given.known("kai-scheduler", args.to_vec());
    assert_eq!(
        (kept.contains(&args[0]), kept.contains(&args[1]), kept.contains(&args[2])),
        (log, label, true)
    );
    assert_eq!(given.known("kai-binder", args.to_vec()), args, "another program");
}

#[tokio::test]
async fn a_release_that_is_too_old_is_rejected() {
    let folder = kai(&[]);
    let error = SchedulerSource::open("kai-scheduler", folder.path()).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("v0.12.0 is the first"), "{error}");
}

#[rstest::rstest]
#[case::no_folder("kai-scheduler", "/no/such/folder", "the folder does not exist")]
#[case::another_repository(
    "vc-scheduler",
    "",
    "is not a checkout of volcano-sh/volcano: it lacks config/crd/volcano/bases"
)]
#[case::a_backend_instead_of_a_program(
    "volcano",
    "",
    "known: kube-scheduler, vc-scheduler, koord-scheduler, "
)]
#[tokio::test]
async fn a_wrong_folder_or_name_is_a_usage_error(
    #[case] name: &str,
    #[case] dir: &str,
    #[case] message: &str,
) {
    let kai = kai(&[TOPOLOGIES]);
    let dir = if dir.is_empty() { kai.path() } else { Path::new(dir) };
    let error = SchedulerSource::open(name, dir).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains(message), "{error}");
}

#[tokio::test]
async fn the_error_for_a_newer_go_names_its_version() {
    let folder = kai(&[TOPOLOGIES]);
    put(folder.path(), "go.mod", "module m\n\ngo 9.99.9\n");
    let error = opened(&folder).await.build(&Recorded::default()).await.unwrap_err();
    let ProgramError::Source(error) = error else { panic!("{error}") };
    assert!(!error.is_usage() && error.to_string().contains("Go 9.99.9 or newer builds it"), "{error}");
}

#[tokio::test]
async fn the_error_for_kubernetes_without_tags_names_the_cause() {
    let folder = folder(&["cmd/kube-scheduler/scheduler.go", "pkg/scheduler/scheduler.go"]);
    put(folder.path(), "go.mod", "module k8s.io/kubernetes\n\ngo 1.21\n");
    let source = SchedulerSource::open("kube-scheduler", folder.path()).await.unwrap();
    let error = source.build(&Recorded::default()).await.unwrap_err().to_string();
    assert!(error.contains("git tags"), "{error}");
}

#[derive(Default)]
struct Recorded(Mutex<Vec<String>>);

impl Recorded {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Progress for Recorded {
    fn planned(&self, builds: &[PlannedBuild]) {
        let names: Vec<_> = builds.iter().map(|build| &*build.names).collect();
        self.add(format!("planned {}", names.join(" ")));
    }
    fn building(&self, name: &str, version: &str) {
        self.add(format!("building {name} {version}"));
    }
    fn compiled(&self, _: &str, _: &str, _: usize) {}
    fn built(&self, name: &str, version: &str, _: f64) {
        self.add(format!("built {name} {version}"));
    }
    fn waiting(&self, _: &str) {}
}

/// Three small programs, compiled by the Go on PATH.
#[tokio::test]
async fn a_tree_is_built_once_per_content() {
    let folder = kai(&[TOPOLOGIES, EMBEDDED, LOG_FORMAT]);
    for go in [EMBEDDED, LOG_FORMAT] {
        put(folder.path(), go, "package p\n");
    }
    let unique = format!("package main\n\n// {}\nfunc main() {{}}\n", folder.path().display());
    put(folder.path(), "cmd/scheduler/main.go", &unique);
    let build = async || {
        let progress = Recorded::default();
        let given = opened(&folder).await.build(&progress).await.unwrap();
        (given, progress.0.into_inner().unwrap())
    };
    let (first, log) = build().await;
    assert_eq!(log[0], "planned kai-scheduler kai-binder kai-podgrouper");
    assert_eq!(log[1..3], ["building kai-scheduler unknown", "built kai-scheduler unknown"]);
    let names: Vec<_> = first.programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["kai-scheduler", "kai-binder", "kai-podgrouper"]);
    let crds = installation(kai::SCHEDULER).crds(Some(&first)).await.unwrap();
    assert_eq!(crds.len(), 3, "the CRDs of the tree, not those of this suite");

    put(folder.path(), "README.md", "not an input");
    let (second, log) = build().await;
    assert_eq!(log, ["planned "]);
    assert_eq!(second.programs[0].path, first.programs[0].path);

    put(folder.path(), "cmd/scheduler/main.go", &unique.replace("{}", "{ println(1) }"));
    let (third, log) = build().await;
    assert_eq!(log.len(), 7, "{log:?}");
    assert_ne!(third.programs[0].sha256, first.programs[0].sha256);

    put(folder.path(), "cmd/scheduler/main.go", "package main\n\nfunc main() { nothing() }\n");
    let error = opened(&folder).await.build(&Recorded::default()).await.unwrap_err().to_string();
    for message in
        ["building kai-scheduler unknown failed; log: ", "build-kai-scheduler.log", "undefined: nothing"]
    {
        assert!(error.contains(message), "{error}");
    }
    for program in [&first, &third].into_iter().flat_map(|given| &given.programs) {
        std::fs::remove_dir_all(program.path.parent().unwrap()).unwrap();
    }
}
