//! Runs the suite inside a cluster, as pods of a Job: one pod for each share of the cases.

pub mod follow;
mod manifests;
mod pods;
pub mod results;
pub mod submit;

pub use manifests::SuiteRun;

const CONTAINER: &str = "suite";

/// The run id of a share's pod, which distinguishes the objects of the pods. Shares are numbered from 0.
pub fn run_of_share(run: &str, index: usize) -> String {
    format!("{run}s{}", index + 1)
}
