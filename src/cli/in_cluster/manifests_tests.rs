//! Checks that the command line accepts the arguments in `manifests/suite/`.

use clap::Parser;
use serde_json::{Value, json};

use crate::args::{Cli, ResultsPlace, RunArgs, Verb};

const JOB: &str = include_str!("../../../manifests/suite/job.yaml");
const INDEXED_JOB: &str = include_str!("../../../manifests/suite/indexed-job.yaml");
const MERGE_JOB: &str = include_str!("../../../manifests/suite/merge-job.yaml");
const PLUGIN: &str = include_str!("../../../manifests/suite/sonobuoy-plugin.yaml");

fn document(text: &str) -> Value {
    grove_yaml::documents(text).unwrap().remove(0)
}

fn verb(container: &Value) -> Verb {
    let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    Cli::try_parse_from(std::iter::once("grove-conformance").chain(args)).unwrap().verb
}

fn run(container: &Value) -> RunArgs {
    match verb(container) {
        Verb::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[rstest::rstest]
#[case(JOB, None)]
#[case(INDEXED_JOB, Some(2))]
fn a_job_stores_its_results(#[case] text: &str, #[case] shards: Option<usize>) {
    let spec = &document(text)["spec"];
    let args = run(&spec["template"]["spec"]["containers"][0]);
    assert_eq!(args.results, Some(ResultsPlace::Configmaps));
    assert_eq!(args.shards.map(std::num::NonZeroUsize::get), shards);
    let completions = spec["completions"].as_u64();
    assert_eq!((completions, spec["parallelism"].as_u64()), (shards.map(|count| count as u64), completions));
}

#[test]
fn the_last_step_on_a_volume_merges() {
    let job = document(MERGE_JOB);
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert!(matches!(verb(container), Verb::Report(_)));
}

/// Sonobuoy's contract: a Job plugin with a container called `plugin`, no shell to write the done file, and
/// results where Sonobuoy mounts its folder.
#[test]
fn the_sonobuoy_plugin_leaves_a_junit_result() {
    let plugin = document(PLUGIN);
    let config = &plugin["sonobuoy-config"];
    assert_eq!((&config["driver"], &config["result-format"]), (&"Job".into(), &"junit".into()));
    assert_eq!(config["plugin-name"], "grove-conformance");
    let files: Vec<_> =
        config["result-files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!(files, ["junit.xml"]);
    let container = &plugin["spec"];
    assert_eq!(container["name"], "plugin");
    assert!(container["command"].is_null(), "the image has no shell");
    assert_eq!(run(container).results, Some(ResultsPlace::Sonobuoy));
    let mounts = container["volumeMounts"].as_array().unwrap();
    let mounts: Vec<_> = mounts.iter().map(|mount| (&mount["name"], &mount["mountPath"])).collect();
    let results = Value::from(crate::publish::SONOBUOY_FOLDER);
    assert_eq!(mounts, [(&"tmp".into(), &"/tmp".into()), (&"results".into(), &results)]);
    assert_eq!(
        plugin["extra-volumes"],
        json!([{"name": "tmp", "emptyDir": {}}]),
        "Sonobuoy brings results only"
    );
    assert!(run(container).report_dir.starts_with("/tmp"), "all else of the image is read-only");
}
