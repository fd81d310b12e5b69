use clap::Parser;

use crate::Failure;
use crate::args::{Cli, Verb};
use crate::request::{JobRequest, Request, WorkloadNodes};

fn verb(line: &str) -> Verb {
    let words = std::iter::once("grove-conformance").chain(line.split_whitespace());
    Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}")).verb
}

pub(crate) fn request(line: &str) -> Result<Request, Failure> {
    match verb(line) {
        Verb::Run(args) => Request::of_run(*args),
        Verb::Workload(args) => {
            let nodes = futures::executor::block_on(WorkloadNodes::of(&args.nodes))?;
            Request::of_workload(*args, nodes)
        }
        Verb::Fuzz(args) => Request::of_fuzz(*args),
        Verb::Load(args) => Request::of_load(*args),
        Verb::TrainJobs(args) => Request::of_train_jobs(*args),
        Verb::AiConformance(args) => Request::of_ai_conformance(*args),
        Verb::Observe(args) => Request::of_observe(*args),
        other => panic!("{other:?} judges nothing"),
    }
}

pub(crate) fn job(line: &str) -> Result<(Request, JobRequest), Failure> {
    match verb(line) {
        Verb::Job(args) => Request::of_job(*args),
        other => panic!("{other:?} is not a Job"),
    }
}
