//! A run of the suite inside a cluster: as pods of a Job there, one for each share of the cases.
//!
//! [`SuiteRun`] is what such a run is made of, from `manifests/suite/`; [`submit`] makes it, [`follow`] watches it to its end;
//! [`results`] is how a pod stores its report in ConfigMaps, and how it is read from there. The command line does the rest:
//! what pods run, and what becomes of their reports.

pub mod follow;
mod manifests;
mod pods;
pub mod results;
pub mod submit;

pub use manifests::SuiteRun;

/// The name of the suite's container.
const CONTAINER: &str = "suite";

/// The id under which the pod of a share, from 0, runs: what each makes in the cluster is told from the others'.
pub fn run_of_share(run: &str, index: usize) -> String {
    format!("{run}s{}", index + 1)
}
