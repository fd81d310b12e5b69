//! Runs the suite inside a cluster, as pods of a Job, one for each share of the cases.
//!
//! [`SuiteRun`] describes such a run, from `manifests/suite/`. [`submit`] creates its objects, [`follow`]
//! watches it to its end, and [`results`] stores the report of a pod in ConfigMaps and reads it back. The
//! command line defines what the pods run and processes their reports.

pub mod follow;
mod manifests;
mod pods;
pub mod results;
pub mod submit;

pub use manifests::SuiteRun;

/// The name of the suite's container.
const CONTAINER: &str = "suite";

/// The run id of the pod of a share, from 0. It distinguishes the objects of the pods.
pub fn run_of_share(run: &str, index: usize) -> String {
    format!("{run}s{}", index + 1)
}
