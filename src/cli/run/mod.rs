//! `run` and the tools for other workloads: runs cases on clusters, writes the report, returns the exit code.
//!
//! - `plan` selects the cases and targets, and `rounds` divides them among several control planes;
//! - `one_cluster` runs a plan on one cluster, and `reproduce` is the command line that runs one case again;
//! - `preview` prints what a run would do in a cluster of the user.

mod held;
mod one_cluster;
mod plan;
mod preview;
mod reproduce;
mod rounds;

use std::sync::Arc;

use conformance_contract::clauses::Workload;
use conformance_contract::kubernetes::Kubernetes;
use conformance_programs::home;
use conformance_report::{Exit, Report};
use conformance_run::environment::Environment;
use conformance_run::first_failure::FirstFailure;
use conformance_run::interruption::Interruption;
use conformance_run::run_plan::RunPlan;

pub(crate) use self::one_cluster::{close, execute};
pub(crate) use self::plan::plan;
pub(crate) use self::preview::preview;
use crate::output::Console;
use crate::request::{Cases, NodesSource, Request};
use crate::{Failure, baseline, publish, report_files};

struct Run<'a> {
    request: &'a Request,
    interruption: &'a Arc<Interruption>,
    /// The first failure on any control plane of the run, with `--fail-fast`.
    first_failure: Option<Arc<FirstFailure>>,
}

/// Returns an error only before the first case. Later failures are in the report.
pub(crate) async fn run(request: &Request, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    let report = judge(request, interruption).await?;
    finish(request, &report).await
}

pub(crate) async fn judge(request: &Request, interruption: &Arc<Interruption>) -> Result<Report, Failure> {
    write_nodes(request)?;
    // `--hold-on-failure` implies `--fail-fast`.
    let ends_early = request.execution.fail_fast || request.cluster.hold_on_failure;
    let first_failure = ends_early.then(Arc::default);
    Run { request, interruption, first_failure }.cases().await
}

/// Prepares the environment of a run. Does not start the clusters.
pub(crate) async fn environment(
    kubernetes: Kubernetes,
    plan: &mut RunPlan,
    request: &Request,
    interruption: &Arc<Interruption>,
    console: &Console,
) -> Result<Environment, Failure> {
    let run = Run { request, interruption, first_failure: None };
    let (environment, _) = run.prepare(kubernetes, plan, &request.output.folder, console).await?;
    Ok(environment)
}

/// Writes the nodes that were copied from a cluster to the report's folder, so that the run can be repeated.
fn write_nodes(request: &Request) -> Result<(), Failure> {
    let Cases::OwnWorkload { nodes: NodesSource::Cluster { copy }, .. } = &request.subject.cases else {
        return Ok(());
    };
    let path = request.output.folder.join(NodesSource::COPY);
    Ok(home::write(&path, copy)?)
}

pub(crate) async fn finish(request: &Request, report: &Report) -> Result<Exit, Failure> {
    report_files::write_further_files(request, report)?;
    if request.pod.store_results {
        return publish::publish(&request.pod, &request.output.folder, report).await;
    }
    match &request.output.baseline {
        Some(file) => baseline::compare_with(file, report),
        None => Ok(report.exit()),
    }
}

impl Run<'_> {
    async fn cases(&self) -> Result<Report, Failure> {
        let subject = &self.request.subject;
        match subject.versions.as_slice() {
            [version] if subject.workload() == Workload::TrainJobs => self.train_jobs(*version).await,
            [version] => {
                let plan = plan(*version, self.request)?;
                self.on_one_cluster(*version, plan, &self.request.output.folder).await
            }
            versions => self.on_all(versions).await,
        }
    }
}
