//! Checks that the command line accepts the arguments in `manifests/suite/`.

use clap::Parser;
use serde_json::Value;

use crate::args::{Cli, Verb};
use crate::config;
use crate::options::RunOptions;

const JOB: &str = include_str!("../../../manifests/suite/job.yaml");
const INDEXED_JOB: &str = include_str!("../../../manifests/suite/indexed-job.yaml");

fn document(text: &str) -> Value {
    grove_yaml::documents(text).unwrap().remove(0)
}

fn run(container: &Value) -> RunOptions {
    let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
    match Cli::try_parse_from(std::iter::once("grove-conformance").chain(args)).unwrap().verb {
        Verb::Run(args) => config::completed(&args.config, args.options).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[rstest::rstest]
#[case(JOB, None)]
#[case(INDEXED_JOB, Some(2))]
fn a_job_stores_its_results(#[case] text: &str, #[case] shards: Option<usize>) {
    let spec = &document(text)["spec"];
    let options = run(&spec["template"]["spec"]["containers"][0]);
    assert_eq!(options.pod.store_results, Some(true));
    assert_eq!(options.pod.shards.map(std::num::NonZeroUsize::get), shards);
    let completions = spec["completions"].as_u64();
    assert_eq!((completions, spec["parallelism"].as_u64()), (shards.map(|count| count as u64), completions));
}
