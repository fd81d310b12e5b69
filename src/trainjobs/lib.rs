//! The suite `trainjobs`, about TrainJobs of the Kubeflow Trainer. `train_job` calculates the pods that a
//! TrainJob should have. `schedulers` contains the differences between schedulers.

mod checks;
mod prelude;
mod schedulers;
mod steps;
mod train_job;
mod trn;

use conformance_check::invariants;
use conformance_contract::clauses::Workload;
use conformance_contract::kinds::{KINDS, TRAIN_JOB_KINDS};
use conformance_contract::ruling::Ruling;
use conformance_contract::target::TRAIN_JOB_TARGETS;
use conformance_driver::case::Case;
use conformance_driver::suite::{Invariants, Suite};
use conformance_history::History;

pub use checks::EVICTED;

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

pub static SUITE: Suite = Suite {
    workload: Workload::TrainJobs,
    cases: CASES,
    targets: &TRAIN_JOB_TARGETS,
    kinds: || KINDS.iter().chain(&TRAIN_JOB_KINDS).copied().collect(),
    invariants: Invariants {
        clauses: |_| INVARIANTS.map(|(clause, _)| clause).to_vec(),
        broken: |history, _| invariants::violated(INVARIANTS.map(|(clause, check)| (clause, check(history)))),
    },
    usual_seconds: include_str!("usual-seconds.txt"),
    quick: "",
};

type Check = fn(&History) -> Ruling;

const INVARIANTS: [(&str, Check); 2] =
    [("TRN-03", invariants::within_capacity), ("TRN-03", checks::whole_or_nothing)];

#[cfg(test)]
fn manifest(id: &str) -> &'static str {
    SUITE.case(id).map(|case| case.manifest).unwrap_or_default()
}
